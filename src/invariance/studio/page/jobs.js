/** Exports and imports: a menu, running jobs with their progress, results with a command line and a file. */

import { h, iconButton } from "./dom.js";
import { icon } from "./icons.js";

/** What can be exported, per mode. */
const EXPORTS = {
  pixels: [
    { kind: "export-model", text: "Model", note: "To segment more images later" },
    { kind: "export-masks", text: "Masks", note: "The class of every pixel, for all images" },
    { kind: "export-probabilities", text: "Probabilities", note: "One channel per class, as OME-TIFF", options: [["float32", "float32"], ["uint8", "8 bit"]] },
    { kind: "export-scribbles", text: "Scribbles", note: "Your strokes as masks, 0 elsewhere" },
    { kind: "export-report", text: "Report", note: "Scores, examples and settings on one page" },
  ],
  images: [
    { kind: "export-classifier", text: "Model", note: "To classify more images later" },
    { kind: "export-table", text: "Table", note: "Labels and predictions of all images, as CSV" },
  ],
};
const NAMES = {
  "export-model": "Model", "export-masks": "Masks", "export-probabilities": "Probabilities", "export-scribbles": "Scribbles", "export-report": "Report",
  "export-classifier": "Model", "export-table": "Table", "import-masks": "Import of masks", "import-folders": "Folders as classes",
  effects: "Effects of the switches", train: "Training", predict: "Prediction", advise: "Advice",
};
/** Jobs whose result other parts of the page show. */
const QUIET = new Set(["effects", "train", "predict", "advise", "import-folders"]);
const MAX_LISTED = 8;

/** Load a style sheet of a part that is not always on the page; the promise ends when it applies. */
export function loadStyle(name) {
  return new Promise((resolve) => {
    document.head.append(h("link", { rel: "stylesheet", href: `/page/${name}`, on: { load: resolve, error: resolve } }));
  });
}

/** Start a job; what goes wrong at once is said at once. */
export function startJob(app, kind, fields = {}) {
  return app.socket.request("job.start", { kind, ...fields }).catch(app.toastError);
}

/** @returns {?object} the newest event of the newest job of some kinds */
export function latestJob(jobs, kinds) {
  const found = Object.values(jobs).filter((job) => kinds.includes(job.kind));
  return found.reduce((last, job) => (last === null || job.job > last.job ? job : last), null);
}

/** A button that copies a text. */
export function copyButton(app, text, label) {
  return iconButton({ icon: icon("check", 13), label, className: "small", text: "Copy", run: async () => {
    try {
      await navigator.clipboard.writeText(text);
      app.toast("Copied.");
    } catch {
      app.toast("The browser does not allow copying. Select the text instead.", "error");
    }
  } });
}

/**
 * Add the button and its panel.
 * @param {HTMLElement} root
 * @param {object} app
 */
export function mount(root, app) {
  loadStyle("jobs.css");
  const badge = h("span", { class: "jobs-badge", hidden: true });
  const button = h("button", { type: "button", class: "button", id: "jobs-button", "aria-expanded": "false", "aria-controls": "jobs-panel", title: "Export the model, masks and more; import masks",
    on: { click: () => toggle(panel.hidden) } }, h("span", { text: "Export" }), badge);
  const exportsList = h("div", { class: "export-list" });
  const list = h("div", { class: "job-list", "aria-live": "polite" });
  const panel = h("div", { class: "jobs-panel", id: "jobs-panel", role: "dialog", "aria-label": "Export and import", hidden: true },
    h("div", { class: "dialog-head" }, h("h2", { text: "Export and import" }), iconButton({ icon: icon("close", 14), label: "Close", className: "quiet small", run: () => toggle(false) })),
    exportsList, makeImport(app), h("h3", { class: "small-head", text: "Done so far" }), list);
  root.append(button, panel);

  function toggle(isOpen) {
    panel.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) (panel.querySelector(".export-list button") ?? panel).focus();
    else if (panel.contains(document.activeElement) || document.activeElement === document.body) button.focus();
  }
  panel.addEventListener("keydown", (event) => {
    event.stopPropagation(); // no brush is chosen while one types here
    if (event.key === "Escape") {
      toggle(false);
      button.focus();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) toggle(false); // a button that had the focus may be gone
  });
  document.addEventListener("pointerdown", (event) => {
    if (!panel.hidden && !root.contains(event.target)) toggle(false);
  });
  app.store.on(["mode"], ({ mode }) => {
    exportsList.replaceChildren(...(EXPORTS[mode] ?? []).map((item) => makeExport(app, item)));
    panel.querySelector(".import").hidden = mode !== "pixels";
  });
  const told = new Map();
  /** Elements by the event that they show, so that nothing that is open closes. */
  let kept = new Map();
  app.store.on(["jobs"], ({ jobs }) => {
    const shown = Object.values(jobs).sort((a, b) => b.job - a.job);
    const nRunning = shown.filter((job) => job.state === "running").length;
    badge.hidden = nRunning === 0;
    badge.textContent = String(nRunning);
    kept = new Map(shown.slice(0, MAX_LISTED).map((job) => [job, kept.get(job) ?? makeJob(app, job)]));
    for (const child of [...list.children]) if (![...kept.values()].includes(child)) child.remove();
    [...kept.values()].forEach((element, k) => list.children[k] === element || list.insertBefore(element, list.children[k] ?? null));
    if (!shown.length) list.append(h("p", { class: "hint", text: "Nothing was exported yet." }));
    shown.forEach((job) => tell(app, job, told, panel.hidden, () => toggle(true)));
  });
}

