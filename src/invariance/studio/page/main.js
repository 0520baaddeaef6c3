/** Boot: make the parts, connect them, open the project. */

import { byId, h, iconButton } from "./dom.js";
import { icon } from "./icons.js";
import { ImageTiles } from "./image_tiles.js";
import { mountClasses } from "./classes.js";
import { mountFinal } from "./final.js";
import { mountGuide } from "./guide.js";
import { mountHelp } from "./help.js";
import { mountImages } from "./images_list.js";
import { mountKeys } from "./keys.js";
import { mountLayers } from "./layers.js";
import { Marks } from "./marks.js";
import { mountNavigation, openImage, sendView } from "./navigation.js";
import { mountPages, reopenPages } from "./pages.js";
import { Painter } from "./painter.js";
import { Predictions } from "./predictions.js";
import { mountReadout } from "./readout.js";
import { mountScores } from "./scores.js";
import { mountSlices } from "./slices.js";
import { Socket } from "./socket.js";
import { INITIAL, createStore, currentImage } from "./state.js";
import { mountStatus } from "./status.js";
import { mountSuggest } from "./suggest.js";
import { mountSwitches } from "./invariance_switches.js";
import { exposeForTests } from "./test_hook.js";
import { mountTheme } from "./theme.js";
import { toast, toastError } from "./toast.js";
import { mountToolbar } from "./toolbar.js";
import { Tools } from "./tools.js";
import { Viewer } from "./viewer.js";

/** What the server sends as `state`; other fields are the page's own. */
const SERVER_KEYS = ["folder", "project", "connection", "images", "classes", "settings", "can_undo", "can_redo", "version", "is_live"];

/**
 * The parts that modules share. `image_mode.js` and `jobs.js` export `mount(root, app)` and use of it:
 * `app.store` (`state`, `set`, `on(keys, run)`), `app.socket` (`request(what, fields)`, `on(event, run)`),
 * `app.toast(sentence, "info"|"error")`, `app.toastError(error)` and `app.setMode("pixels"|"images")`.
 * @typedef {object} App
 */

/** @type {App} */
const app = {
  store: createStore(INITIAL), pages: new Map(), predictions: new Predictions(), paintedActions: new Set(), toast, toastError, setMode,
};

/** Take what the server says about the project. */
function takeState(message) {
  const state = message.state ?? message;
  const patch = Object.fromEntries(SERVER_KEYS.filter((key) => key in state).map((key) => [key, state[key]]));
  app.store.set({ ...patch, is_loaded: true });
  chooseWhatIsThere(state);
}

/** Keep the chosen image, class and mode if they exist, else choose the first. */
function chooseWhatIsThere(message) {
  const { state } = app.store;
  if (state.mode === null) setMode(message.mode_hint ?? "pixels");
  if (!currentImage(state)) {
    const first = state.images.find((image) => !image.error) ?? state.images[0];
    if (first) openImage(app, first.id);
  }
  const numbers = state.classes.pixels.map((item) => item.number);
  if (numbers.length && !numbers.includes(state.class_number)) app.store.set({ class_number: numbers[0] });
}

/** The line opened, for the first time or again. */
async function open() {
  try {
    takeState(await app.socket.request("open"));
  } catch (error) {
    if (app.socket.isOpen) toastError(error);
    return;
  }
  app.store.set({ line: "open" });
  app.tiles.retry();
  reopenPages(app);
  app.painter.send();
  app.viewer.invalidate();
  sendView(app);
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  app.socket = new Socket(`${scheme}://${location.host}/socket`, {
    onLine: (line) => (line === "open" ? open() : app.store.set({ line })),
  });
  app.socket.on("state", takeState);
  app.socket.on("status", (event) => {
    const seconds = event.seconds ?? app.store.state.status.seconds; // of the last update, until the next
    app.store.set({ status: { ...event, seconds } });
  });
  app.socket.on("live", ({ is_live }) => app.store.set({ is_live }));
  app.socket.on("scores", (event) => app.store.set({ scores: event }));
  // Modules that are loaded later would miss what comes right after the line opens.
  app.socket.on("image.predictions", (event) => app.store.set({ image_predictions: event }));
  app.socket.on("image.labels", ({ labels, can_undo, can_redo }) => app.store.set({ image_labels: labels, can_undo, can_redo }));
  app.socket.on("job", (event) => app.store.set({ jobs: { ...app.store.state.jobs, [event.job]: event } }));
  app.socket.on("frame:prediction", (header, payload) => app.viewer.markFresh(app.predictions.receive(header, payload)));
}

