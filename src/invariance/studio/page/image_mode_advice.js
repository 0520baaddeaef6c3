/** Advice as a figure: what ignoring something does to the accuracy, as bars with intervals that one can click. */

import { h, section, svg } from "./dom.js";
import { latestJob, startJob } from "./jobs.js";
import { progressLine } from "./image_mode_learn.js";

const ROW = 30, WIDTH = 264, BAR = 7, TOP = 4, TEXT = 12;
const TITLE = "Compare the labelled images while ignoring rotations, shifts, light and more";
const TONES = { helps: "better", hurts: "worse", "no difference": "even", unclear: "unclear" };

/**
 * The scale of a figure: from differences in accuracy to its width, zero included, with room for labels.
 * @param {{low: number, high: number}[]} items
 */
export function makeScale(items) {
  const low = Math.min(-0.01, ...items.map((item) => item.low));
  const high = Math.max(0.01, ...items.map((item) => item.high));
  return (value) => 4 + ((value - low) / (high - low)) * (WIDTH - 8);
}

const points = (share) => `${share >= 0 ? "+" : "−"}${Math.abs(100 * share).toFixed(1)}`;

function drawRow(item, k, scale, isChosen, choose) {
  const y = TOP + k * ROW;
  const [zero, end] = [scale(0), scale(item.share)];
  const said = `${item.name}: ${points(item.share)} points of accuracy, 95 % interval ${points(item.low)} to ${points(item.high)}, ${item.verdict}`;
  const row = svg("g", { class: `advice-row ${isChosen ? "is-chosen" : ""}`, "data-tone": TONES[item.verdict] ?? "unclear", tabindex: 0, role: "radio",
    "aria-checked": isChosen, "aria-label": `${said}. Use it.` },
    svg("rect", { class: "advice-back", x: 0, y: y - 2, width: WIDTH, height: ROW - 1, rx: 4 }),
    svg("text", { class: "advice-name", x: 6, y: y + TEXT - 2 }),
    svg("text", { class: "advice-value", x: WIDTH - 6, y: y + TEXT - 2, "text-anchor": "end" }),
    svg("rect", { class: "advice-bar", x: Math.min(zero, end), y: y + TEXT + 3, width: Math.max(1, Math.abs(end - zero)), height: BAR, rx: 1.5 }),
    svg("path", { class: "advice-zero", d: `M${zero} ${y + TEXT + 1}v${BAR + 4}` }),
    svg("path", { class: "advice-interval", d: `M${scale(item.low)} ${y + TEXT + 3 + BAR / 2}H${scale(item.high)}` }),
    svg("title"));
  row.querySelector(".advice-name").textContent = `${item.name}${item.is_advised ? " ★" : ""}`;
  row.querySelector(".advice-value").textContent = points(item.share);
  row.querySelector("title").textContent = `${said}. Click to use it.`;
  row.addEventListener("click", () => choose(item));
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    choose(item);
  });
  return row;
}

/** Draw findings of one way to compare images. */
export function drawAdvice(items, phi, choose) {
  const scale = makeScale(items);
  const height = TOP + items.length * ROW + 2;
  const figure = svg("svg", { class: "advice", viewBox: `0 0 ${WIDTH} ${height}`, role: "radiogroup", "aria-label": "Effect on the accuracy of ignoring something" },
    ...items.map((item, k) => drawRow(item, k, scale, item.text === phi, choose)));
  return figure;
}

/**
 * Add the section "What does not matter".
 * @param {HTMLElement} root
 * @param {object} app
 * @param {{usePhi: (text: string) => void}} actions
 */
export function mountAdvice(root, app, actions) {
  const button = h("button", { type: "button", class: "button small", id: "advise", text: "Find out what does not matter", title: TITLE,
    on: { click: () => startJob(app, "advise") } });
  const progress = h("div", { class: "job-line", "aria-live": "polite", hidden: true });
  const shown = h("div", { class: "stack", id: "advice" });
  root.append(section("image-advice", "What does not matter", [
    h("p", { class: "hint", text: "Should a turned, shifted or darker image be the same to the model? This tries it on your labelled images." }),
    h("div", { class: "buttons" }, button), progress, shown]));
  return {
    show(state, canTrain) {
      const job = latestJob(state.jobs, ["advise"]);
      const isRunning = job?.state === "running";
      button.disabled = isRunning || !canTrain;
      button.title = canTrain ? TITLE : "Label two or more images of two classes first";
      progress.hidden = !isRunning;
      if (isRunning) return progress.replaceChildren(...progressLine(app, job));
      if (job?.state === "failed") shown.replaceChildren(h("p", { class: "problem", text: job.text }));
      else if (job?.result) shown.replaceChildren(...describe(job.result, state.settings.image_invariant_to ?? null, actions));
    },
  };
}

function describe(result, phi, actions) {
  // The better way to compare images comes first; the other one can be opened.
  const views = Object.keys(result.plain).sort((a, b) => (b === result.view) - (a === result.view));
  const figures = views.flatMap((view) => {
    const items = result.items.filter((item) => item.view === view);
    if (!items.length) return [];
    const shown = [h("p", { class: "hint", text: `Compared as ${view}; ignoring nothing, ${(100 * result.plain[view]).toFixed(1)} % are correct. Points gained or lost, with 95 % intervals:` }),
      drawAdvice(items, phi, (item) => actions.usePhi(item.text))];
    return view === result.view ? shown : [h("details", { class: "why" }, h("summary", { text: `Compared as ${view}` }), ...shown)];
  });
  return [h("p", {}, h("strong", { text: result.text })), ...figures, h("p", { class: "hint", text: "Click a row to use it for training." }),
    h("details", { class: "why" }, h("summary", { text: "How far to trust this" }), h("ul", { class: "plan-parts" }, ...result.reasons.map((text) => h("li", { text }))))];
}
