/** What does not matter: switches, and what each of them does to the held-out score once that was measured. */

import { h, section } from "./dom.js";
import { toastError } from "./toast.js";

const SWITCHES = [
  { name: "rotations", text: "Rotation", hint: "Objects may lie in any direction" },
  { name: "reflections", text: "Mirroring", hint: "Left and right may be swapped" },
  { name: "scales", text: "Size", hint: "Objects may be larger or smaller" },
  { name: "light", text: "Light", hint: "Images may be brighter or darker" },
];

/** What the server takes as long as nobody has chosen. */
const DEFAULT = ["rotations"];

/** The last effects that a job has measured, by switch. */
function latestEffects(jobs) {
  const done = Object.values(jobs).filter((job) => job.kind === "effects" && job.state === "done" && job.result);
  return done.at(-1)?.result ?? null;
}

function effectText(item) {
  if (!item) return "";
  const points = 100 * item.share;
  return `${points >= 0 ? "+" : "−"}${Math.abs(points).toFixed(1)}`;
}

function effectTone(item) {
  if (!item || (item.low <= 0 && item.high >= 0)) return "even";
  return item.share > 0 ? "better" : "worse";
}

function toggle(app, name) {
  const now = new Set(app.store.state.settings.invariant_to ?? DEFAULT);
  if (!now.delete(name)) now.add(name);
  const invariant_to = SWITCHES.map((item) => item.name).filter((item) => now.has(item));
  app.socket.request("settings", { invariant_to }).catch(toastError);
}

function makeRow(app, { name, text, hint }) {
  const id = `switch-${name}`;
  const effect = h("span", { class: "effect" });
  const button = h("button", { type: "button", class: "switch wide", role: "switch", id, on: { click: () => toggle(app, name) } },
    h("span", { class: "switch-knob" }), h("span", { class: "switch-text" }, h("span", { text }), h("span", { class: "note", text: hint })), effect);
  const show = (state, effects) => {
    button.setAttribute("aria-checked", String((state.settings.invariant_to ?? DEFAULT).includes(name)));
    const item = effects?.items?.find((other) => other.switch === name);
    effect.textContent = effectText(item);
    effect.dataset.tone = effectTone(item);
    effect.title = item ? `Held-out accuracy ${effectText(item)} points (between ${(100 * item.low).toFixed(1)} and ${(100 * item.high).toFixed(1)}): ${item.text}` : "";
  };
  return { element: button, show };
}

/** Add the section to the side bar. */
export function mountSwitches(root, app) {
  const rows = SWITCHES.map((item) => makeRow(app, item));
  const measure = h("button", { type: "button", class: "button small", id: "measure-effects", text: "Measure the effects", title: "Try each of them on your strokes: does the score rise or fall?",
    on: { click: () => app.socket.request("job.start", { kind: "effects" }).catch(toastError) } });
  const said = h("p", { class: "hint", "aria-live": "polite" });
  root.append(section("switches", "What does not matter", [
    h("p", { class: "hint", text: "Switch on differences that the model should ignore." }),
    ...rows.map((row) => row.element), said, h("div", { class: "buttons" }, measure),
  ], { isOpen: false }));
  app.store.on(["settings", "jobs"], (state) => {
    const effects = latestEffects(state.jobs);
    const running = Object.values(state.jobs).find((job) => job.kind === "effects" && job.state === "running");
    rows.forEach((row) => row.show(state, effects));
    measure.disabled = Boolean(running);
    measure.textContent = running ? `Measuring… ${running.done ? `${Math.round(100 * running.done)} %` : ""}` : "Measure the effects";
    said.textContent = running ? (running.text ?? "") : (effects?.text ?? "");
    said.hidden = !said.textContent;
  });
}
