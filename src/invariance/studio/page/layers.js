/** What is shown over the image, how strongly, and how the image itself is shown. */

import { debounce, h, section, segmented, slider } from "./dom.js";
import { currentImage } from "./state.js";

const percent = (value) => `${Math.round(100 * value)} %`;

export const LAYERS = [
  { value: "segmentation", text: "Segmentation", title: "The most probable class", key: "s" },
  { value: "probability", text: "Probability", title: "How probable the chosen class is", key: "p" },
  { value: "uncertainty", text: "Uncertainty", title: "Where the model is unsure", key: "u" },
];

/** Show a layer, or none if it was shown. */
export function toggleLayer(app, layer) {
  app.store.set({ layer: app.store.state.layer === layer ? "none" : layer });
}

const HINTS = {
  segmentation: "Each pixel has the colour of its most probable class.",
  probability: "The stronger the colour, the more probable the chosen class.",
  uncertainty: "Bright where the model is unsure: paint there.",
  none: "Only the image and your strokes.",
};

/** A slider of an opacity with a box that shows or hides what it is about. */
function opacityRow(app, { id, label, key, box }) {
  const made = slider({ id, label, min: 0.05, max: 1, step: 0.05, value: app.store.state[key], format: percent, run: (value) => app.store.set({ [key]: value }) });
  app.store.on([key], (state) => made.show(state[key]));
  made.element.classList.add("has-check");
  made.input.title = "How strongly it covers the image";
  made.element.append(box);
  return made.element;
}

function overlayControls(app) {
  let last = app.store.state.layer;
  const layer = segmented({ label: "Prediction", name: "layer", options: LAYERS, chosen: last, run: (value) => app.store.set({ layer: value }) });
  const hint = h("p", { class: "hint" });
  const showsPrediction = h("input", { type: "checkbox", id: "shows-prediction", "aria-label": "Show the prediction", title: "Show the prediction",
    on: { change: () => app.store.set({ layer: showsPrediction.checked ? last : "none" }) } });
  const showsLabels = h("input", { type: "checkbox", id: "shows-labels", "aria-keyshortcuts": "t", "aria-label": "Show your strokes", title: "Show your strokes (t)",
    on: { change: () => app.store.set({ shows_labels: showsLabels.checked }) } });
  app.store.on(["layer", "shows_labels"], (state) => {
    if (state.layer !== "none") last = state.layer;
    layer.choose(state.layer);
    hint.textContent = HINTS[state.layer];
    showsPrediction.checked = state.layer !== "none";
    showsLabels.checked = state.shows_labels;
  });
  return [layer.element, hint,
    opacityRow(app, { id: "overlay-opacity", label: "Prediction", key: "overlay_opacity", box: showsPrediction }),
    opacityRow(app, { id: "label-opacity", label: "Strokes", key: "label_opacity", box: showsLabels })];
}

function imageControls(app) {
  const set = debounce((patch) => app.store.set(patch), 60);
  const black = slider({ id: "low", label: "Black", min: 0, max: 1, step: 0.01, value: 0, format: percent,
    run: (low) => set({ low, high: Math.max(app.store.state.high, round(low + 0.01)) }) });
  const white = slider({ id: "high", label: "White", min: 0, max: 1, step: 0.01, value: 1, format: percent,
    run: (high) => set({ high, low: Math.min(app.store.state.low, round(high - 0.01)) }) });
  app.store.on(["low", "high"], (state) => {
    black.show(state.low);
    white.show(state.high);
  });
  const channel = h("select", { id: "channel", on: { change: () => app.store.set({ channel: channel.value }) } });
  const row = h("div", { class: "slider" }, h("label", { for: "channel", text: "Channel" }), channel);
  app.store.on(["image", "images", "channel"], (state) => {
    const n = currentImage(state)?.channels ?? 1;
    row.hidden = n < 2;
    const names = n === 3 ? ["Red", "Green", "Blue"] : Array.from({ length: n }, (_, k) => `Channel ${k + 1}`);
    channel.replaceChildren(h("option", { value: "all", text: "All" }), ...names.map((text, k) => h("option", { value: String(k), text })));
    channel.value = state.channel;
  });
  const auto = h("button", { type: "button", class: "button small", text: "Automatic", id: "auto-contrast", title: "Use the full range of greys of this image", on: { click: () => stretch(app) } });
  const reset = h("button", { type: "button", class: "button quiet small", text: "Reset", on: { click: () => app.store.set({ low: 0, high: 1 }) } });
  return [black.element, white.element, row, h("div", { class: "buttons" }, auto, reset)];
}

const round = (value) => Math.min(Math.max(Math.round(100 * value) / 100, 0), 1);

/** Show the darkest and brightest 0.5 % of the image as black and white. */
async function stretch(app) {
  const { image } = app.store.state;
  const blob = await fetch(`/thumbnails/${image}?side=160`).then((reply) => reply.blob());
  const bitmap = await createImageBitmap(blob);
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const values = Uint8Array.from({ length: data.length / 4 }, (_, k) => Math.max(data[4 * k], data[4 * k + 1], data[4 * k + 2])).sort();
  const at = (share) => values[Math.round(share * (values.length - 1))] / 255;
  const low = round(at(0.005));
  app.store.set({ low, high: Math.max(round(at(0.995)), round(low + 0.02)) });
}

/** Add the sections to the side bar. */
export function mountLayers(root, app) {
  root.append(section("layers", "What is shown", overlayControls(app)), section("contrast", "Contrast", imageControls(app), { isOpen: false }));
}
