/** The labels of the pages that were looked at: fetched once, kept up to date by the events of the server. */

import { Labels } from "./labels.js";
import { currentImage } from "./state.js";
import { toastError } from "./toast.js";

const MAX_PAGES = 8;
const LAYERS = ["labels", "final"];

const keyOf = (image, page) => `${image}:${page}`;

/** Labels of the shown page, made and asked for when it is opened first. */
export function openPage(app) {
  const { image, page } = app.store.state;
  const info = currentImage(app.store.state);
  if (!info || app.pages.has(keyOf(image, page))) return;
  const labels = new Labels(info.height, info.width);
  app.pages.set(keyOf(image, page), labels);
  applyLocks(app);
  for (const [oldest, kept] of app.pages) {
    if (app.pages.size <= MAX_PAGES) break;
    if (kept.pending.length === 0 && kept !== labels) app.pages.delete(oldest);
  }
  fetchLabels(app, image, page);
}

/** @returns {?Labels} the labels of the shown page */
export function shownLabels(app) {
  return app.pages.get(keyOf(app.store.state.image, app.store.state.page)) ?? null;
}

/** Ask for all labels of a page; the tiles come as frames. */
function fetchLabels(app, image, page) {
  const labels = app.pages.get(keyOf(image, page));
  for (const layer of LAYERS) {
    app.socket
      .request("labels", { image, page, layer, top: 0, left: 0, bottom: labels.height, right: labels.width })
      .catch((error) => app.socket.isOpen && toastError(error));
  }
}

/** After a loss of the line: forget pages without unsaved strokes, ask again for the shown one. */
export function reopenPages(app) {
  const shown = shownLabels(app);
  for (const [key, labels] of app.pages) {
    if (labels !== shown && labels.pending.length === 0) app.pages.delete(key);
    else {
      LAYERS.forEach((layer) => labels.clear(layer));
      labels.pending.forEach(({ stroke }) => labels.paint(stroke));
      fetchLabels(app, ...key.split(":").map(Number));
    }
  }
}

/** Show again what the server has on a page: a stroke was given up. */
export function restorePage(app, image, page) {
  const labels = app.pages.get(keyOf(image, page));
  if (!labels) return;
  LAYERS.forEach((layer) => labels.clear(layer));
  labels.pending.forEach(({ stroke }) => labels.paint(stroke));
  fetchLabels(app, image, page);
  app.viewer.invalidate();
}

/** Strokes leave the pixels of locked classes alone. */
function applyLocks(app) {
  const locked = new Uint8Array(256);
  for (const { number, is_locked } of app.store.state.classes.pixels) locked[number] = is_locked ? 1 : 0;
  for (const labels of app.pages.values()) labels.locked = locked;
}

/** Connect the pages with the events of the server. */
export function mountPages(app) {
  const { store, socket } = app;
  store.on(["image", "page", "images"], () => openPage(app));
  store.on(["classes"], () => applyLocks(app));
  socket.on("frame:labels", (header, payload) => {
    const labels = app.pages.get(keyOf(header.image, header.page));
    const rect = labels?.receive(header.layer, header.row, header.col, payload);
    if (rect && labels === shownLabels(app)) app.viewer.invalidate(rect);
  });
  socket.on("painted", (event) => {
    if (event.layer === "labels") app.viewer.markStale();
    takePainted(app, event);
    // From here on, tiles of the server hold this stroke: it is painted over them no more.
    app.paintedActions.add(event.action);
    app.pages.get(keyOf(event.image, event.page))?.dropPending((entry) => entry.action === event.action);
  });
}

/** What the server says beside a stroke: which images are painted, what can be undone. */
function takePainted(app, { image, n_labelled_pages, can_undo, can_redo }) {
  const { images } = app.store.state;
  const isNews = images.some((item) => item.id === image && item.n_labelled_pages !== n_labelled_pages);
  if (isNews) app.store.set({ images: images.map((item) => (item.id === image ? { ...item, n_labelled_pages } : item)) });
  app.store.set({ can_undo, can_redo });
  if (app.store.state.images.every((item) => item.n_labelled_pages === 0)) forgetPredictions(app);
}

/** Without any label there is no model: its last prediction would mislead. */
function forgetPredictions(app) {
  app.predictions.clear();
  app.store.set({ scores: null });
  app.viewer.invalidate();
}
