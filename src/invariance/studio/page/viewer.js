/**
 * The canvas: image, prediction and labels, drawn once per frame and only where something changed.
 *
 * Pixel (row, col) covers [col - 0.5, col + 0.5]; `view` holds the pixel in the middle of the canvas and the zoom.
 */

import { SIDE, lastLevel, levelFor } from "./image_tiles.js";
import { TILE } from "./labels.js";
import { classColours, probabilityColours, uncertaintyColours } from "./palette.js";
import { currentImage, isFinal, pixelClass } from "./state.js";

/** Milliseconds per frame that may be spent on colouring predictions; what is left is done in the next frames. */
const COLOURING_BUDGET = 5;
/** A prediction is dimmed when it is older than the labels for more than this many milliseconds: less would flicker. */
const DIM_AFTER = 500;
const DIMMED = 0.5;
/** Device pixels per pixel of the image from which pixels are shown as squares. */
const SQUARES_FROM = 2;

/** @typedef {import("./labels.js").Rect} Rect */

export class Viewer {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {object} app with `store`, `pages`, `predictions`, `tiles`
   */
  constructor(canvas, app) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.app = app;
    /** @type {?Rect} */ this.dirty = null;
    this.isAllDirty = true;
    this.request = 0;
    this.staleSince = Infinity;
    this.previousLook = null;
    this.nDrawn = 0;
    this.width = this.height = 1; // in CSS pixels
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    app.store.on(
      ["view", "image", "page", "layer", "overlay_opacity", "label_opacity", "shows_labels", "shows_final", "low", "high",
        "channel", "class_number", "images"],
      () => this.invalidate(),
    );
    app.store.on(["classes"], () => this.recolour());
    const readBackground = () => {
      this.background = getComputedStyle(document.documentElement).getPropertyValue("--canvas").trim() || "#222";
      this.invalidate();
    };
    readBackground();
    new MutationObserver(readBackground).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  get state() {
    return this.app.store.state;
  }

