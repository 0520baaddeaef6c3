/** What is drawn over the canvas as SVG: the ring of the brush, previews of lines and areas, the crosshair, the pulse. */

import { svg } from "./dom.js";
import { pixelClass } from "./state.js";

export class Marks {
  constructor(root, app) {
    this.app = app;
    this.ring = svg("circle", { class: "ring", r: 4 });
    this.ringBack = svg("circle", { class: "ring-back", r: 4 });
    this.preview = svg("path", { class: "preview" });
    this.crosshair = svg("path", { class: "crosshair", d: "M-14 0H-4M4 0H14M0 -14V-4M0 4V14" });
    this.pulse = svg("circle", { class: "pulse", r: 28 });
    for (const mark of [this.ring, this.ringBack, this.preview, this.crosshair, this.pulse]) mark.style.display = "none";
    root.append(svg("svg", { class: "marks-svg" }, this.preview, this.ringBack, this.ring, this.crosshair, this.pulse));
    /** Places in the image of marks that stay where they are when the view moves. */
    this.cursor = null;
    this.pulsed = null;
    app.store.on(["view"], () => this.place());
    app.store.on(["tool", "size", "class_number", "is_erasing", "classes"], () => this.place());
  }

  /** Show the ring of the brush at a place of the canvas, or hide it. @param {?{x: number, y: number}} place */
  showRing(place) {
    this.pointer = place;
    this.place();
  }

  /** Show the crosshair of the keyboard at a pixel, or hide it. @param {?{row: number, col: number}} cursor */
  showCursor(cursor) {
    this.cursor = cursor;
    this.place();
  }

  /** Pulse a ring at a pixel for a few seconds. */
  showPulse(row, col) {
    this.pulsed = { row, col };
    this.place();
    clearTimeout(this.pulseTimer);
    this.pulse.classList.remove("is-on");
    void this.pulse.getBoundingClientRect(); // so that the animation starts again
    this.pulse.classList.add("is-on");
    this.pulseTimer = setTimeout(() => {
      this.pulsed = null;
      this.place();
    }, 4000);
  }

  /**
   * Preview a line or an area.
   * @param {number[]} points r0, c0, r1, c1, ... in pixels of the image; empty to hide it
   * @param {{isArea?: boolean, width?: number}} [look]
   */
  showPreview(points, { isArea = false, width = 1 } = {}) {
    this.preview.style.display = points.length ? "" : "none";
    if (!points.length) return;
    const corners = [];
    for (let k = 0; k < points.length; k += 2) {
      const { x, y } = this.app.viewer.toScreen(points[k], points[k + 1]);
      corners.push(`${x.toFixed(1)} ${y.toFixed(1)}`);
    }
    this.preview.setAttribute("d", `M${corners.join("L")}${isArea ? "Z" : ""}`);
    this.preview.style.stroke = this.colour();
    this.preview.style.fill = isArea ? this.colour() : "none";
    this.preview.style.strokeWidth = isArea ? "2" : String(Math.max(width * this.app.store.state.view.zoom, 1.5));
    this.preview.classList.toggle("is-area", isArea);
  }

  colour() {
    const { state } = this.app.store;
    const isErasing = state.is_erasing || state.tool === "eraser";
    return isErasing ? "#ffffff" : (pixelClass(state, state.class_number)?.colour ?? "#ffffff");
  }

  place() {
    const { state } = this.app.store;
    if (!state.view) return;
    const paints = ["brush", "line", "eraser"].includes(state.tool);
    const cursor = this.cursor && this.app.viewer.toScreen(this.cursor.row, this.cursor.col);
    const at = this.pointer ?? cursor;
    for (const ring of [this.ring, this.ringBack]) {
      ring.style.display = at && paints ? "" : "none";
      if (!at || !paints) continue;
      ring.setAttribute("r", String(Math.max((state.size * state.view.zoom) / 2, 2)));
      ring.style.transform = `translate(${at.x}px, ${at.y}px)`;
    }
    this.ring.style.stroke = this.colour();
    this.ring.classList.toggle("is-erasing", state.is_erasing || state.tool === "eraser");
    this.placeAt(this.crosshair, cursor);
    this.placeAt(this.pulse, this.pulsed && this.app.viewer.toScreen(this.pulsed.row, this.pulsed.col));
  }

  placeAt(mark, at) {
    mark.style.display = at ? "" : "none";
    if (at) mark.style.transform = `translate(${at.x}px, ${at.y}px)`;
  }
}
