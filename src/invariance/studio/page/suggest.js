/** Where next: go to the place where a stroke would teach the model most. */

import { moveTo, openImage } from "./navigation.js";
import { toast } from "./toast.js";

/** Pixels of the screen per pixel of the image at which a suggested place is shown at least. */
const MIN_ZOOM = 1.5;

/** Ask for places and go to the first that was not shown yet. */
export async function suggestNext(app) {
  const button = document.getElementById("where-next");
  button.disabled = true;
  try {
    const { places } = await app.socket.request("suggest");
    const place = places.find((other) => !app.suggested.has(nameOf(other))) ?? places[0];
    if (!place) toast("Nothing to suggest yet. Paint strokes of two classes first.");
    else goTo(app, place);
  } catch (error) {
    toast(error.message, "error");
  } finally {
    button.disabled = false;
  }
}

const nameOf = (place) => `${place.image}:${place.page}:${place.row}:${place.col}`;

function goTo(app, place) {
  app.suggested.add(nameOf(place));
  app.openPlace(place.image, place.page);
  const zoom = Math.max(app.store.state.view?.zoom ?? 1, MIN_ZOOM);
  moveTo(app, { row: place.row, col: place.col, zoom });
  app.marks.showCursor({ row: Math.round(place.row), col: Math.round(place.col) });
  app.marks.showPulse(place.row, place.col);
  app.viewer.canvas.focus({ preventScroll: true });
  toast("Here the model is unsure. Paint the right class at the cross, then press w again.");
}

/** Prepare. */
export function mountSuggest(app) {
  /** Places that were shown since the model changed. @type {Set<string>} */
  app.suggested = new Set();
  app.openPlace = (image, page) => openImage(app, image, page);
  app.socket.on("painted", () => app.suggested.clear());
}
