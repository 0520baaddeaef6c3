/** Moving about: which image and page is shown, which part of it, and telling the server what is visible. */

import { debounce } from "./dom.js";
import { currentImage } from "./state.js";
import { toastError } from "./toast.js";

const MAX_ZOOM = 64;
const VIEW_PAUSE = 120;

/** Show an image, by its id, at a page. */
export function openImage(app, id, page = 0) {
  const { store } = app;
  const image = store.state.images.find((item) => item.id === id);
  if (!image || (store.state.image === id && store.state.page === page)) return;
  const before = currentImage(store.state);
  const isSameShape = before && before.height === image.height && before.width === image.width;
  store.set({ image: id, page, channel: isSameShape ? store.state.channel : "all" });
  if (!isSameShape) store.set({ view: null });
  if (!store.state.view) fitView(app);
}

/** Show the next or previous image. */
export function stepImage(app, by) {
  const { image } = app.store.state;
  const images = app.store.state.images.filter((item) => !item.error);
  const index = images.findIndex((item) => item.id === image) + by;
  if (index >= 0 && index < images.length) openImage(app, images[index].id);
}

/** Show another page of the same stack. */
export function stepPage(app, by) {
  const image = currentImage(app.store.state);
  if (image) openPageOf(app, app.store.state.page + by);
}

export function openPageOf(app, page) {
  const image = currentImage(app.store.state);
  app.store.set({ page: Math.min(Math.max(page, 0), image.pages - 1) });
}

/** Show the whole image, a little smaller than the canvas. */
export function fitView(app) {
  const image = currentImage(app.store.state);
  if (!image || app.viewer.width < 2) return;
  const zoom = Math.min((app.viewer.width - 32) / image.width, (app.viewer.height - 32) / image.height, 8);
  app.store.set({ view: { row: (image.height - 1) / 2, col: (image.width - 1) / 2, zoom: Math.max(zoom, 0.01), is_fitted: true } });
}

/** Zoom by a factor; the pixel under (x, y), in CSS pixels of the canvas, stays where it is. */
export function zoomAt(app, factor, x = app.viewer.width / 2, y = app.viewer.height / 2) {
  const { view } = app.store.state;
  const image = currentImage(app.store.state);
  if (!view || !image) return;
  const least = Math.min(0.25 * Math.min(app.viewer.width / image.width, app.viewer.height / image.height), 1);
  const zoom = Math.min(Math.max(view.zoom * factor, least), MAX_ZOOM);
  const { row, col } = app.viewer.toImage(x, y);
  moveTo(app, {
    row: row - (y - app.viewer.height / 2) / zoom,
    col: col - (x - app.viewer.width / 2) / zoom,
    zoom,
  });
}

/** Show every pixel as one pixel of the screen, about the middle. */
export function zoomToPixels(app) {
  if (app.store.state.view) zoomAt(app, 1 / app.store.state.view.zoom);
}

/** Move by CSS pixels. */
export function panBy(app, x, y) {
  const { view } = app.store.state;
  if (view) moveTo(app, { row: view.row - y / view.zoom, col: view.col - x / view.zoom, zoom: view.zoom });
}

/** Show a place in the middle; the image never leaves the canvas completely. */
export function moveTo(app, { row, col, zoom }) {
  const image = currentImage(app.store.state);
  app.store.set({ view: {
    row: Math.min(Math.max(row, 0), image.height - 1),
    col: Math.min(Math.max(col, 0), image.width - 1),
    zoom,
  } });
}

/** Image pixels per screen pixel, rounded down to a power of two. */
export function stepOf(zoom) {
  return zoom >= 1 ? 1 : 2 ** Math.floor(Math.log2(1 / zoom) + 1e-6);
}

/** Tell the server what is visible. */
export function sendView(app) {
  const { image, page, view, mode } = app.store.state;
  const rect = app.viewer.visible();
  if (!rect || mode !== "pixels" || !app.socket.isOpen) return;
  app.socket.request("view", { image, page, ...rect, step: stepOf(view.zoom) }).catch((error) => app.socket.isOpen && toastError(error));
}

/** Send the view whenever it came to rest. */
export function mountNavigation(app) {
  const sendSoon = debounce(() => sendView(app), VIEW_PAUSE);
  app.viewer.onResize = () => {
    if (!app.store.state.view || app.store.state.view.is_fitted) fitView(app);
    sendSoon();
  };
  app.store.on(["view", "image", "page", "mode"], sendSoon);
}