  resize() {
    const box = this.canvas.parentElement.getBoundingClientRect();
    if (!box.width || !box.height) return;
    this.ratio = window.devicePixelRatio || 1;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * this.ratio);
    this.canvas.height = Math.round(box.height * this.ratio);
    this.onResize?.();
    this.isAllDirty = true;
    this.draw(); // at once: a resized canvas is empty until it is drawn
  }

  // ------------------------------------------------------------ coordinates

  /** @returns {{row: number, col: number}} the place in the image under a place of the canvas in CSS pixels */
  toImage(x, y) {
    const { row, col, zoom } = this.state.view;
    return { row: row + (y - this.height / 2) / zoom, col: col + (x - this.width / 2) / zoom };
  }

  /** @returns {{x: number, y: number}} the place on the canvas, in CSS pixels, of a place in the image */
  toScreen(row, col) {
    const view = this.state.view;
    return { x: (col - view.col) * view.zoom + this.width / 2, y: (row - view.row) * view.zoom + this.height / 2 };
  }

  /** @returns {?Rect} the visible pixels of the image, clipped to it; null if none */
  visible() {
    const image = currentImage(this.state);
    if (!image || !this.state.view) return null;
    const low = this.toImage(0, 0);
    const high = this.toImage(this.width, this.height);
    const rect = {
      top: Math.max(Math.floor(low.row), 0),
      left: Math.max(Math.floor(low.col), 0),
      bottom: Math.min(Math.ceil(high.row) + 1, image.height),
      right: Math.min(Math.ceil(high.col) + 1, image.width),
    };
    return rect.top < rect.bottom && rect.left < rect.right ? rect : null;
  }

  /** Device column and row of edges of pixels; neighbouring tiles share them, so that no seam shows. */
  edgeX(edge) {
    const { col, zoom } = this.state.view;
    return Math.round(((edge - 0.5 - col) * zoom + this.width / 2) * this.ratio);
  }

  edgeY(edge) {
    const { row, zoom } = this.state.view;
    return Math.round(((edge - 0.5 - row) * zoom + this.height / 2) * this.ratio);
  }

  // ------------------------------------------------------------ what is drawn again

  /** @param {?Rect} [rect] in pixels of the image; all if left out */
  invalidate(rect = null) {
    if (rect === null) this.isAllDirty = true;
    else if (!this.dirty) this.dirty = { ...rect };
    else {
      this.dirty.top = Math.min(this.dirty.top, rect.top);
      this.dirty.left = Math.min(this.dirty.left, rect.left);
      this.dirty.bottom = Math.max(this.dirty.bottom, rect.bottom);
      this.dirty.right = Math.max(this.dirty.right, rect.right);
    }
    this.request ||= requestAnimationFrame(() => this.draw());
  }

  recolour() {
    this.colours = classColours(this.state.classes.pixels);
    this.styles = new Map();
    this.styleVersion = (this.styleVersion ?? 0) + 1;
    for (const labels of this.app.pages.values()) labels.recolour();
    this.invalidate();
  }

  /** Labels changed: what is predicted is older than they are. */
  markStale() {
    this.app.predictions.markStale();
    this.staleSince = Math.min(this.staleSince, performance.now());
    clearTimeout(this.dimTimer);
    this.dimTimer = setTimeout(() => this.invalidate(), DIM_AFTER + 20);
  }

  /** A new prediction has come. */
  markFresh(tile) {
    this.staleSince = Infinity;
    if (tile.image === this.state.image && tile.page === this.state.page) this.invalidate(tile);
  }

  // ------------------------------------------------------------ drawing

  draw() {
    this.request = 0;
    const image = currentImage(this.state);
    const { context, canvas } = this;
    const dirty = this.dirty;
    const isAll = this.isAllDirty;
    this.dirty = null;
    this.isAllDirty = false;
    context.globalAlpha = 1;
    if (!image || !this.state.view) {
      context.fillStyle = this.background;
      context.fillRect(0, 0, canvas.width, canvas.height);
      return;
    }
    const visible = this.visible();
    const shown = isAll ? visible : intersect(dirty, visible);
    context.save();
    if (!isAll) this.clip(shown);
    if (isAll || shown) {
      context.fillStyle = this.background;
      context.fillRect(0, 0, canvas.width, canvas.height);
    }
    if (shown) {
      this.drawImage(image, shown, isAll);
      this.drawPredictions(shown);
      this.drawLabels(shown);
    }
    context.restore();
    this.nDrawn++;
  }

  clip(rect) {
    this.context.beginPath();
    if (rect) {
      const [x, y] = [this.edgeX(rect.left), this.edgeY(rect.top)];
      this.context.rect(x, y, this.edgeX(rect.right) - x, this.edgeY(rect.bottom) - y);
    }
    this.context.clip();
  }

  /** Draw a source over the pixels [left, right) x [top, bottom) of the image. */
  blit(source, rect, part = null) {
    const [x, y] = [this.edgeX(rect.left), this.edgeY(rect.top)];
    const [w, h] = [this.edgeX(rect.right) - x, this.edgeY(rect.bottom) - y];
    if (w <= 0 || h <= 0) return;
    if (part) this.context.drawImage(source, part.x, part.y, part.width, part.height, x, y, w, h);
    else this.context.drawImage(source, x, y, w, h);
  }

  smooth(pixelsPerPixel) {
    const scale = this.state.view.zoom * this.ratio * pixelsPerPixel;
    this.context.imageSmoothingEnabled = scale !== 1 && scale < SQUARES_FROM;
  }

  look() {
    const { image, page, channel, low, high } = this.state;
    return { image, page, channel, low, high };
  }

  drawImage(image, shown, isAll) {
    const look = this.look();
    const name = JSON.stringify(look);
    if (this.lookName !== name) {
      const isSamePage = this.shownLook?.image === look.image && this.shownLook?.page === look.page;
      this.previousLook = isSamePage ? this.shownLook : null;
      [this.lookName, this.shownLook] = [name, look];
    }
    const level = levelFor(this.state.view.zoom * this.ratio, image.height, image.width);
    const places = placesIn(shown, level);
    const isMissing = places.some((place) => !this.app.tiles.peek(look, place));
    this.context.globalAlpha = 1;
    this.smooth(1);
    if (isMissing) this.drawCoarser(image, shown, level, look);
    for (const place of places) {
      const bitmap = this.app.tiles.peek(look, place) ?? (this.previousLook && this.app.tiles.peek(this.previousLook, place));
      if (bitmap) this.blit(bitmap, rectOf(place, image));
    }
    if (isAll || isMissing) this.wantTiles(image, level, look);
  }

  /** Fill the places of tiles that are still on their way with what is there of coarser levels, the coarsest first. */
  drawCoarser(image, shown, level, look) {
    for (let other = lastLevel(image.height, image.width); other > level; other--) {
      for (const place of placesIn(shown, other)) {
        const bitmap = this.app.tiles.peek(look, place) ?? (this.previousLook && this.app.tiles.peek(this.previousLook, place));
        if (bitmap) this.blit(bitmap, rectOf(place, image));
      }
    }
  }

  /** Ask for the coarsest tile, the visible ones from the middle outwards, and then their neighbours. */
  wantTiles(image, level, look) {
    const visible = this.visible();
    const side = SIDE * 2 ** level;
    const { row, col } = this.state.view;
    const distance = (place) => Math.hypot((place.row + 0.5) * side - row, (place.col + 0.5) * side - col);
    const around = {
      top: Math.max(visible.top - side / 2, 0), left: Math.max(visible.left - side / 2, 0),
      bottom: Math.min(visible.bottom + side / 2, image.height), right: Math.min(visible.right + side / 2, image.width),
    };
    const coarsest = { level: lastLevel(image.height, image.width), row: 0, col: 0 };
    const places = placesIn(around, level).sort((a, b) => distance(a) - distance(b));
    this.app.tiles.want(look, [coarsest, ...places]);
  }

  /** How the chosen layer colours probabilities; its name changes whenever the colours do. */
  style() {
    const { layer, class_number: number } = this.state;
    const name = `${layer}:${layer === "probability" ? number : ""}:${this.styleVersion}`;
    if (!this.styles.has(name)) {
      const colours = {
        segmentation: () => this.colours,
        probability: () => probabilityColours(pixelClass(this.state, number)?.colour ?? "#ffffff"),
        uncertainty: uncertaintyColours,
      }[layer]();
      this.styles.set(name, { name, layer, number, colours });
    }
    return this.styles.get(name);
  }

  drawPredictions(shown) {
    const { image, page, layer, overlay_opacity: opacity } = this.state;
    const showsFinal = this.state.shows_final && isFinal(this.state);
    if (layer === "none" || (layer === "segmentation" && showsFinal)) return;
    const style = this.style();
    const isDimmed = performance.now() - this.staleSince > DIM_AFTER;
    const end = performance.now() + COLOURING_BUDGET;
    for (const tile of this.app.predictions.ofPage(image, page).values()) {
      if (!intersect(tile, shown)) continue;
      if (tile.drawn !== style.name && performance.now() > end) {
        this.invalidate(tile); // coloured in the next frame
        if (!tile.canvas) continue;
      } else this.app.predictions.render(tile, style);
      this.context.globalAlpha = opacity * (tile.is_stale && isDimmed ? DIMMED : 1);
      this.smooth(tile.step);
      this.blit(tile.canvas, tile);
    }
  }

  drawLabels(shown) {
    const labels = this.app.pages.get(`${this.state.image}:${this.state.page}`);
    if (!labels) return;
    const { shows_final, shows_labels, layer, overlay_opacity, label_opacity } = this.state;
    if (shows_final && isFinal(this.state) && layer === "segmentation") this.drawTiles(labels, "final", overlay_opacity, shown);
    if (shows_labels) this.drawTiles(labels, "labels", label_opacity, shown);
  }

  drawTiles(labels, layer, opacity, shown) {
    this.context.globalAlpha = opacity;
    this.smooth(1);
    for (const [key, tile] of labels.tiles[layer]) {
      const [row, col] = key.split(":").map(Number);
      const rect = { top: row * TILE, left: col * TILE, bottom: (row + 1) * TILE, right: (col + 1) * TILE };
      if (intersect(rect, shown)) this.blit(tile.coloured(this.colours), rect);
    }
  }
}

/** @returns {?Rect} the part that two rectangles share */
function intersect(a, b) {
  if (!a || !b) return null;
  const rect = {
    top: Math.max(a.top, b.top), left: Math.max(a.left, b.left),
    bottom: Math.min(a.bottom, b.bottom), right: Math.min(a.right, b.right),
  };
  return rect.top < rect.bottom && rect.left < rect.right ? rect : null;
}

/** Places of the tiles of a level that touch a rectangle. */
function placesIn(rect, level) {
  const side = SIDE * 2 ** level;
  const places = [];
  for (let row = Math.floor(rect.top / side); row * side < rect.bottom; row++) {
    for (let col = Math.floor(rect.left / side); col * side < rect.right; col++) places.push({ level, row, col });
  }
  return places;
}

/** The pixels of the image that a tile shows. */
function rectOf({ level, row, col }, image) {
  const side = SIDE * 2 ** level;
  return {
    top: row * side, left: col * side,
    bottom: Math.min((row + 1) * side, image.height), right: Math.min((col + 1) * side, image.width),
  };
}
