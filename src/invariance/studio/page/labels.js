/**
 * Painted labels of a page: sparse tiles of 256 x 256 class numbers, each with its own small canvas.
 *
 * A stroke is painted here at once and stays pending until the server has said that it is saved; tiles that come
 * from the server in between get the pending strokes again on top.
 */

import { visitStroke } from "./raster.js";

export const TILE = 256;

/** @typedef {{layer: "labels"|"final", tool: "brush"|"fill", class: number, radius: number, points: number[]}} Stroke */
/** @typedef {{top: number, left: number, bottom: number, right: number}} Rect half-open, in pixels of the image */

/** A tile: its class numbers, and its coloured canvas with the part of it that is out of date. */
class LabelTile {
  constructor() {
    this.numbers = new Uint8Array(TILE * TILE);
    /** @type {?HTMLCanvasElement} */ this.canvas = null;
    this.markAll();
  }

  markAll() {
    this.dirty = { top: 0, left: 0, bottom: TILE, right: TILE };
  }

  /** Write a class number into [start, stop) of a row, except where a locked class is. */
  write(row, start, stop, number, locked) {
    const end = row * TILE + stop;
    for (let i = row * TILE + start; i < end; i++) {
      if (!locked[this.numbers[i]]) this.numbers[i] = number;
    }
    const dirty = this.dirty;
    if (!dirty) this.dirty = { top: row, left: start, bottom: row + 1, right: stop };
    else {
      dirty.top = Math.min(dirty.top, row);
      dirty.bottom = Math.max(dirty.bottom, row + 1);
      dirty.left = Math.min(dirty.left, start);
      dirty.right = Math.max(dirty.right, stop);
    }
  }

  /** The canvas with the colours of the numbers; only what changed is coloured again. */
  coloured(table) {
    if (!this.canvas) {
      this.canvas = document.createElement("canvas");
      this.canvas.width = this.canvas.height = TILE;
      this.context = this.canvas.getContext("2d");
    }
    if (this.dirty) {
      const { top, left, bottom, right } = this.dirty;
      const part = this.context.createImageData(right - left, bottom - top);
      const out = new Uint32Array(part.data.buffer);
      let k = 0;
      for (let row = top; row < bottom; row++) {
        for (let i = row * TILE + left; i < row * TILE + right; i++) out[k++] = table[this.numbers[i]];
      }
      this.context.putImageData(part, left, top);
      this.dirty = null;
    }
    return this.canvas;
  }
}

export class Labels {
  /**
   * @param {number} height
   * @param {number} width
   */
  constructor(height, width) {
    this.height = height;
    this.width = width;
    /** @type {{labels: Map<string, LabelTile>, final: Map<string, LabelTile>}} */
    this.tiles = { labels: new Map(), final: new Map() };
    /** Strokes that the server has not yet sent back, in order. @type {{stroke: Stroke, action: ?number}[]} */
    this.pending = [];
    /** Class numbers that strokes leave alone. */
    this.locked = new Uint8Array(256);
  }

  /**
   * Paint a stroke, or a part of one that goes on.
   * @param {Stroke} stroke
   * @returns {?Rect} what changed
   */
  paint(stroke) {
    let [top, left, bottom, right] = [Infinity, Infinity, -Infinity, -Infinity];
    visitStroke(stroke, this.height, this.width, (row, start, stop) => {
      this.writeRun(stroke, row, start, stop, null);
      top = Math.min(top, row);
      bottom = Math.max(bottom, row + 1);
      left = Math.min(left, start);
      right = Math.max(right, stop);
    });
    return top < bottom ? { top, left, bottom, right } : null;
  }

  /** Write a run of a row into the tiles that it crosses, or into one of them only. */
  writeRun(stroke, row, start, stop, onlyKey) {
    const down = Math.floor(row / TILE);
    for (let across = Math.floor(start / TILE); across * TILE < stop; across++) {
      const key = `${down}:${across}`;
      if (onlyKey !== null && key !== onlyKey) continue;
      const first = Math.max(start - across * TILE, 0);
      const last = Math.min(stop - across * TILE, TILE);
      this.tileAt(stroke.layer, key).write(row - down * TILE, first, last, stroke.class, this.locked);
    }
  }

  tileAt(layer, key) {
    const tiles = this.tiles[layer];
    if (!tiles.has(key)) tiles.set(key, new LabelTile());
    return tiles.get(key);
  }

  /** Remember a painted stroke until the server has sent it back. */
  addPending(stroke) {
    const entry = { stroke, action: null };
    this.pending.push(entry);
    return entry;
  }

  /** The server has (or will never have) this stroke: it is no longer painted over tiles. */
  dropPending(isDropped) {
    this.pending = this.pending.filter((entry) => !isDropped(entry));
  }

  /**
   * Take a tile from the server and paint pending strokes over it again.
   * @param {"labels"|"final"} layer
   * @param {number} row of the tile
   * @param {number} col of the tile
   * @param {Uint8Array} numbers
   * @returns {Rect}
   */
  receive(layer, row, col, numbers) {
    const key = `${row}:${col}`;
    const tile = this.tileAt(layer, key);
    tile.numbers.set(numbers);
    tile.markAll();
    for (const { stroke } of this.pending) {
      if (stroke.layer !== layer) continue;
      visitStroke(stroke, this.height, this.width, (r, start, stop) => {
        if (Math.floor(r / TILE) === row) this.writeRun(stroke, r, start, stop, key);
      });
    }
    return { top: row * TILE, left: col * TILE, bottom: (row + 1) * TILE, right: (col + 1) * TILE };
  }

  /** Forget the tiles of a layer, before the server sends all of them. */
  clear(layer) {
    this.tiles[layer].clear();
  }

  /** Colour all tiles again: the colours of classes changed. */
  recolour() {
    for (const tiles of Object.values(this.tiles)) tiles.forEach((tile) => tile.markAll());
  }

  /** @returns {number} the class number at a pixel, 0 if none */
  numberAt(layer, row, col) {
    const tile = this.tiles[layer].get(`${Math.floor(row / TILE)}:${Math.floor(col / TILE)}`);
    return tile ? tile.numbers[(row % TILE) * TILE + (col % TILE)] : 0;
  }

  /** @returns {Uint32Array} how many pixels have each class number */
  count(layer) {
    const counts = new Uint32Array(256);
    for (const tile of this.tiles[layer].values()) for (const number of tile.numbers) counts[number]++;
    return counts;
  }
}
