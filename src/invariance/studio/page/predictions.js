/** Predicted probabilities as they come from the server, and the maps that are drawn of them, made when seen. */

/** Pages of which predictions are kept, the shown one included. */
const MAX_PAGES = 6;
/** Tiles of a page that are kept; a screen shows a few dozen. */
const MAX_TILES = 320;

/**
 * @typedef {object} PredictionTile
 * @property {number} step
 * @property {number} top
 * @property {number} left
 * @property {number} bottom
 * @property {number} right
 * @property {number} rows
 * @property {number} cols
 * @property {number[]} numbers class numbers in the order of the planes
 * @property {number} version
 * @property {string} stage
 * @property {boolean} is_stale
 * @property {Uint8Array} probabilities planes (K, rows, cols)
 * @property {?HTMLCanvasElement} canvas the last map made of it
 * @property {string} drawn which map that is
 */

/**
 * Colour a tile pixel by pixel.
 * @param {PredictionTile} tile
 * @param {Uint32Array} out
 * @param {{layer: string, number: number, colours: Uint32Array}} style a table by class number (segmentation),
 *   by probability of class `number`, or by uncertainty
 */
export function colourTile(tile, out, { layer, number, colours }) {
  const { probabilities: p, numbers } = tile;
  const n = tile.rows * tile.cols;
  if (layer === "probability") {
    const plane = numbers.indexOf(number);
    if (plane < 0) out.fill(0);
    else for (let i = 0; i < n; i++) out[i] = colours[p[plane * n + i]];
    return;
  }
  for (let i = 0; i < n; i++) {
    let first = -1;
    let second = 0;
    let best = 0;
    for (let k = 0, at = i; k < numbers.length; k++, at += n) {
      if (p[at] > first) {
        second = Math.max(first, 0);
        first = p[at];
        best = k;
      } else if (p[at] > second) second = p[at];
    }
    out[i] = layer === "uncertainty" ? colours[255 - (first - second)] : colours[numbers[best]];
  }
}

export class Predictions {
  constructor() {
    /** Tiles of pages, by `image:page`, then by place. @type {Map<string, Map<string, PredictionTile>>} */
    this.pages = new Map();
    this.nReceived = 0;
  }

  /** @returns {Map<string, PredictionTile>} tiles of a page, in the order in which they are drawn */
  ofPage(image, page) {
    return this.pages.get(`${image}:${page}`) ?? new Map();
  }

  /**
   * Take a frame of the server.
   * @param {object} header
   * @param {Uint8Array} payload
   * @returns {PredictionTile}
   */
  receive(header, payload) {
    const key = `${header.image}:${header.page}`;
    const tiles = this.pages.get(key) ?? new Map();
    this.pages.delete(key);
    this.pages.set(key, tiles);
    for (const oldest of this.pages.keys()) {
      if (this.pages.size > MAX_PAGES) this.pages.delete(oldest);
    }
    const place = `${header.step}:${header.top}:${header.left}`;
    const before = tiles.get(place);
    const tile = { ...header, probabilities: payload, canvas: before?.canvas ?? null, drawn: "" };
    this.hideCovered(tiles, tile);
    // What came last is drawn last.
    tiles.delete(place);
    tiles.set(place, tile);
    if (tiles.size > MAX_TILES) tiles.delete(tiles.keys().next().value);
    this.nReceived++;
    return tile;
  }

  /** Drop tiles of other resolutions that the new one covers completely. */
  hideCovered(tiles, tile) {
    for (const [place, other] of tiles) {
      const isInside = other.top >= tile.top && other.left >= tile.left && other.bottom <= tile.bottom && other.right <= tile.right;
      if (isInside && other.step !== tile.step) tiles.delete(place);
    }
  }

  /** Mark all tiles as older than the labels; they stay until newer ones come. */
  markStale() {
    for (const tiles of this.pages.values()) tiles.forEach((tile) => (tile.is_stale = true));
  }

  /** Forget everything: the classes are others. */
  clear() {
    this.pages.clear();
  }

  /**
   * The map of a tile as a canvas.
   * @param {PredictionTile} tile
   * @param {{name: string, layer: string, number: number, colours: Uint32Array}} style
   * @returns {HTMLCanvasElement}
   */
  render(tile, style) {
    if (tile.drawn === style.name) return tile.canvas;
    tile.canvas ??= document.createElement("canvas");
    if (tile.canvas.width !== tile.cols) tile.canvas.width = tile.cols;
    if (tile.canvas.height !== tile.rows) tile.canvas.height = tile.rows;
    const context = tile.canvas.getContext("2d");
    const data = context.createImageData(tile.cols, tile.rows);
    colourTile(tile, new Uint32Array(data.data.buffer), style);
    context.putImageData(data, 0, 0);
    tile.drawn = style.name;
    return tile.canvas;
  }

  /**
   * Probabilities at a pixel by class number, from the tile that is drawn last there; null if there is none.
   * @returns {?Object<number, number>}
   */
  at(image, page, row, col) {
    let found = null;
    for (const tile of this.ofPage(image, page).values()) {
      if (row >= tile.top && row < tile.bottom && col >= tile.left && col < tile.right) found = tile;
    }
    if (!found) return null;
    const i = Math.min(Math.floor((row - found.top) / found.step), found.rows - 1);
    const j = Math.min(Math.floor((col - found.left) / found.step), found.cols - 1);
    const n = found.rows * found.cols;
    return Object.fromEntries(found.numbers.map((number, k) => [number, found.probabilities[k * n + i * found.cols + j] / 255]));
  }
}
