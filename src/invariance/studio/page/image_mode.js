/** The second mode: whole images in a grid, labelled by keys or by dragging, learned from, sorted by mistakes and doubt. */

import { h, iconButton, segmented } from "./dom.js";
import { Grid } from "./grid.js";
import { icon } from "./icons.js";
import { mountAdvice } from "./image_mode_advice.js";
import { mountImageClasses } from "./image_mode_classes.js";
import { mountLearn } from "./image_mode_learn.js";
import { SORTS, arrange, classFolders, makeItems, missingLabels } from "./image_mode_order.js";
import { mountPlans } from "./image_mode_plans.js";
import { loadStyle, startJob } from "./jobs.js";
import { openImage } from "./navigation.js";

const SIDES = [{ value: "96", text: "S", title: "Small images" }, { value: "136", text: "M", title: "Medium images" }, { value: "216", text: "L", title: "Large images" }];
const FILTER_TEXTS = [["all", "All images"], ["unlabelled", "Without a label"], ["labelled", "With a label"], ["mistakes", "Mistakes only"]];

class ImageMode {
  constructor(root, app) {
    this.app = app;
    this.sort = "name";
    this.filter = "all";
    this.isOffered = true; // whether sub-folders are offered as classes
    this.items = [];
    this.labels = {};
    this.build(root);
    window.addEventListener("keydown", (event) => this.key(event));
    app.store.on(["images"], ({ images }) => {
      this.labels = Object.fromEntries(images.filter((image) => image.label).map((image) => [image.id, image.label]));
    });
    app.store.on(["image_labels"], ({ image_labels }) => {
      if (image_labels) this.labels = image_labels;
    });
    app.store.on(["images", "classes", "image_labels", "image_predictions", "settings", "jobs", "can_undo", "can_redo", "mode"], () => this.show());
  }

  // ------------------------------------------------------------ parts

  build(root) {
    const left = h("aside", { class: "image-classes", "aria-label": "Classes" });
    const stage = h("section", { class: "grid-stage", "aria-label": "Images" });
    const side = h("aside", { class: "side", "aria-label": "Learning" });
    root.replaceChildren(left, stage, side);
    this.classes = mountImageClasses(left, this.app, { assign: (ids, number) => this.assign(ids, number), show: (number) => this.setFilter(`class:${number}`) });
    this.buildToolbar(stage);
    this.offer = h("div", { class: "offer", hidden: true });
    this.empty = h("p", { class: "empty", hidden: true });
    stage.append(this.offer, this.empty);
    this.grid = new Grid(stage, { onSelect: (ids) => this.showSelection(ids), onOpen: (id) => this.open(id) });
    this.footer = h("footer", { class: "grid-footer hint", "aria-live": "polite" });
    stage.append(this.footer);
    this.learn = mountLearn(side, this.app, {
      train: () => this.train(), sortBy: (sort) => this.setSort(sort), clearPhi: () => this.usePhi(null), accept: (ids, low) => this.accept(ids, low),
    });
    this.advice = mountAdvice(side, this.app, { usePhi: (text) => this.usePhi(text) });
    this.plans = mountPlans(side, this.app);
  }

  buildToolbar(stage) {
    this.sorts = segmented({ label: "Sort by", name: "image-sort", options: SORTS, chosen: this.sort, run: (value) => this.setSort(value) });
    this.filters = h("select", { class: "select", "aria-label": "Which images are shown", on: { change: () => this.setFilter(this.filters.value) } });
    const sides = segmented({ label: "Size of the images", name: "image-side", options: SIDES, chosen: "136", run: (value) => this.grid.resize(Number(value)) });
    const travel = (what) => this.app.socket.request(what).catch(this.app.toastError);
    this.undo = iconButton({ icon: icon("undo"), label: "Undo", key: "Ctrl+Z", className: "quiet", run: () => travel("undo") });
    this.redo = iconButton({ icon: icon("redo"), label: "Redo", key: "Ctrl+Y", className: "quiet", run: () => travel("redo") });
    stage.append(h("div", { class: "toolbar", role: "toolbar", "aria-label": "Sorting and size" },
      h("span", { class: "muted", text: "Sort by" }), this.sorts.element, this.filters, h("span", { class: "spring" }), this.undo, this.redo, sides.element));
  }

  // ------------------------------------------------------------ drawing

  show() {
    const { state } = this.app.store;
    if (state.mode !== "images") return;
    const classes = state.classes.images;
    const predictions = state.image_predictions ?? null;
    this.items = makeItems(state.images, this.labels, predictions);
    this.showFilters(classes);
    this.arranged = arrange(this.items, this.sort, this.filter);
    this.grid.show(this.arranged, classes);
    this.classes.show(classes, this.items);
    this.learn.show(state, this.items, predictions);
    this.advice.show(state, missingLabels(this.items, classes) === null);
    this.plans.show();
    this.showOffer(state);
    this.undo.disabled = !state.can_undo;
    this.redo.disabled = !state.can_redo;
    this.empty.hidden = this.arranged.length > 0 || !state.is_loaded;
    this.empty.textContent = state.images.length ? "No image is like this. Choose “All images” above." : "No images in this folder.";
    this.showSelection([...this.grid.selected]);
  }

