/** Pointers on the canvas: mouse, pen and fingers paint, pan, zoom and pinch. */

import { panBy, zoomAt } from "./navigation.js";

const ERASER_BUTTON = 32; // of pens, in `buttons`
const RIGHT_BUTTON = 2;
const MIDDLE_BUTTON = 4;
const ZOOM_PER_WHEEL_PIXEL = 0.0016;

export const TOOLS = [
  { name: "brush", label: "Brush", key: "b", hint: "Paint the chosen class. Hold Shift, or the right button, to erase." },
  { name: "line", label: "Straight line", key: "i", hint: "Drag from one end of the line to the other." },
  { name: "fill", label: "Fill an area", key: "f", hint: "Draw around an area; it is filled when you let go." },
  { name: "eraser", label: "Eraser", key: "e", hint: "Remove labels." },
  { name: "navigate", label: "Move", key: "n", hint: "Drag to move the image. Space does the same with every tool." },
];

export class Tools {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {object} app
   */
  constructor(canvas, app) {
    this.canvas = canvas;
    this.app = app;
    this.isSpaceDown = false;
    /** What the pressed pointer does: its `move`, `end` and `cancel`. */
    this.gesture = null;
    /** Fingers on the canvas. @type {Map<number, {x: number, y: number}>} */
    this.fingers = new Map();
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.up(event));
    canvas.addEventListener("pointerleave", () => this.app.marks.showRing(null));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    window.addEventListener("blur", () => this.setSpace(false));
    app.store.on(["tool"], () => this.showPointer());
  }

  get state() {
    return this.app.store.state;
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  setSpace(isDown) {
    this.isSpaceDown = isDown;
    this.showPointer();
  }

  showPointer() {
    const isMoving = this.isSpaceDown || this.state.tool === "navigate";
    this.canvas.classList.toggle("is-moving", isMoving);
    this.canvas.classList.toggle("is-filling", !isMoving && this.state.tool === "fill");
  }

  // ------------------------------------------------------------ events

  down(event) {
    if (!this.state.view) return;
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
    const place = this.place(event);
    if (event.pointerType === "touch") {
      this.fingers.set(event.pointerId, place);
      if (this.fingers.size === 2) {
        this.gesture?.cancel();
        this.gesture = this.pinch();
        return;
      }
    }
    if (this.gesture) return;
    this.app.marks.showCursor(null);
    this.gesture = this.gestureFor(event, place);
    this.gesture?.move?.(place, event);
  }

  gestureFor(event, place) {
    const { tool, class_number } = this.state;
    if (this.isSpaceDown || tool === "navigate" || event.buttons & MIDDLE_BUTTON) return this.pan(place);
    const isErasing = tool === "eraser" || event.shiftKey || Boolean(event.buttons & (RIGHT_BUTTON | ERASER_BUTTON));
    const number = isErasing ? 0 : class_number;
    if (isErasing !== this.state.is_erasing) this.app.store.set({ is_erasing: isErasing });
    if (tool === "line") return this.drawLine(number, place);
    if (tool === "fill") return this.drawArea(number);
    return this.drawStroke(number);
  }

  move(event) {
    const place = this.place(event);
    if (event.pointerType !== "touch") this.app.marks.showRing(place);
    this.app.onPointer?.(this.state.view ? this.app.viewer.toImage(place.x, place.y) : null);
    if (event.pointerType === "touch" && this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, place);
    this.gesture?.move?.(place, event);
  }

  up(event) {
    this.fingers.delete(event.pointerId);
    const gesture = this.gesture;
    if (!gesture || (gesture.isPinch && this.fingers.size > 0)) return;
    this.gesture = null;
    if (event.type === "pointercancel") gesture.cancel();
    else gesture.end?.(this.place(event));
    this.app.store.set({ is_erasing: event.shiftKey });
  }

  wheel(event) {
    event.preventDefault();
    const { x, y } = this.place(event);
    const pixels = event.deltaY * [1, 30, 300][event.deltaMode];
    zoomAt(this.app, Math.exp(-pixels * ZOOM_PER_WHEEL_PIXEL * (event.ctrlKey ? 4 : 1)), x, y);
  }

  // ------------------------------------------------------------ gestures

  pan(start) {
    let last = start;
    const stop = () => this.canvas.classList.remove("is-dragging");
    this.canvas.classList.add("is-dragging");
    return {
      move: (place) => {
        panBy(this.app, place.x - last.x, place.y - last.y);
        last = place;
      },
      end: stop,
      cancel: stop,
    };
  }

  pinch() {
    const measure = () => {
      const [a, b] = [...this.fingers.values()];
      return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, span: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    let last = measure();
    return {
      isPinch: true,
      move: () => {
        if (this.fingers.size < 2) return;
        const now = measure();
        panBy(this.app, now.x - last.x, now.y - last.y);
        zoomAt(this.app, now.span / Math.max(last.span, 1), now.x, now.y);
        last = now;
      },
      cancel: () => {},
    };
  }

  drawStroke(number) {
    const { painter, viewer } = this.app;
    if (!painter.begin("brush", number)) return { cancel: () => {} };
    return {
      move: (_, event) => {
        const events = event.getCoalescedEvents?.() ?? [];
        for (const each of events.length ? events : [event]) {
          const { x, y } = this.place(each);
          const { row, col } = viewer.toImage(x, y);
          painter.extend(row, col);
        }
      },
      end: () => painter.finish(),
      cancel: () => painter.cancel(),
    };
  }

  drawLine(number, start) {
    const { painter, viewer, marks } = this.app;
    const from = viewer.toImage(start.x, start.y);
    let to = from;
    return {
      move: (place) => {
        to = viewer.toImage(place.x, place.y);
        marks.showPreview([from.row, from.col, to.row, to.col], { width: this.state.size });
      },
      end: () => {
        marks.showPreview([]);
        if (!painter.begin("brush", number)) return;
        painter.extend(from.row, from.col);
        painter.extend(to.row, to.col);
        painter.finish();
      },
      cancel: () => marks.showPreview([]),
    };
  }

  drawArea(number) {
    const { painter, viewer, marks } = this.app;
    if (!painter.begin("fill", number)) return { cancel: () => {} };
    return {
      move: (place) => {
        const { row, col } = viewer.toImage(place.x, place.y);
        painter.extend(row, col);
        marks.showPreview(painter.stroke.points, { isArea: true });
      },
      end: () => {
        marks.showPreview([]);
        painter.finish();
      },
      cancel: () => {
        marks.showPreview([]);
        painter.cancel();
      },
    };
  }
}
