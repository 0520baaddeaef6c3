/** A stroke from its first point to the reply of the server; strokes that could not be sent are kept and sent later. */

import { shownLabels, restorePage } from "./pages.js";
import { roundCoordinate, visitStroke } from "./raster.js";
import { paintedLayer, pixelClass } from "./state.js";
import { RequestError } from "./socket.js";
import { toast, toastError } from "./toast.js";

/** The server takes 20,000 numbers per stroke; a longer one goes on as the next stroke. */
const MAX_NUMBERS = 16_000;

export class Painter {
  constructor(app) {
    this.app = app;
    /** The stroke that is being painted. @type {?import("./labels.js").Stroke} */
    this.stroke = null;
    /** Strokes that wait for a reply or for the line, in order. */
    this.outbox = [];
    window.addEventListener("beforeunload", (event) => {
      if (this.outbox.length > 0) event.preventDefault();
    });
  }

  /** Why the chosen class cannot be painted now; null if it can. */
  refusal(number) {
    const { store, socket } = this.app;
    if (number === 0) return null;
    const item = pixelClass(store.state, number);
    if (!item) return { text: "Choose a class first: press a to add one." };
    const change = (fields) => () => socket.request("class.change", { mode: "pixels", number, ...fields }).catch(toastError);
    if (item.is_hidden) return { text: `"${item.name}" is hidden. Show it to paint it.`, action: { text: "Show", run: change({ is_hidden: false }) } };
    if (item.is_locked) return { text: `"${item.name}" is locked. Unlock it to paint it.`, action: { text: "Unlock", run: change({ is_locked: false }) } };
    return null;
  }

  /**
   * Begin a stroke.
   * @param {"brush"|"fill"} tool
   * @param {number} number class number, 0 to erase
   * @returns {boolean} false if it was refused; the reason is shown
   */
  begin(tool, number) {
    const { store } = this.app;
    const refusal = this.refusal(number);
    if (refusal) toast(refusal.text, "info", refusal.action);
    if (refusal || !shownLabels(this.app)) return false;
    const { size, image, page } = store.state;
    this.stroke = { image, page, layer: paintedLayer(store.state), tool, class: number, radius: size / 2, points: [] };
    this.size = tool === "fill" ? Infinity : size;
    return true;
  }

  /** Go on to a place; a brush is painted at once. */
  extend(row, col) {
    const { points, tool } = this.stroke;
    const [r, c] = [roundCoordinate(row, this.size), roundCoordinate(col, this.size)];
    const n = points.length;
    if (n >= 2 && points[n - 2] === r && points[n - 1] === c) return;
    points.push(r, c);
    if (tool === "brush") this.show(n >= 2 ? points.slice(n - 2) : points);
    if (points.length >= MAX_NUMBERS && tool === "brush") this.splitStroke(r, c);
  }

  /** Paint a part of the stroke on the page. */
  show(points) {
    const rect = shownLabels(this.app)?.paint({ ...this.stroke, points });
    if (rect) this.app.viewer.invalidate(rect);
  }

  splitStroke(row, col) {
    const { tool, class: number } = this.stroke;
    this.finish();
    if (this.begin(tool, number)) this.extend(row, col);
  }

  /** End the stroke and send it. */
  finish() {
    const stroke = this.stroke;
    this.stroke = null;
    if (!stroke || stroke.points.length < (stroke.tool === "fill" ? 6 : 2)) return;
    if (!this.isInside(stroke)) return;
    if (stroke.points.length > MAX_NUMBERS) stroke.points = thinOut(stroke.points, MAX_NUMBERS);
    const labels = shownLabels(this.app);
    if (stroke.tool === "fill") {
      const rect = labels.paint(stroke);
      if (rect) this.app.viewer.invalidate(rect);
    }
    stroke.stroke_id = crypto.randomUUID(); // by which the server knows a stroke that is sent again
    this.outbox.push({ stroke, entry: labels.addPending(stroke), isSent: false });
    this.send();
  }

  /** Whether a stroke covers any pixel of its image. */
  isInside(stroke) {
    const { height, width } = shownLabels(this.app);
    let isAny = false;
    visitStroke(stroke, height, width, () => (isAny = true));
    return isAny;
  }

  /** Give the stroke up, e.g. because a second finger came down. */
  cancel() {
    const stroke = this.stroke;
    this.stroke = null;
    if (stroke && stroke.tool === "brush" && stroke.points.length) restorePage(this.app, stroke.image, stroke.page);
  }

  /** Send what was not sent, in order. */
  send() {
    for (const item of this.outbox) {
      if (item.isSent || !this.app.socket.isOpen) continue;
      item.isSent = true;
      this.app.socket.request("stroke", item.stroke).then(
        (reply) => this.saved(item, reply),
        (error) => this.failed(item, error),
      );
    }
    this.app.store.set({ n_unsaved: this.outbox.length });
  }

  /** The server has committed a stroke, now or, if the reply was lost, when it was sent before. */
  saved(item, { action, is_repeated }) {
    item.entry.action = action;
    if (is_repeated || this.app.paintedActions.has(action)) this.dropPending(item);
    if (is_repeated) restorePage(this.app, item.stroke.image, item.stroke.page); // it may be undone by now
    this.forget(item);
  }

  /** Paint a stroke over the tiles of the server no more. */
  dropPending({ stroke, entry }) {
    this.app.pages.get(`${stroke.image}:${stroke.page}`)?.dropPending((other) => other === entry);
  }

  /** A stroke needs no reply any more. */
  forget(item) {
    this.outbox = this.outbox.filter((other) => other !== item);
    this.app.store.set({ n_unsaved: this.outbox.length });
  }

  failed(item, error) {
    if (!(error instanceof RequestError) || !this.app.socket.isOpen) {
      item.isSent = false; // the line was lost: sent again when it is back
      return;
    }
    this.forget(item);
    this.dropPending(item);
    restorePage(this.app, item.stroke.image, item.stroke.page);
    toastError(error);
  }
}

/** Leave out points evenly so that at most `limit` numbers remain. */
function thinOut(points, limit) {
  const every = Math.ceil(points.length / limit);
  return points.filter((_, k) => Math.floor(k / 2) % every === 0);
}
