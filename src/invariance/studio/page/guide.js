/** The first visit: three steps that tick themselves off, and what to do when there are no images. */

import { chooseClass } from "./classes.js";
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

/** A class to paint: a click chooses it, as its key does. */
function chip(app, item, k, isPainted) {
  const dot = h("span", { class: "chip-dot" });
  dot.style.background = item.colour;
  return h("button", { type: "button", class: `chip ${isPainted ? "is-done" : ""}`, title: `Paint ${item.name} (${k + 1})`, on: { click: () => chooseClass(app, k) } },
    dot, h("span", { text: item.name }), isPainted ? icon("check", 12) : h("kbd", { text: String(k + 1) }));
}

/** What to do for the second step. */
function howToPaint(app, names, painted) {
  const next = names.find((item) => !painted.has(item.number));
  const how = painted.size && next ? `Now choose ${next.name}, and drag over some of it:` : "Choose one, and drag over pixels that belong to it:";
  return [h("div", { text: how }), ...names.map((item, k) => chip(app, item, k, painted.has(item.number)))];
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
      step(1, "Name what to tell apart", isPredicted ? [] : hasClasses ? ["For example “membrane” and “cell”: double-click a name on the right."] : ["Press a to add a class on the right."], hasClasses && painted.size > 0, painted.size === 0),
      step(2, "Paint a few strokes of each", isPredicted ? [] : howToPaint(app, names, painted), hasPainted, painted.size > 0 && !hasPainted),
      step(3, "See the prediction", [isPredicted ? "Every pixel has a class now. Paint where it is wrong; “Where next” shows where it is unsure. “Export” at the top saves the result." : status.busy && hasPainted ? "A moment…" : "All other pixels are coloured by themselves, better with every stroke."], isPredicted, hasPainted && !isPredicted)),
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