  showFilters(classes) {
    const wanted = [...FILTER_TEXTS, ...classes.map(({ number, name }) => [`class:${number}`, `Class “${name}”`])];
    if (!wanted.some(([value]) => value === this.filter)) this.filter = "all";
    if (JSON.stringify(wanted) !== this.filterTexts) {
      this.filterTexts = JSON.stringify(wanted);
      this.filters.replaceChildren(...wanted.map(([value, text]) => h("option", { value, text })));
    }
    this.filters.value = this.filter;
  }

  /** Offer sub-folders as classes as long as nothing has a label. */
  showOffer(state) {
    const folders = this.isOffered && !Object.keys(this.labels).length && !state.classes.images.length ? classFolders(state.images) : [];
    this.offer.hidden = folders.length === 0;
    if (!folders.length) return;
    const names = folders.slice(0, 4).map((name) => `“${name}”`).join(", ") + (folders.length > 4 ? ", …" : "");
    this.offer.replaceChildren(h("p", { text: `The images are in ${folders.length} sub-folders: ${names}. Use these as classes?` }),
      h("button", { type: "button", class: "button primary small", id: "use-folders", text: "Use as classes", on: { click: () => startJob(this.app, "import-folders") } }),
      h("button", { type: "button", class: "button small", text: "No", on: { click: () => { this.isOffered = false; this.show(); } } }));
  }

  showSelection(ids) {
    const nLabelled = this.items.filter((item) => item.label).length;
    const nShown = this.arranged?.length ?? 0;
    const selected = ids.length ? `${ids.length} selected. ` : "";
    const how = ids.length ? "Press the number of a class, or drag them to a class." : "Click an image and press the number of its class; or drag images to a class.";
    this.footer.textContent = `${nShown} shown, ${nLabelled} of ${this.items.length} labelled. ${selected}${how}`;
  }

  setSort(sort) {
    this.sort = sort;
    this.sorts.choose(sort);
    this.grid.element.scrollTop = 0;
    this.grid.focused = 0;
    this.grid.select([]);
    this.grid.items = [];
    this.show();
  }

  setFilter(filter) {
    this.filter = filter;
    this.grid.element.scrollTop = 0;
    this.show();
  }

  // ------------------------------------------------------------ doing

  /** Give images a class; null means the selected ones. */
  async assign(ids, number) {
    const chosen = ids ?? [...this.grid.selected];
    if (!chosen.length) return this.app.toast("No image is selected. Click one, or drag images to a class.");
    try {
      await this.app.socket.request("image.label", { images: chosen, class: number });
    } catch (error) {
      this.app.toastError(error);
    }
  }

  async accept(ids, low) {
    try {
      await this.app.socket.request("image.accept", { images: ids, ...(low === null ? {} : { min_certainty: low }) });
      this.app.toast("Predictions are labels now.", "info", { text: "Undo", run: () => this.app.socket.request("undo").catch(this.app.toastError) });
    } catch (error) {
      this.app.toastError(error);
    }
  }

  train() {
    startJob(this.app, "train", { budget: this.learn.budget() });
  }

  /** Choose what does not matter, as for `--invariant-to`; null leaves it to each method. */
  usePhi(text) {
    this.app.socket.request("settings", { image_invariant_to: text }).catch(this.app.toastError);
  }

  open(id) {
    this.app.setMode("pixels");
    openImage(this.app, id);
  }

  /** Number keys label; what remains belongs to the grid. */
  key(event) {
    if (this.app.store.state.mode !== "images" || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=radio]):not([type=range]), select, textarea")) return;
    const isControl = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (isControl && key === "z") this.app.socket.request(event.shiftKey ? "redo" : "undo").catch(this.app.toastError);
    else if (isControl && key === "y") this.app.socket.request("redo").catch(this.app.toastError);
    else if (isControl || event.altKey) return;
    else if (/^[0-9]$/.test(key)) this.assignKey(Number(key));
    else if (key === "delete" || key === "backspace") this.assign(null, 0);
    else if (key === "enter" && event.target.closest(".grid")) this.acceptSelected();
    else if (key === "escape") this.grid.select([]);
    else if (key === "a") this.classes.focusField();
    else if (key === "t") this.learn.press();
    else return;
    event.preventDefault();
  }

  async assignKey(digit) {
    const classes = this.app.store.state.classes.images;
    const item = classes[digit - 1];
    if (digit && !item) return this.app.toast(`There is no class ${digit} yet. Press a, type its name, and press Enter.`);
    const isOne = this.grid.selected.size === 1;
    await this.assign(null, digit ? item.number : 0);
    if (isOne && digit) this.grid.advance();
  }

  acceptSelected() {
    const open = this.items.filter((item) => this.grid.selected.has(item.id) && item.predicted).map(({ id }) => id);
    if (open.length) this.accept(open, null);
    else this.app.toast("The selected images have no prediction. Train first.");
  }
}

/**
 * Build the image mode.
 * @param {HTMLElement} root
 * @param {object} app
 */
export function mount(root, app) {
  loadStyle("image_mode.css").then(() => new ImageMode(root, app));
}
