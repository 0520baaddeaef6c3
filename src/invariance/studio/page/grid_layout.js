/** Where the tiles of a grid are: arithmetic without the page. */

export const GAP = 10;
/** Height of the two lines of text under an image. */
export const CAPTION = 40;
/** Rows that are made above and below what is visible, so that scrolling shows no holes. */
const SPARE_ROWS = 2;

/**
 * @typedef {{columns: number, rows: number, step: {x: number, y: number}, height: number, left: number}} Layout
 */

/**
 * Divide a width into columns of tiles.
 * @param {number} count number of tiles
 * @param {number} width of the grid, in CSS pixels
 * @param {number} side of an image
 * @returns {Layout}
 */
export function layOut(count, width, side) {
  const columns = Math.max(1, Math.floor((width - GAP) / (side + GAP)));
  const rows = Math.ceil(count / columns);
  const step = { x: side + GAP, y: side + CAPTION + GAP };
  const left = Math.max(GAP, Math.floor((width - columns * step.x + GAP) / 2));
  return { columns, rows, step, height: rows * step.y + GAP, left };
}

/** The tiles [first, last) that a scrolled window shows, with spare rows. */
export function visibleRange(layout, count, top, height) {
  const firstRow = Math.max(0, Math.floor(top / layout.step.y) - SPARE_ROWS);
  const lastRow = Math.ceil((top + height) / layout.step.y) + SPARE_ROWS;
  return [Math.min(count, firstRow * layout.columns), Math.min(count, lastRow * layout.columns)];
}

/** The place of a tile. */
export function placeOf(layout, index) {
  const row = Math.floor(index / layout.columns);
  return { x: layout.left + (index - row * layout.columns) * layout.step.x, y: GAP + row * layout.step.y };
}

/** Where to scroll so that a tile is visible; null if it is. */
export function scrollFor(layout, index, top, height) {
  const { y } = placeOf(layout, index);
  if (y - GAP < top) return y - GAP;
  return y + layout.step.y > top + height ? y + layout.step.y - height : null;
}
