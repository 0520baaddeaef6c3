/** Tiles of the image as the server shows them: 512 px, a pyramid of levels, kept while there is room. */

export const SIDE = 512;
/** 160 tiles of 1 MB. */
const MAX_TILES = 160;
const MAX_LOADING = 6;

/** @typedef {{image: number, page: number, channel: string, low: number, high: number}} Look */
/** @typedef {{level: number, row: number, col: number}} Place */

/** Number of the coarsest level, at which the whole image is one tile. */
export function lastLevel(height, width) {
  return Math.max(0, Math.ceil(Math.log2(Math.max(height, width) / SIDE)));
}

/** The level to show at a zoom, given in device pixels per pixel of the image. */
export function levelFor(zoom, height, width) {
  const level = zoom >= 1 ? 0 : Math.floor(Math.log2(1 / zoom) + 1e-6);
  return Math.min(level, lastLevel(height, width));
}

const addressOf = (look, { level, row, col }) =>
  `/tiles/${look.image}/${look.page}/${level}/${row}/${col}?channel=${look.channel}&low=${look.low}&high=${look.high}`;

export class ImageTiles {
  /** @param {() => void} onLoad called when a tile has come */
  constructor(onLoad) {
    this.onLoad = onLoad;
    /** Tiles by address, the least recently used first. @type {Map<string, ImageBitmap>} */
    this.kept = new Map();
    this.loading = new Map();
    this.failed = new Set();
    /** Addresses to load, the most urgent first; replaced by every full drawing. @type {string[]} */
    this.wanted = [];
  }

  /** @returns {?ImageBitmap} a tile if it is here */
  peek(look, place) {
    const address = addressOf(look, place);
    const bitmap = this.kept.get(address);
    if (!bitmap) return null;
    this.kept.delete(address);
    this.kept.set(address, bitmap);
    return bitmap;
  }

  /**
   * Say which tiles are wanted, the most urgent first; others that were not yet begun are forgotten.
   * @param {Look} look
   * @param {Place[]} places
   */
  want(look, places) {
    this.wanted = places.map((place) => addressOf(look, place));
    this.wanted = this.wanted.filter((address) => !this.kept.has(address) && !this.failed.has(address));
    this.loadNext();
  }

  loadNext() {
    while (this.loading.size < MAX_LOADING) {
      const address = this.wanted.find((wanted) => !this.loading.has(wanted));
      if (!address) return;
      this.wanted = this.wanted.filter((other) => other !== address);
      this.loading.set(address, this.load(address));
    }
  }

  async load(address) {
    try {
      const response = await fetch(address);
      if (!response.ok) throw new Error(`${response.status}`);
      this.keep(address, await createImageBitmap(await response.blob()));
    } catch {
      // Without the server no tile comes; they are asked for again when the line is back (`retry`).
      this.failed.add(address);
    }
    this.loading.delete(address);
    this.onLoad();
    this.loadNext();
  }

  keep(address, bitmap) {
    this.kept.set(address, bitmap);
    for (const [oldest, old] of this.kept) {
      if (this.kept.size <= MAX_TILES) break;
      this.kept.delete(oldest);
      old.close();
    }
  }

  /** Try again what failed. */
  retry() {
    this.failed.clear();
  }
}
