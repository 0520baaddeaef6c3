/** `window.studio`: read-only looks at the page for its tests; nothing of the page uses it. */

import { shownLabels } from "./pages.js";

/** @param {import("./main.js").App} app */
export function exposeForTests(app) {
  const arrived = [];
  app.socket.on("frame:prediction", (header) => {
    arrived.push({ time: performance.now(), version: header.version, stage: header.stage });
    if (arrived.length > 5000) arrived.shift();
  });
  const drawing = [];
  const draw = app.viewer.draw.bind(app.viewer);
  app.viewer.draw = () => {
    const start = performance.now();
    draw();
    drawing.push(performance.now() - start);
    if (drawing.length > 5000) drawing.shift();
  };
  window.studio = Object.freeze({
    state: () => structuredClone(app.store.state),
    labelAt: (row, col, layer = "labels") => shownLabels(app)?.numberAt(layer, row, col) ?? 0,
    labelCounts: (layer = "labels") => Array.from(shownLabels(app)?.count(layer) ?? []),
    predictionAt: (row, col) => app.predictions.at(app.store.state.image, app.store.state.page, row, col),
    predictionFrames: () => arrived.slice(),
    pageOf: (row, col) => {
      const box = app.viewer.canvas.getBoundingClientRect();
      const { x, y } = app.viewer.toScreen(row, col);
      return { x: x + box.left, y: y + box.top };
    },
    isIdle: () => app.tiles.loading.size === 0 && app.painter.outbox.length === 0 && app.viewer.request === 0,
    nDrawn: () => app.viewer.nDrawn,
    drawMilliseconds: () => drawing.slice(),
    redrawMilliseconds: (n) => Array.from({ length: n }, () => redraw(app.viewer)),
  });
}

/** Draw the whole canvas, and read a pixel so that it is really drawn. @returns {number} milliseconds */
function redraw(viewer) {
  const start = performance.now();
  viewer.isAllDirty = true;
  viewer.draw();
  viewer.context.getImageData(0, 0, 1, 1);
  return performance.now() - start;
}
