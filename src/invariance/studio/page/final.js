/** Accept the prediction of a page as its final mask, and say where later strokes go. */

import { h, section, segmented } from "./dom.js";
import { currentImage, isFinal } from "./state.js";
import { toastError } from "./toast.js";

const HINTS = {
  labels: "Strokes teach the model. The final mask stays as it is.",
  final: "Strokes correct the final mask only. The model does not learn from them.",
};

/** Say where strokes on pages with a final mask go. */
function correct(app, corrections) {
  app.socket.request("settings", { corrections }).catch(toastError);
}

/** Accept the prediction of the shown page. */
export function acceptPage(app) {
  const { image, page } = app.store.state;
  app.socket.request("accept", { image, page }).then(
    () => app.toast("The final mask is saved. Later strokes do not change it.", "info", { text: "Correct it", run: () => correct(app, "final") }),
    toastError,
  );
}

/** Add the section to the side bar. */
export function mountFinal(root, app) {
  const accept = h("button", { type: "button", class: "button", id: "accept", on: { click: () => acceptPage(app) } });
  const target = segmented({ label: "Strokes on accepted images", name: "corrections", chosen: "labels", run: (corrections) => correct(app, corrections),
    options: [{ value: "labels", text: "Teach the model" }, { value: "final", text: "Correct the mask" }] });
  const hint = h("p", { class: "hint" });
  const shows = h("input", { type: "checkbox", id: "shows-final", on: { change: () => app.store.set({ shows_final: shows.checked }) } });
  const chosen = h("div", { class: "stack" }, h("p", { class: "small-head", text: "Strokes on accepted images" }), target.element, hint,
    h("label", { class: "check" }, shows, h("span", { text: "Show the final mask in place of the segmentation" })));
  root.append(section("final", "Final mask", [
    h("p", { class: "hint", text: "When the prediction of an image is good, accept it. What is wrong can then be corrected by hand." }),
    h("div", { class: "buttons" }, accept), chosen,
  ], { isOpen: false }));
  app.store.on(["images", "image", "page", "settings", "shows_final"], (state) => {
    const isDone = isFinal(state);
    const where = state.settings.corrections ?? "labels";
    accept.textContent = `${isDone ? "Replace the mask of" : "Accept"} this ${currentImage(state)?.pages > 1 ? "slice" : "image"}`;
    chosen.hidden = !isDone;
    target.choose(where);
    hint.textContent = HINTS[where];
    shows.checked = state.shows_final;
  });
}
