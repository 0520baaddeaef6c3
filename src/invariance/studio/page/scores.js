/** The honest score: accuracy on strokes the model has not learned from, its history, and which classes it confuses. */

import { byId, h, section, svg } from "./dom.js";
import { pixelClass } from "./state.js";

const UNITS = { strokes: "stroke", images: "image" };
/** Strokes per class from which on single ones do not change the score much. */
const MIN_RELIABLE = 4;
const percent = (share) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(share > 0.995 ? 0 : 1)} %`);

/** The last overall scores as a small line. */
function sparkline(history) {
  const values = history.map((item) => item.overall).filter((value) => value !== null).slice(-24);
  const [width, height] = [104, 28];
  const chart = svg("svg", { class: "sparkline", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  if (values.length < 2) return chart;
  chart.setAttribute("aria-label", `Over the last ${values.length} updates: from ${percent(values[0])} to ${percent(values.at(-1))}`);
  const low = Math.min(...values, 0.98) - 0.02;
  const high = Math.max(...values, low + 0.04);
  const x = (k) => 3 + (k * (width - 8)) / (values.length - 1);
  const y = (value) => height - 4 - ((value - low) / (high - low)) * (height - 8);
  chart.append(
    svg("path", { d: `M${values.map((value, k) => `${x(k).toFixed(1)} ${y(value).toFixed(1)}`).join("L")}` }),
    svg("circle", { cx: x(values.length - 1), cy: y(values.at(-1)), r: 2.5 }),
  );
  return chart;
}

/** How the score changed by the last update, in words. */
function changeText(history) {
  const values = history.map((item) => item.overall).filter((value) => value !== null);
  if (values.length < 2) return "";
  const points = 100 * (values.at(-1) - values.at(-2));
  if (Math.abs(points) < 0.05) return "unchanged by the last stroke";
  return `${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)} by the last stroke`;
}

function classBar(state, item, unit) {
  const colour = pixelClass(state, item.number)?.colour ?? "#888888";
  const fill = h("span", { class: "bar-fill" });
  fill.style.width = `${100 * (item.accuracy ?? 0)}%`;
  fill.style.background = colour;
  return h("div", { class: "bar-row", title: item.accuracy === null ? "Paint a second stroke to get its score" : `${item.n} ${UNITS[unit] ?? "stroke"}s` },
    h("span", { class: "bar-name", text: pixelClass(state, item.number)?.name ?? item.name }), h("span", { class: "bar" }, fill),
    h("span", { class: "bar-value", text: percent(item.accuracy) }));
}

/** Rows: what was painted; columns: what was predicted; shares of each row. */
function matrixTable(state, scores) {
  const names = scores.classes.map((item) => pixelClass(state, item.number)?.name ?? item.name);
  const head = h("tr", {}, h("td"), ...names.map((text) => h("th", { scope: "col", text })), h("th", { scope: "col", text: "pixels" }));
  const rows = scores.confusion.map((row, i) => {
    const total = row.reduce((a, b) => a + b, 0);
    const cells = row.map((n, j) => {
      const share = total ? n / total : 0;
      const cell = h("td", { class: i === j ? "is-right" : "is-wrong", text: total ? percent(share) : "–", title: `${n} of ${total}` });
      cell.style.setProperty("--share", String(Math.round(100 * share)));
      return cell;
    });
    return h("tr", {}, h("th", { scope: "row", text: names[i] }), ...cells, h("td", { class: "total", text: String(total) }));
  });
  return h("table", { class: "matrix" }, h("thead", {}, head), h("tbody", {}, ...rows));
}

/** What to paint to get a score. */
function missing({ scores, classes }) {
  const single = (scores?.classes ?? []).filter((item) => item.accuracy === null).map((item) => classes.pixels.find(({ number }) => number === item.number)?.name ?? item.name);
  return single.length ? `Paint a second stroke of ${single.join(" and ")}.` : "It needs two strokes of two classes.";
}

function explain(unit) {
  const one = UNITS[unit] ?? "stroke";
  return `Each ${one} is predicted by a model that has not learned from it. Expect this of pixels like those you painted.`;
}

/** A warning as long as a class has too few strokes for the number to mean much. */
function warn({ classes }) {
  return classes.some((item) => item.n < MIN_RELIABLE) ? "With so few strokes the number is a rough guess; paint more of each class." : "";
}

function fillMatrix(dialog, app) {
  const { scores } = app.store.state;
  dialog.replaceChildren(
    h("div", { class: "dialog-head" }, h("h2", { id: "matrix-title", text: "Which classes are confused" }),
      h("button", { type: "button", class: "button", text: "Close", on: { click: () => dialog.close() } })),
    scores?.classes?.length ? h("div", { class: "matrix-box" }, h("p", { class: "axis", text: "predicted →" }), matrixTable(app.store.state, scores))
      : h("p", { text: "Paint two strokes of two classes first." }),
    h("p", { class: "hint", text: "Rows: the class you painted. Columns: the class that was predicted there." }),
    h("p", { class: "hint", text: explain(scores?.unit) }),
  );
}

/** Add the section to the side bar. */
export function mountScores(root, app) {
  const body = h("div", { class: "scores", id: "scores" });
  const dialog = /** @type {HTMLDialogElement} */ (byId("matrix"));
  const open = () => {
    fillMatrix(dialog, app);
    dialog.showModal();
  };
  root.append(section("score", "Score", [body]));
  app.store.on(["scores", "classes"], (state) => {
    const { scores } = state;
    if (!scores || !scores.classes?.length || scores.overall === null) {
      const text = "How often the model is right on strokes it has not learned from.";
      body.replaceChildren(h("p", { class: "hint", text: `${text} ${missing(state)}` }));
      return;
    }
    const history = scores.history ?? [];
    body.replaceChildren(
      h("div", { class: "score-head" },
        h("div", {}, h("span", { class: "score-value", id: "score-value", text: percent(scores.overall) }), h("span", { class: "score-change", text: changeText(history) })),
        sparkline(history)),
      ...scores.classes.map((item) => classBar(state, item, scores.unit)),
      h("p", { class: "hint", text: [explain(scores.unit), warn(scores)].filter(Boolean).join(" ") }),
      h("div", { class: "buttons" }, h("button", { type: "button", class: "button small", id: "open-matrix", "aria-keyshortcuts": "m", text: "Which classes are confused", title: "Confusion matrix (m)", on: { click: open } })),
    );
    if (dialog.open) fillMatrix(dialog, app);
  });
  app.openMatrix = open;
}
