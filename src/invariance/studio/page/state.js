/** The one store of the page: everything that is drawn is a function of it. */

/**
 * @typedef {{id: number, name: string, pages: number, height: number, width: number, channels: number,
 *   n_labelled_pages: number, label: ?number, is_final: number[]}} ImageInfo
 * @typedef {{number: number, name: string, colour: string, is_hidden: boolean, is_locked: boolean}} ClassInfo
 * @typedef {{row: number, col: number, zoom: number, is_fitted?: boolean}} View centre of the canvas in pixels of the
 *   image, screen pixels per pixel of the image, and whether the whole image is shown
 */

/** Sizes of the brush in pixels: those of ilastik. */
export const BRUSH_SIZES = [1, 3, 5, 7, 11, 23, 31, 61];

/** What the page knows before the server has answered. */
export const INITIAL = Object.freeze({
  // the project, as the server says
  folder: "",
  project: "",
  connection: null,
  /** @type {ImageInfo[]} */ images: [],
  /** @type {{pixels: ClassInfo[], images: ClassInfo[]}} */ classes: { pixels: [], images: [] },
  settings: {},
  can_undo: false,
  can_redo: false,
  version: 0,
  is_live: true,
  is_loaded: false,
  // the line to the server
  line: "connecting", // "connecting" | "open" | "lost"
  n_unsaved: 0,
  status: { busy: false, text: "", stage: null, version: 0, seconds: null },
  scores: null,
  /** Running and finished jobs by their number. */ jobs: {},
  // what is shown
  mode: null, // "pixels" | "images"
  image: null,
  page: 0,
  /** @type {?View} */ view: null,
  layer: "segmentation", // "segmentation" | "probability" | "uncertainty" | "none"
  overlay_opacity: 0.45,
  label_opacity: 0.85,
  shows_labels: true,
  shows_final: true,
  low: 0,
  high: 1,
  channel: "all",
  // how one paints
  tool: "brush", // "brush" | "line" | "eraser" | "fill" | "navigate"
  size: 7,
  class_number: 1,
  is_erasing: false,
});

/**
 * @template T
 * @typedef {object} Store
 * @property {T} state the present values; never written directly
 * @property {(patch: Partial<T>) => void} set
 * @property {(keys: string[], run: (state: T) => void) => () => void} on
 */

/**
 * Make a store. Listeners run once per change, after the code that made it, and at once when they are added.
 * @template T
 * @param {T} initial
 * @returns {Store<T>}
 */
export function createStore(initial) {
  const state = { ...initial };
  const listeners = new Set();
  let changed = new Set();

  function flush() {
    const keys = changed;
    changed = new Set();
    for (const listener of listeners) {
      if (listener.keys.some((key) => keys.has(key))) listener.run(state);
    }
  }

  return {
    state,
    set(patch) {
      for (const [key, value] of Object.entries(patch)) {
        if (Object.is(state[key], value)) continue;
        state[key] = value;
        if (changed.size === 0) queueMicrotask(flush);
        changed.add(key);
      }
    },
    on(keys, run) {
      const listener = { keys, run };
      listeners.add(listener);
      run(state);
      return () => listeners.delete(listener);
    },
  };
}

/** @returns {?ImageInfo} the image that is shown */
export function currentImage(state) {
  return state.images.find((image) => image.id === state.image) ?? null;
}

/** @returns {?ClassInfo} the class of pixels with a number */
export function pixelClass(state, number) {
  return state.classes.pixels.find((item) => item.number === number) ?? null;
}

/** Whether the shown page has a final mask. */
export function isFinal(state) {
  return currentImage(state)?.is_final?.includes(state.page) ?? false;
}

/** The layer on which strokes are painted now. */
export function paintedLayer(state) {
  return isFinal(state) && state.settings.corrections === "final" ? "final" : "labels";
}
