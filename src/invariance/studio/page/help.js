/** The list of keys, and a few sentences for the first time. */

import { h } from "./dom.js";

/** Keys in groups; `keys.js` does what they say. */
export const KEY_GROUPS = [
  ["Paint", [
    [["b"], "brush"], [["i"], "straight line"], [["f"], "fill an area"], [["e"], "eraser"],
    [["Shift"], "hold to erase (also the right button or the back of a pen)"],
    [[",", "."], "smaller, larger brush (also [ and ])"],
    [["Ctrl+Z"], "undo"], [["Ctrl+Y"], "redo (also Ctrl+Shift+Z)"],
  ]],
  ["Classes", [[["a"], "add a class"], [["1", "…", "9"], "choose a class"], [["F2"], "rename the chosen class (or double-click)"]]],
  ["Prediction", [
    [["s"], "segmentation"], [["p"], "probability of the chosen class"], [["u"], "uncertainty"], [["t"], "your strokes"],
    [["l"], "live update on or off"], [["r"], "predict now"], [["w"], "where next: where the model is unsure"], [["m"], "which classes are confused"],
  ]],
  ["Move", [
    [["n"], "move tool"], [["Space"], "hold to move"], [["wheel"], "zoom"], [["+", "−"], "zoom"], [["0"], "whole image"],
    [["←", "→"], "previous, next image"], [["PgUp", "PgDn"], "previous, next slice"],
  ]],
  ["Sort images", [
    [["1", "…", "9"], "give the selected images a class"], [["0"], "take their label away"], [["a"], "name a new class"],
    [["Ctrl+A"], "select all (also Shift or Ctrl and click)"], [["t"], "train"], [["Enter"], "accept the prediction"],
  ]],
  ["Without a mouse", [
    [["Shift+arrows"], "move a crosshair (with Ctrl: ten times as far)"], [["Enter"], "paint there"],
    [["Shift+Enter"], "paint a line from the last place"], [["Tab"], "next control"], [["?"], "this list"],
  ]],
];

/** @returns {{open: () => void, toggle: () => void}} */
export function mountHelp(dialog) {
  const groups = KEY_GROUPS.map(([title, rows]) => h("section", {}, h("h3", { text: title }), h("dl", {},
    ...rows.map(([keys, text]) => h("div", {}, h("dt", {}, ...keys.map((key) => h("kbd", { text: key }))), h("dd", { text }))))));
  dialog.append(
    h("div", { class: "dialog-head" }, h("h2", { id: "help-title", text: "Keys" }),
      h("button", { type: "button", class: "button", text: "Close", on: { click: () => dialog.close() } })),
    h("p", { class: "hint", text: "Paint a few strokes of each class. The model learns from them and predicts the rest; paint where it is wrong. Everything is saved at once." }),
    h("div", { class: "key-groups" }, ...groups),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  const open = () => dialog.showModal();
  return { open, toggle: () => (dialog.open ? dialog.close() : open()) };
}
