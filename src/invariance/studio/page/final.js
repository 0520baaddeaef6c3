/** Accept the prediction of a page as its final mask, and say where later strokes go. */

import { h, section, segmented } from "./dom.js";
import { currentImage, isFinal } from "./state.js";
import { toastError } from "./toast.js";

const HINTS = {
  labels: "Strokes teach the model. The final mask stays as it is.",
  final: "Strokes correct the final mask only. The model does not learn from them.",
};

/** Accept the prediction of the shown page. */
export function acceptPage(app) {
  const { image, page } = app.store.state;
  app.socket.request("accept", { image, page }).then(
    () => app.toast("This page has a final mask now. Paint over it to correct it."),
    toastError,
  );
}

/** Add the section to the side bar. */
export function mountFinal(root, app) {
  const accept = h("button", { type: "button", class: "button", id: "accept", on: { click: () => acceptPage(app) } });
  const setting = (corrections) => app.socket.request("settings", { corrections }).catch(toastError);
  const target = segmented({ label: "Strokes on this page go to", name: "corrections", chosen: "labels", run: setting,
    options: [{ value: "labels", text: "Teach the model" }, { value: "final", text: "Correct the mask" }] });
  const hint = h("p", { class: "hint" });
  const shows = h("input", { type: "checkbox", id: "shows-final", on: { change: () => app.store.set({ shows_final: shows.checked }) } });
  const chosen = h("div", { class: "stack" }, h("p", { class: "small-head", text: "Strokes on this page" }), target.element, hint,
    h("label", { class: "check" }, shows, h("span", { text: "Show the final mask in place of the segmentation" })));
  root.append(section("final", "Final mask", [
    h("p", { class: "hint", text: "When the prediction of a page is good, accept it. What is wrong can then be corrected by hand." }),
    h("div", { class: "buttons" }, accept), chosen,
  ], { isOpen: false }));
  app.store.on(["images", "image", "page", "settings", "shows_final"], (state) => {
    const isDone = isFinal(state);
    const where = state.settings.corrections ?? "labels";
    accept.textContent = isDone ? "Accept again" : currentImage(state)?.pages > 1 ? "Accept this slice" : "Accept this page";
    chosen.hidden = !isDone;
    target.choose(where);
    hint.textContent = HINTS[where];
    shows.checked = state.shows_final;
  });
}
