/**
 * Which pixels a stroke covers: the same, pixel for pixel, as `brush_pixels` and `fill_pixels` of the server.
 *
 * All arithmetic is in float64 and in the order of the server's. The centre of pixel (row, col) is (row, col).
 */

/** Points are rounded to this share of a pixel, so that squared lengths are exact whoever computes them. */
const POINTS_PER_PIXEL = 8;

/**
 * Round a coordinate as it is sent to the server; the thinnest brush snaps to the centres of pixels, since between
 * them it covers none.
 * @param {number} coordinate
 * @param {number} size diameter of the brush
 */
export function roundCoordinate(coordinate, size) {
  const parts = size <= 1 ? 1 : POINTS_PER_PIXEL;
  return Math.round(coordinate * parts) / parts;
}

/**
 * Visit the runs of pixels under a round brush that is drawn along a line of points.
 * @param {number[]} points r0, c0, r1, c1, ...; one point is a disc
 * @param {number} radius less than 0.5 counts as 0.5
 * @param {number} height
 * @param {number} width
 * @param {(row: number, start: number, stop: number) => void} visit called with [start, stop) of a row; runs of
 *   neighbouring segments overlap
 */
export function visitBrush(points, radius, height, width, visit) {
  const reach = Math.max(radius, 0.5);
  if (points.length === 2) visitSegment(points[0], points[1], points[0], points[1], reach, height, width, visit);
  for (let i = 2; i < points.length; i += 2) {
    visitSegment(points[i - 2], points[i - 1], points[i], points[i + 1], reach, height, width, visit);
  }
}

/** Visit the pixels at most `reach` from the line between two points. */
function visitSegment(r0, c0, r1, c1, reach, height, width, visit) {
  const top = Math.max(Math.ceil(Math.min(r0, r1) - reach), 0);
  const left = Math.max(Math.ceil(Math.min(c0, c1) - reach), 0);
  const bottom = Math.min(Math.floor(Math.max(r0, r1) + reach), height - 1);
  const right = Math.min(Math.floor(Math.max(c0, c1) + reach), width - 1);
  const down = r1 - r0;
  const across = c1 - c0;
  const length = down * down + across * across;
  const limit = reach * reach;
  const isNear = (row, col) => {
    const share = length ? Math.min(Math.max(((row - r0) * down + (col - c0) * across) / length, 0), 1) : 0;
    const y = row - r0 - share * down;
    const x = col - c0 - share * across;
    return y * y + x * x <= limit;
  };
  for (let row = top; row <= bottom; row++) {
    // The covered part of a row is one run, because the brush is convex: look for its two ends near where they are.
    const [low, high] = estimateRun(row, r0, c0, r1, c1, reach, Math.sqrt(length));
    const last = Math.min(right, Math.ceil(high) + 1);
    let start = Math.max(left, Math.floor(low) - 1);
    while (start <= last && !isNear(row, start)) start++;
    if (start > last) continue;
    let stop = last;
    while (!isNear(row, stop)) stop--;
    visit(row, start, stop + 1);
  }
}

/** About where a row enters and leaves the shape of all points at most `reach` from a line: two discs, one rectangle. */
function estimateRun(row, r0, c0, r1, c1, reach, length) {
  let low = Infinity;
  let high = -Infinity;
  const include = (col) => {
    low = Math.min(low, col);
    high = Math.max(high, col);
  };
  for (const [r, c] of [[r0, c0], [r1, c1]]) {
    const half = reach * reach - (row - r) * (row - r);
    if (half < -1e-6) continue;
    include(c - Math.sqrt(Math.max(half, 0)));
    include(c + Math.sqrt(Math.max(half, 0)));
  }
  if (length > 0) {
    const [y, x] = [(-(c1 - c0) / length) * reach, ((r1 - r0) / length) * reach];
    const corners = [[r0 + y, c0 + x], [r1 + y, c1 + x], [r1 - y, c1 - x], [r0 - y, c0 - x]];
    corners.forEach(([ra, ca], k) => {
      const [rb, cb] = corners[(k + 1) % 4];
      if (ra !== rb && Math.min(ra, rb) <= row && row <= Math.max(ra, rb)) include(ca + ((cb - ca) * (row - ra)) / (rb - ra));
    });
  }
  return [low, high];
}

/**
 * Visit the runs of pixels whose centre is inside a closed polygon, by the even-odd rule.
 * @param {number[]} points r0, c0, r1, c1, ...
 * @param {number} height
 * @param {number} width
 * @param {(row: number, start: number, stop: number) => void} visit
 */
export function visitFill(points, height, width, visit) {
  const n = points.length / 2;
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < n; i++) {
    low = Math.min(low, points[2 * i]);
    high = Math.max(high, points[2 * i]);
  }
  const last = Math.min(Math.floor(high), height - 1);
  for (let row = Math.max(Math.ceil(low), 0); row <= last; row++) {
    const crossings = findCrossings(points, n, row);
    // Column c is inside if an odd number of crossings is to its right (c < crossing).
    for (let k = crossings.length - 1; k > 0; k -= 2) {
      const start = Math.max(Math.ceil(crossings[k - 1]), 0);
      const stop = Math.min(Math.ceil(crossings[k]), width);
      if (start < stop) visit(row, start, stop);
    }
  }
}

/** The sorted columns at which the sides of a polygon cross a row; their number is even. */
function findCrossings(points, n, row) {
  const crossings = [];
  for (let i = 0, j = n - 1; i < n; j = i++) {
    const ri = points[2 * i];
    const rj = points[2 * j];
    if (ri > row === rj > row) continue;
    const ci = points[2 * i + 1];
    const cj = points[2 * j + 1];
    crossings.push(((cj - ci) * (row - ri)) / (rj - ri) + ci);
  }
  return crossings.sort((a, b) => a - b);
}

/**
 * Visit the runs of pixels of a stroke, whatever its tool.
 * @param {{tool: "brush"|"fill", points: number[], radius: number}} stroke
 */
export function visitStroke(stroke, height, width, visit) {
  if (stroke.tool === "fill") visitFill(stroke.points, height, width, visit);
  else visitBrush(stroke.points, stroke.radius, height, width, visit);
}
