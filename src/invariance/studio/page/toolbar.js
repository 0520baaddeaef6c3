/** The toolbar over the image: tools, size of the brush, undo and redo, live update, where next, zoom. */

import { h, iconButton, slider } from "./dom.js";
import { icon } from "./icons.js";
import { fitView } from "./navigation.js";
import { BRUSH_SIZES } from "./state.js";
import { suggestNext } from "./suggest.js";
import { toastError } from "./toast.js";
import { TOOLS } from "./tools.js";

/** Take the next larger or smaller size of ilastik's. */
export function stepSize(app, by) {
  const { size } = app.store.state;
  const next = by > 0 ? BRUSH_SIZES.find((other) => other > size) : BRUSH_SIZES.findLast((other) => other < size);
  if (next) app.store.set({ size: next });
}

/** Undo or redo the last stroke; if it is on another page, that page is shown. */
export async function travel(app, what) {
  const { store } = app;
  const isShown = (image, page) => image === store.state.image && page === store.state.page;
  const { image: asked, page: askedPage } = store.state;
  try {
    const { image, page } = await app.socket.request(what);
    const isElsewhere = image !== null && image !== undefined && !isShown(image, page);
    // Whoever has opened another page since is not called back.
    if (isElsewhere && isShown(asked, askedPage)) app.openPlace(image, page);
  } catch (error) {
    toastError(error);
  }
}

/** Switch the live update; the server tells all tabs, this one included. */
export function setLive(app, on) {
  app.socket.request("live", { on }).catch(toastError);
}

/** Update once. */
export function updateNow(app) {
  app.socket.request("update").catch(toastError);
}

function toolButtons(app) {
  const group = h("div", { class: "group tools", role: "radiogroup", "aria-label": "Tool" });
  const buttons = TOOLS.map(({ name, label, key, hint }) => {
    const button = iconButton({ icon: icon(name), label, key, className: "tool", run: () => app.store.set({ tool: name }),
      attributes: { role: "radio", title: `${label} (${key}). ${hint}`, id: `tool-${name}` } });
    group.append(button);
    return button;
  });
  group.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length;
    buttons[next].click();
    buttons[next].focus();
  });
  app.store.on(["tool"], ({ tool }) => TOOLS.forEach(({ name }, k) => {
    buttons[k].setAttribute("aria-checked", String(name === tool));
    buttons[k].tabIndex = name === tool ? 0 : -1;
  }));
  return group;
}

function sizeSlider(app) {
  const { element, input, show } = slider({
    id: "brush-size", label: "Size", min: 0, max: BRUSH_SIZES.length - 1, step: 1, value: BRUSH_SIZES.indexOf(app.store.state.size),
    format: (k) => `${BRUSH_SIZES[k]} px`, run: (k) => app.store.set({ size: BRUSH_SIZES[k] }),
  });
  input.title = "Size of the brush ([ and ], or , and .)";
  element.classList.add("size");
  app.store.on(["size"], ({ size }) => {
    show(BRUSH_SIZES.indexOf(size));
    input.setAttribute("aria-valuetext", `${size} pixels`);
  });
  return element;
}

function historyButtons(app) {
  const undo = iconButton({ icon: icon("undo"), label: "Undo", key: "Ctrl+Z", run: () => travel(app, "undo") });
  const redo = iconButton({ icon: icon("redo"), label: "Redo", key: "Ctrl+Y", run: () => travel(app, "redo") });
  undo.id = "undo";
  redo.id = "redo";
  app.store.on(["can_undo", "can_redo"], (state) => {
    undo.disabled = !state.can_undo;
    redo.disabled = !state.can_redo;
  });
  return h("div", { class: "group" }, undo, redo);
}

function liveControls(app) {
  const live = h("button", { type: "button", class: "switch", role: "switch", id: "live", "aria-keyshortcuts": "l",
    title: "Live: predict again after every stroke (l). Off: predict when you ask for it", on: { click: () => setLive(app, !app.store.state.is_live) } },
    h("span", { class: "switch-knob" }), h("span", { text: "Live" }));
  const update = iconButton({ icon: icon("refresh"), label: "Predict now", key: "r", text: "Predict", run: () => updateNow(app) });
  update.id = "update";
  update.setAttribute("aria-label", "Predict now");
  app.store.on(["is_live"], ({ is_live }) => {
    live.setAttribute("aria-checked", String(is_live));
    update.classList.toggle("is-inviting", !is_live);
    update.classList.toggle("icon-only", is_live);
    update.lastElementChild.hidden = is_live; // its name is shown when it is needed
  });
  const next = iconButton({ icon: icon("target"), label: "Where next: go to the place where the model is most unsure, and paint there", key: "w",
    text: "Where next", run: () => suggestNext(app) });
  next.id = "where-next";
  return h("div", { class: "group" }, live, update, next);
}

function zoomControls(app) {
  return h("div", { class: "group zoom" },
    iconButton({ icon: icon("fit"), label: "Show the whole image", key: "0", run: () => fitView(app) }));
}

/** Fill the toolbar. */
export function mountToolbar(root, app) {
  root.append(toolButtons(app), sizeSlider(app), historyButtons(app), h("div", { class: "spring" }), liveControls(app), zoomControls(app));
}
