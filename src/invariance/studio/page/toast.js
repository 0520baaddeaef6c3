/** Short messages at the bottom of the page; errors stay until they are closed. */

import { byId, h } from "./dom.js";
import { icon } from "./icons.js";

const SECONDS = 4;

/**
 * Show a sentence.
 * @param {string} sentence
 * @param {"info"|"error"} [kind]
 * @param {{text: string, run: () => void}} [action] a button beside the sentence
 */
export function toast(sentence, kind = "info", action = null) {
  const shown = byId("toasts");
  const same = [...shown.children].find((child) => child.dataset.sentence === sentence);
  same?.remove();
  const remove = () => element.remove();
  const element = h("div", { class: `toast ${kind}`, role: kind === "error" ? "alert" : "status", data: { sentence } },
    icon(kind === "error" ? "warning" : "info"), h("p", { text: sentence }),
    action && h("button", { type: "button", class: "button", text: action.text, on: { click: () => { remove(); action.run(); } } }),
    h("button", { type: "button", class: "button icon-only quiet", "aria-label": "Close this message", on: { click: remove } }, icon("close", 14)));
  shown.append(element);
  while (shown.children.length > 4) shown.firstElementChild.remove();
  if (kind !== "error") setTimeout(remove, SECONDS * 1000);
}

/** Show what went wrong with a request; to be used as `.catch(toastError)`. */
export function toastError(error) {
  toast(error.message, "error");
}
