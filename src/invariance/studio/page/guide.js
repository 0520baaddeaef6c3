/** The first visit: three steps that tick themselves off, and what to do when there are no images. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { shownLabels } from "./pages.js";

const DONE_KEY = "studio.guide.done";

/** Which classes have labels on the shown page. */
function paintedNumbers(app) {
  const counts = shownLabels(app)?.count("labels") ?? [];
  return new Set(app.store.state.classes.pixels.map((item) => item.number).filter((number) => counts[number] > 0));
}

function step(number, title, detail, isDone, isNow) {
  return h("li", { class: `${isDone ? "is-done" : ""} ${isNow ? "is-now" : ""}` },
    h("span", { class: "step-mark" }, isDone ? icon("check", 14) : String(number)),
    h("div", {}, h("strong", { text: title }), h("div", { class: "note" }, ...detail)));
}

function chip(item, isPainted) {
  const dot = h("span", { class: "chip-dot" });
  dot.style.background = item.colour;
  return h("span", { class: `chip ${isPainted ? "is-done" : ""}` }, dot, h("span", { text: item.name }), isPainted ? icon("check", 12) : "");
}

function fill(root, app, close) {
  const { classes, scores, status } = app.store.state;
  const painted = paintedNumbers(app);
  const hasClasses = classes.pixels.length >= 2;
  const hasPainted = painted.size >= 2;
  const isPredicted = app.predictions.nReceived > 0;
  const names = classes.pixels.slice(0, 4);
  root.replaceChildren(h("div", { class: "guide", role: "note", "aria-label": "First steps" },
    h("div", { class: "guide-head" }, h("h2", { text: isPredicted ? "That is all there is to it" : "Three steps" }),
      h("button", { type: "button", class: "button icon-only quiet small", "aria-label": "Close the first steps", on: { click: close } }, icon("close", 14))),
    h("ol", {},
      step(1, "Choose a class", hasClasses ? ["Two are there. Double-click a name on the right to change it."] : ["Press a to add one."], hasClasses && painted.size > 0, painted.size === 0),
      step(2, "Paint a few strokes of each", names.map((item) => chip(item, painted.has(item.number))), hasPainted, painted.size > 0 && !hasPainted),
      step(3, "See the prediction", [isPredicted ? "Paint where it is wrong; press w for the place that teaches most." : status.busy && hasPainted ? "A moment…" : "It appears by itself and gets better with every stroke."], isPredicted, hasPainted && !isPredicted)),
    isPredicted || scores?.overall ? h("div", { class: "buttons" }, h("button", { type: "button", class: "button primary small", text: "Got it", on: { click: close } })) : ""));
}

function fillEmpty(root, folder) {
  root.replaceChildren(h("div", { class: "no-images" }, h("h2", { text: "No images here yet" }),
    h("p", { text: `Put PNG, TIFF, JPEG or BMP images into ${folder || "the folder"}, then start the studio again.` }),
    h("p", { class: "note" }, "To try it first: ", h("code", { text: "invariance studio --samples" }))));
}

/** Show the guide until it was closed, or until somebody has painted before. */
export function mountGuide(root, app) {
  let isClosed = localStorage.getItem(DONE_KEY) === "yes";
  let isFirst = null; // whether the project had no labels when it was opened
  const close = () => {
    isClosed = true;
    localStorage.setItem(DONE_KEY, "yes");
    root.replaceChildren();
    app.viewer.canvas.focus();
  };
  const show = () => {
    const { is_loaded, images, folder } = app.store.state;
    if (!is_loaded) return;
    if (!images.length) return fillEmpty(root, folder);
    isFirst ??= images.every((image) => image.n_labelled_pages === 0);
    if (isClosed || !isFirst) return root.replaceChildren();
    fill(root, app, close);
  };
  app.store.on(["is_loaded", "images", "classes", "n_unsaved", "status", "scores"], show);
}