// ------------------------------------------------------------ the two modes

const mounted = new Set();

/** Show one of the two modes; image mode is loaded when it is shown first. */
function setMode(mode) {
  app.store.set({ mode });
  byId("pixel-mode").hidden = mode !== "pixels";
  byId("image-mode").hidden = mode !== "images";
  if (mode === "images") mountOnce("image_mode.js", byId("image-mode"), "The image mode could not be loaded.");
  else app.viewer.resize();
}

/** Load a module that another part of the page is made of. */
async function mountOnce(file, root, complaint) {
  if (mounted.has(file)) return;
  mounted.add(file);
  try {
    (await import(`./${file}`)).mount(root, app);
  } catch (error) {
    mounted.delete(file);
    console.warn(file, error);
    if (complaint) root.replaceChildren(h("p", { class: "empty", text: `${complaint} Load the page again.` }));
  }
}

function mountModes() {
  const tabs = [["pixels", "Paint pixels", "Paint on images; the rest is predicted"], ["images", "Sort images", "Give whole images a class; the rest is predicted"]].map(([mode, text, title]) =>
    h("button", { type: "button", role: "tab", id: `mode-${mode}`, "aria-controls": `${mode.slice(0, -1)}-mode`, title, text,
      on: { click: () => setMode(mode) } }));
  byId("modes").append(...tabs);
  byId("modes").addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.stopPropagation();
    const other = tabs[1 - tabs.indexOf(document.activeElement)];
    other.click();
    other.focus();
  });
  app.store.on(["mode"], ({ mode }) => tabs.forEach((tab) => {
    tab.setAttribute("aria-selected", String(tab.id === `mode-${mode}`));
    tab.tabIndex = tab.id === `mode-${mode}` ? 0 : -1;
  }));
}

// ------------------------------------------------------------ start

/** Buttons do not take the focus from the image when they are clicked, so that Space moves it and does not press them. */
function keepFocus(event) {
  if (event.target.closest("#pixel-mode button, #pixel-mode summary, #pixel-mode [role=radio]:not(input)")) {
    if (!event.target.closest("input")) event.preventDefault();
  }
}

function boot() {
  document.addEventListener("mousedown", keepFocus);
  const canvas = /** @type {HTMLCanvasElement} */ (byId("canvas"));
  connect();
  app.tiles = new ImageTiles(() => app.viewer.invalidate());
  app.viewer = new Viewer(canvas, app);
  app.marks = new Marks(byId("marks"), app);
  app.painter = new Painter(app);
  app.tools = new Tools(canvas, app);
  mountModes();
  mountPages(app);
  mountNavigation(app);
  mountStatus(byId("status"), app);
  mountTheme(byId("top-buttons"));
  const help = mountHelp(byId("help"), app);
  byId("top-buttons").append(iconButton({ icon: icon("help"), label: "Keys and help", key: "?", className: "quiet", run: help.open }));
  mountToolbar(byId("toolbar"), app);
  mountImages(byId("images"), app);
  mountSlices(byId("slices"), app);
  mountReadout(byId("readout"), app);
  const side = byId("side");
  mountClasses(side, app);
  mountLayers(side, app);
  mountScores(side, app);
  mountSwitches(side, app);
  mountFinal(side, app);
  mountSuggest(app);
  mountGuide(byId("guide"), app);
  mountKeys(app, help);
  app.store.on(["folder"], ({ folder }) => {
    byId("folder").textContent = folder.split(/[\\/]/).filter(Boolean).at(-1) ?? "";
    byId("folder").title = folder;
    document.title = folder ? `${byId("folder").textContent} · invariance studio` : "invariance studio";
  });
  mountOnce("jobs.js", byId("jobs"), "");
  exposeForTests(app);
}

boot();
