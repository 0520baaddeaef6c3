/** The line under the image: where the pointer is, what is there, and the zoom. */

import { h, iconButton } from "./dom.js";
import { icon } from "./icons.js";
import { zoomAt, zoomToPixels } from "./navigation.js";
import { shownLabels } from "./pages.js";
import { currentImage, isFinal, paintedLayer, pixelClass } from "./state.js";

/** Keep the line up to date. */
export function mountReadout(root, app) {
  const where = h("span", { class: "where" });
  const size = h("span", { class: "muted" });
  const zoom = h("button", { type: "button", class: "button quiet small", title: "Show every pixel as one pixel of the screen", on: { click: () => zoomToPixels(app) } });
  const zoomButton = (name, text, factor, key) => iconButton({ icon: text, label: name, key, className: "quiet small", run: () => zoomAt(app, factor) });
  root.append(where, h("span", { class: "spring" }), size,
    zoomButton("Zoom out", h("span", { text: "−" }), 1 / 1.4, "-"), zoom, zoomButton("Zoom in", icon("plus", 12), 1.4, "+"));
  app.store.on(["view"], ({ view }) => (zoom.textContent = view ? `${Math.round(100 * view.zoom)} %` : ""));
  app.store.on(["image", "images", "page", "shows_final", "settings", "layer"], (state) => {
    const image = currentImage(state);
    const mask = paintedLayer(state) === "final" ? "correcting the final mask" : "final mask shown";
    const parts = [isFinal(state) && state.shows_final && state.layer === "segmentation" ? mask : "", image ? `${image.width} × ${image.height} px` : ""];
    size.textContent = parts.filter(Boolean).join(" · ");
  });
  app.onPointer = (place) => (where.textContent = place ? describe(app, Math.round(place.row), Math.round(place.col)) : "");
}

/** What is at a pixel, in words. */
function describe(app, row, col) {
  const { state } = app.store;
  const image = currentImage(state);
  if (!image || row < 0 || col < 0 || row >= image.height || col >= image.width) return "";
  const parts = [`row ${row}, column ${col}`];
  const number = shownLabels(app)?.numberAt("labels", row, col);
  if (number) parts.push(`painted ${pixelClass(state, number)?.name ?? number}`);
  const shares = app.predictions.at(state.image, state.page, row, col);
  if (shares) {
    const [best, share] = Object.entries(shares).reduce((a, b) => (b[1] > a[1] ? b : a));
    parts.push(`predicted ${pixelClass(state, Number(best))?.name ?? best} ${Math.round(100 * share)} %`);
  }
  return parts.join(" · ");
}