/** Say once that a job ended, unless the panel shows it. */
function tell(app, job, told, isHidden, open) {
  const before = told.get(job.job);
  told.set(job.job, job.state);
  if (before !== "running" || job.state === "running" || !isHidden) return;
  if (job.state === "failed") app.toast(job.text, "error");
  else if (job.state === "done" && !QUIET.has(job.kind)) app.toast(`${NAMES[job.kind] ?? job.kind}: ${job.text}`, "info", { text: "Show", run: open });
}

function makeExport(app, { kind, text, note, options }) {
  const select = options && h("select", { class: "select", "aria-label": `Numbers of ${text}` }, ...options.map(([value, name]) => h("option", { value, text: name })));
  return h("div", { class: "export-row" },
    h("button", { type: "button", class: "button", data: { kind }, on: { click: () => startJob(app, kind, select ? { dtype: select.value } : {}) } }, h("span", { text })),
    h("span", { class: "hint", text: note }), select ?? null);
}

function makeImport(app) {
  const path = h("input", { class: "field", id: "import-path", placeholder: "name of a folder", "aria-describedby": "import-hint", maxlength: 500, spellcheck: "false" });
  const layer = h("select", { class: "select", "aria-label": "What the masks are" }, h("option", { value: "labels", text: "as strokes" }), h("option", { value: "final", text: "as final masks" }));
  return h("form", { class: "import", on: { submit: (event) => {
    event.preventDefault();
    startJob(app, "import-masks", { path: path.value, layer: layer.value });
  } } },
    h("label", { for: "import-path", class: "small-head", text: "Import masks" }),
    h("div", { class: "import-row" }, path, layer, h("button", { type: "submit", class: "button", id: "import-masks", text: "Import" })),
    h("p", { class: "hint", id: "import-hint", text: "A file or folder inside the opened folder, with the names of the images. Pixels are class numbers, 0 means none." }));
}

function makeJob(app, job) {
  const head = h("div", { class: "job-head" }, h("strong", { text: NAMES[job.kind] ?? job.kind }));
  const element = h("div", { class: `job is-${job.state}`, data: { job: job.job, kind: job.kind, state: job.state } }, head);
  if (job.state === "running") {
    head.append(iconButton({ icon: icon("close", 13), label: `Cancel ${NAMES[job.kind] ?? job.kind}`, className: "quiet small", run: () => app.socket.request("job.cancel", { job: job.job }).catch(app.toastError) }));
    element.append(h("progress", { "aria-label": job.text, ...(job.done === null ? {} : { value: job.done, max: 1 }) }));
  }
  element.append(h("p", { class: job.state === "failed" ? "problem" : "hint", text: job.text }));
  if (job.state === "done" && job.result) element.append(...describeResult(app, job));
  return element;
}

function describeResult(app, { job, result }) {
  const parts = [];
  if (result.path) {
    const file = result.path.split(/[\\/]/).at(-1);
    parts.push(h("div", { class: "result-row" }, h("code", { class: "path", text: result.path, title: result.path }),
      result.file ? h("a", { class: "button small", href: `/files/${job}`, download: file, text: "Download" }) : copyButton(app, result.path, "Copy the path")));
  }
  if (result.command) {
    parts.push(h("details", {}, h("summary", { text: "Repeat the training without the studio" }),
      h("div", { class: "result-row" }, h("code", { class: "command", text: result.command }), copyButton(app, result.command, "Copy the command"))));
  }
  return parts;
}
