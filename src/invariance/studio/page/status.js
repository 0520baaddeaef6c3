/** The line of the page and of the model in words: saved or not, predicting or up to date, and how long it took. */

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** An update that took less had nothing to do. */
const MIN_SECONDS = 0.05;

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** What is said, its tone, and what is said on hovering. */
export function describeStatus({ line, n_unsaved, status, is_loaded, is_live, mode }, isRefused) {
  if (line === "lost" || (line === "connecting" && is_loaded)) {
    const unsaved = n_unsaved ? ` ${plural(n_unsaved, "stroke")} not saved yet.` : "";
    if (isRefused) return { tone: "bad", text: "Open the new address", title: `The studio was started again. Open the address that it printed.${unsaved}` };
    return { tone: "bad", text: `Is the studio closed?${unsaved}`, title: "The command `invariance studio` does not answer. Start it again; strokes that are not saved wait here." };
  }
  if (line === "connecting") return { tone: "busy", text: "Connecting…", title: "" };
  if (n_unsaved) return { tone: "busy", text: "Saving…", title: `${plural(n_unsaved, "stroke")} on the way to the disk` };
  if (mode === "images") return { tone: "good", text: "Saved", title: "All labels are saved." };
  if (status.busy) return { tone: "busy", text: `${status.text || "Predicting"}…`, title: "The last prediction stays until the new one is there" };
  if (status.text) return { tone: "good", text: `Saved · ${status.text.replace(/\.$/, "")}`, title: `All strokes are saved. ${status.text}` };
  if (!is_live) return { tone: "good", text: "Saved · Live is off: press r to predict", title: "All strokes are saved. The prediction changes when you press “Predict now”, or switch Live on." };
  const seconds = status.seconds >= MIN_SECONDS ? `${status.seconds.toFixed(2)} s` : "";
  const stage = { instant: "first prediction", refined: "best prediction" }[status.stage] ?? "";
  const meaning = { instant: " A better prediction is being computed.", refined: "" }[status.stage] ?? "";
  const title = `All strokes are saved.${meaning}${seconds ? ` The last update took ${seconds} from the end of the stroke to the last visible part of the image.` : ""}`;
  return { tone: "good", text: ["Saved", stage, seconds].filter(Boolean).join(" · "), title };
}

/** Keep the status up to date. */
export function mountStatus(root, app) {
  const dot = h("span", { class: "dot" });
  const text = h("span", { class: "status-text" });
  root.append(dot, text);
  let isRefused = false;
  const show = (state) => {
    const said = describeStatus(state, isRefused);
    root.dataset.tone = said.tone;
    root.title = said.title;
    if (text.textContent !== said.text) text.textContent = said.text;
    dot.replaceChildren(said.tone === "bad" ? icon("warning", 14) : "");
  };
  app.store.on(["line", "n_unsaved", "status", "is_loaded", "is_live", "mode"], show);
  // If the server answers but refuses us, it was started again and wants its new address.
  const ask = async () => {
    const isLost = app.store.state.line === "lost";
    isRefused = isLost && (await fetch("/", { cache: "no-store" }).then((reply) => reply.status === 403, () => false));
    show(app.store.state);
  };
  app.store.on(["line"], ({ line }) => line === "lost" && ask());
  setInterval(() => app.store.state.line === "lost" && ask(), 3000);
}
