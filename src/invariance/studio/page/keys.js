/** The keyboard: keys as in ilastik, and painting without a mouse. */

import { addClass, chooseClass } from "./classes.js";
import { toggleLayer } from "./layers.js";
import { fitView, moveTo, stepImage, stepPage, zoomAt } from "./navigation.js";
import { currentImage } from "./state.js";
import { suggestNext } from "./suggest.js";
import { setLive, stepSize, travel, updateNow } from "./toolbar.js";
import { TOOLS } from "./tools.js";

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Plain keys of the pixel mode. */
function makeActions(app, help) {
  const actions = {
    a: () => addClass(app),
    ",": () => stepSize(app, -1), ".": () => stepSize(app, 1), "[": () => stepSize(app, -1), "]": () => stepSize(app, 1),
    l: () => setLive(app, !app.store.state.is_live),
    r: () => updateNow(app),
    s: () => toggleLayer(app, "segmentation"), p: () => toggleLayer(app, "probability"), u: () => toggleLayer(app, "uncertainty"),
    t: () => app.store.set({ shows_labels: !app.store.state.shows_labels }),
    w: () => suggestNext(app),
    m: () => app.openMatrix(),
    "0": () => fitView(app), "+": () => zoomAt(app, 1.4), "=": () => zoomAt(app, 1.4), "-": () => zoomAt(app, 1 / 1.4),
    ArrowLeft: () => stepImage(app, -1), ArrowUp: () => stepImage(app, -1), ArrowRight: () => stepImage(app, 1), ArrowDown: () => stepImage(app, 1),
    PageUp: () => stepPage(app, -1), PageDown: () => stepPage(app, 1),
    F2: () => document.getElementById(`class-${app.store.state.class_number}`)?.dispatchEvent(new MouseEvent("dblclick")),
    "?": help.toggle,
  };
  for (const { name, key } of TOOLS) actions[key] = () => app.store.set({ tool: name });
  for (let k = 0; k < 9; k++) actions[String(k + 1)] = () => chooseClass(app, k);
  return actions;
}

/** Keys belong to fields and sliders while these have the focus. */
function isTyping(target, key) {
  if (target.closest("input[type=range], input[type=radio], select")) return key.startsWith("Arrow") || key.startsWith("Page");
  return Boolean(target.closest("input:not([type=checkbox]):not([type=color]), textarea, [contenteditable]"));
}

/** Painting without a mouse: a crosshair moved by Shift and arrows. */
class KeyBrush {
  constructor(app) {
    this.app = app;
    this.last = null;
  }

  /** The crosshair, at first in the middle of the view. */
  place() {
    const { view } = this.app.store.state;
    return this.app.marks.cursor ?? { row: Math.round(view.row), col: Math.round(view.col) };
  }

  move([down, across], isFar) {
    const { size, view } = this.app.store.state;
    const image = currentImage(this.app.store.state);
    const by = Math.max(1, Math.round(size / 2)) * (isFar ? 10 : 1);
    const { row, col } = this.place();
    const next = { row: clamp(row + down * by, image.height), col: clamp(col + across * by, image.width) };
    this.app.marks.showCursor(next);
    this.app.marks.showRing(null);
    this.app.onPointer?.(next);
    const { x, y } = this.app.viewer.toScreen(next.row, next.col);
    const isVisible = x > 20 && y > 20 && x < this.app.viewer.width - 20 && y < this.app.viewer.height - 20;
    if (!isVisible) moveTo(this.app, { ...next, zoom: view.zoom });
  }

  /** Paint at the crosshair, or a line to it from the last place. */
  paint(isLine) {
    const { tool, class_number } = this.app.store.state;
    const to = this.place();
    const from = isLine && this.last ? this.last : to;
    this.app.marks.showCursor(to);
    if (tool === "navigate" || !this.app.painter.begin("brush", tool === "eraser" ? 0 : class_number)) return;
    this.app.painter.extend(from.row, from.col);
    this.app.painter.extend(to.row, to.col);
    this.app.painter.finish();
    this.last = to;
  }
}

const clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);

/** Listen to the keyboard. */
export function mountKeys(app, help) {
  const actions = makeActions(app, help);
  const brush = new KeyBrush(app);
  window.addEventListener("keydown", (event) => {
    if (event.key === "Shift") app.store.set({ is_erasing: !app.tools.gesture });
    if (app.store.state.mode !== "pixels" || isTyping(event.target, event.key)) return;
    const isDialogOpen = Boolean(document.querySelector("dialog[open]"));
    if (isDialogOpen && event.key !== "?") return;
    if (act(event)) event.preventDefault();
  });
  window.addEventListener("keyup", (event) => {
    if (event.key === "Shift" && !app.tools.gesture) app.store.set({ is_erasing: false });
    if (event.key === " ") app.tools.setSpace(false);
  });

  /** @returns {boolean} whether the key was ours */
  function act(event) {
    const isOnCanvas = !event.target.closest("button, a, summary, [role=radio]:not(input), [role=option], input:not([type=range]):not([type=radio])");
    if (event.ctrlKey || event.metaKey) return actWithControl(event);
    if (event.altKey) return false;
    if (event.shiftKey && ARROWS[event.key]) return moveBrush(event, false);
    if (event.key === " " && isOnCanvas) app.tools.setSpace(true);
    else if (event.key === "Enter" && isOnCanvas && app.store.state.view) brush.paint(event.shiftKey);
    else if (event.key === "Escape") app.marks.showCursor(null);
    else if (actions[event.key]) actions[event.key]();
    else return false;
    return true;
  }

  function actWithControl(event) {
    const key = event.key.toLowerCase();
    if (key === "z") travel(app, event.shiftKey ? "redo" : "undo");
    else if (key === "y") travel(app, "redo");
    else if (event.shiftKey && ARROWS[event.key]) return moveBrush(event, true);
    else return false;
    return true;
  }

  function moveBrush(event, isFar) {
    if (!app.store.state.view) return false;
    app.viewer.canvas.focus({ preventScroll: true });
    brush.move(ARROWS[event.key], isFar);
    return true;
  }
}
