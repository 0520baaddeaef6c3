/** The panel of learning: train within a budget, see mistakes and doubt, accept predictions, export. */

import { h, iconButton, section, slider } from "./dom.js";
import { icon } from "./icons.js";
import { latestJob, startJob } from "./jobs.js";
import { missingLabels } from "./image_mode_order.js";

const BUDGETS = [[10, "up to 10 s"], [30, "up to 30 s"], [120, "up to 2 min"], [600, "up to 10 min"]];
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

/**
 * Add the sections "Learn" and "Predicted images" to the side bar.
 * @param {HTMLElement} root
 * @param {object} app
 * @param {{train: () => void, sortBy: (sort: string) => void, clearPhi: () => void, accept: (ids: number[], low: ?number) => void}} actions
 */
export function mountLearn(root, app, actions) {
  const budget = h("select", { "aria-label": "Time to choose a method", title: "How long it may try methods", class: "select" },
    ...BUDGETS.map(([value, text]) => h("option", { value, text, selected: value === 30 })));
  const button = h("button", { type: "button", class: "button primary", id: "train", text: "Train", "aria-keyshortcuts": "t", title: "Choose a method and learn from the labelled images (t)",
    on: { click: actions.train } });
  const hint = h("p", { class: "hint", id: "train-hint" });
  const phi = h("div", { class: "phi-row" });
  const progress = h("div", { class: "job-line", "aria-live": "polite", hidden: true });
  const result = h("div", { class: "stack", id: "train-result" });
  root.append(section("image-learn", "Learn", [h("div", { class: "train-row" }, button, budget), hint, phi, progress, result]));
  const accept = makeAccept(app, actions);
  root.append(accept.element);
  return {
    budget: () => Number(budget.value),
    press: () => button.click(), // does nothing while it is disabled
    show(state, items, predictions) {
      const job = latestJob(state.jobs, ["train", "predict"]);
      const isRunning = job?.state === "running";
      const missing = missingLabels(items, state.classes.images);
      button.disabled = isRunning || missing !== null;
      button.textContent = isRunning ? "Training…" : predictions ? "Train again" : "Train";
      hint.textContent = missing ?? "";
      hint.hidden = missing === null;
      showPhi(phi, state.settings.image_invariant_to ?? null, actions);
      progress.hidden = !isRunning;
      if (isRunning) progress.replaceChildren(...progressLine(app, job));
      result.replaceChildren(...(job?.state === "failed" ? [h("p", { class: "problem", text: job.text })] : []),
        ...(predictions ? describeResult(items, predictions, actions) : []));
      accept.show(items, predictions);
    },
  };
}

/** A bar, what is being done, and a button to cancel. */
export function progressLine(app, job) {
  const bar = h("progress", { "aria-label": job.text, ...(job.done === null ? {} : { value: job.done, max: 1 }) });
  return [bar, h("span", { class: "hint job-text", text: job.text }),
    iconButton({ icon: icon("close", 14), label: "Cancel", className: "quiet small", run: () => app.socket.request("job.cancel", { job: job.job }).catch(app.toastError) })];
}

function showPhi(row, phi, actions) {
  row.replaceChildren(h("span", { class: "muted", text: "Differences to ignore:" }),
    phi ? h("code", { text: phi }) : h("span", { text: "chosen automatically" }),
    ...(phi ? [iconButton({ icon: icon("close", 13), label: "Choose automatically again", className: "quiet small", run: actions.clearPhi })] : []));
}

function describeResult(items, predictions, actions) {
  const nMistakes = items.filter((item) => item.isMistake).length;
  const accuracy = predictions.accuracy === null
    ? [h("p", { text: "Accuracy is not measured: label a third image of a class." })]
    : [h("div", { class: "score-head" }, h("div", {}, h("span", { class: "score-value", text: percent(predictions.accuracy) }),
      h("span", { class: "hint", text: `of ${predictions.n_judged} labelled images are right, each predicted without having learned from it` })))];
  return [...accuracy,
    h("p", {}, "Method: ", h("strong", { text: predictions.method })),
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "button small", id: "see-mistakes", text: nMistakes === 1 ? "1 mistake" : `${nMistakes} mistakes`, title: "Show first the images whose prediction differs from their label",
        on: { click: () => actions.sortBy("mistakes") } }),
      h("button", { type: "button", class: "button small", id: "see-doubt", text: "Most doubtful", title: "Show the least certain images first", on: { click: () => actions.sortBy("doubt") } })),
    h("details", { class: "why" }, h("summary", { text: "Why this method, and what it ignores" }),
      h("p", { class: "hint", text: predictions.reason }),
      h("ul", { class: "plan-parts" }, ...predictions.plan.map(({ part, treatment, sentence }) => h("li", {}, h("code", { text: part }), ` (${treatment}). ${sentence}`)))),
    ...(predictions.n_skipped ? [h("p", { class: "problem", text: `${predictions.n_skipped} images could not be read.` })] : [])];
}

/** Accept all predictions above a certainty. */
function makeAccept(app, actions) {
  let low = 0.9;
  let items = [];
  const button = h("button", { type: "button", class: "button small", id: "accept-all", on: { click: () => actions.accept([], low) } });
  const certainty = slider({ id: "certainty", label: "At least", min: 0.5, max: 0.99, step: 0.01, value: low, format: (value) => percent(value, 0),
    run: (value) => { low = value; update(); } });
  const said = h("p", { class: "hint" });
  const exports = h("div", { class: "buttons" },
    h("button", { type: "button", class: "button small", id: "export-classifier", text: "Export the model", on: { click: () => startJob(app, "export-classifier") } }),
    h("button", { type: "button", class: "button small", id: "export-table", text: "Export a table", on: { click: () => startJob(app, "export-table") } }));
  const element = section("image-accept", "Predicted images", [said, certainty.element, h("div", { class: "buttons" }, button), exports]);
  function update() {
    const open = items.filter((item) => !item.label && item.predicted);
    const n = open.filter((item) => item.certainty >= low).length;
    button.textContent = n === 1 ? "Accept 1 image" : `Accept ${n} images`;
    button.disabled = n === 0;
    said.textContent = open.length ? `${open.length} images are predicted. Accept those that are certain enough, or press a number to correct one. Enter accepts the selected ones.` : "Every image has a label.";
  }
  return { element, show(now, predictions) {
    items = now;
    element.hidden = !predictions;
    update();
  } };
}
