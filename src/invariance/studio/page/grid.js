/** A grid of thumbnails: thousands of images, of which only the visible ones are on the page. */

import { h } from "./dom.js";
import { layOut, placeOf, scrollFor, visibleRange } from "./grid_layout.js";
import { parseColour } from "./palette.js";

/** Sides of thumbnails as the server makes them. */
const SMALL_SOURCE = 160, LARGE_SOURCE = 320;
const ARROWS = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * @typedef {import("./image_mode_order.js").Item} Item
 * @typedef {object} Handlers
 * @property {(ids: number[]) => void} onSelect
 * @property {(id: number) => void} onOpen a tile was double-clicked
 */

export class Grid {
  /**
   * @param {HTMLElement} root
   * @param {Handlers} handlers
   */
  constructor(root, handlers) {
    this.handlers = handlers;
    /** @type {Item[]} */ this.items = [];
    /** @type {Map<number, import("./state.js").ClassInfo>} */ this.classes = new Map();
    /** @type {Map<number, {element: HTMLElement, parts: object}>} tiles on the page, by image */ this.tiles = new Map();
    this.selected = new Set();
    this.focused = 0; // index of the item that keys move from
    this.anchor = 0; // index from which Shift selects
    this.side = 136;
    this.room = h("div", { class: "grid-room" });
    this.element = h("div", { class: "grid", role: "listbox", tabindex: "0", "aria-label": "Images of the folder",
      "aria-multiselectable": "true", on: { scroll: () => this.schedule(), keydown: (event) => this.key(event) } }, this.room);
    this.room.addEventListener("click", (event) => this.click(event));
    this.room.addEventListener("dblclick", (event) => this.open(event));
    this.room.addEventListener("dragstart", (event) => this.drag(event));
    root.append(this.element);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Show items; those that are gone are no longer selected. */
  show(items, classes) {
    const focusedId = this.items[this.focused]?.id;
    this.items = items;
    this.classes = new Map(classes.map((item) => [item.number, item]));
    const shown = new Set(items.map(({ id }) => id));
    const kept = [...this.selected].filter((id) => shown.has(id));
    const place = items.findIndex(({ id }) => id === focusedId);
    this.focused = place >= 0 ? place : Math.min(this.focused, Math.max(0, items.length - 1));
    this.anchor = Math.min(this.anchor, Math.max(0, items.length - 1));
    if (kept.length !== this.selected.size) this.select(kept);
    this.draw();
  }

  resize(side) {
    this.side = side;
    this.tiles.forEach(({ element }) => element.remove());
    this.tiles.clear();
    this.draw();
    this.reveal();
  }

  /** Select images by their ids. */
  select(ids) {
    this.selected = new Set(ids);
    this.tiles.forEach(({ element }, id) => mark(element, this.selected.has(id)));
    this.handlers.onSelect([...this.selected]);
  }

  /** Move on after one image got its class. */
  advance() {
    if (this.focused + 1 < this.items.length) this.focusOn(this.focused + 1);
  }

  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const { clientWidth, clientHeight, scrollTop } = this.element;
    if (clientWidth === 0) return; // not shown
    this.layout = layOut(this.items.length, clientWidth, this.side);
    this.room.style.height = `${this.layout.height}px`;
    const [first, last] = visibleRange(this.layout, this.items.length, scrollTop, clientHeight);
    const wanted = new Set(this.items.slice(first, last).map(({ id }) => id));
    for (const [id, { element }] of this.tiles) {
      if (wanted.has(id)) continue;
      element.remove();
      this.tiles.delete(id);
    }
    for (let index = first; index < last; index++) this.drawTile(index);
    const focused = this.items[this.focused];
    if (focused && this.tiles.has(focused.id)) this.element.setAttribute("aria-activedescendant", `tile-${focused.id}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  drawTile(index) {
    const item = this.items[index];
    let tile = this.tiles.get(item.id);
    if (!tile) {
      tile = makeTile(item, this.side);
      this.tiles.set(item.id, tile);
      this.room.append(tile.element);
    }
    const { x, y } = placeOf(this.layout, index);
    tile.element.style.transform = `translate(${x}px, ${y}px)`;
    tile.element.setAttribute("aria-posinset", String(index + 1));
    tile.element.setAttribute("aria-setsize", String(this.items.length));
    tile.element.classList.toggle("is-focused", index === this.focused);
    mark(tile.element, this.selected.has(item.id));
    fillTile(tile, item, this.classes);
  }

  // ------------------------------------------------------------ mouse and keys

  /** @returns {number} index of the tile under an event, -1 outside */
  indexAt(event) {
    const id = Number(event.target.closest(".tile")?.dataset.id ?? NaN);
    return this.items.findIndex((item) => item.id === id);
  }

  click(event) {
    const index = this.indexAt(event);
    if (index < 0) return this.select([]);
    const { id } = this.items[index];
    if (event.shiftKey) this.selectTo(index);
    else if (event.ctrlKey || event.metaKey) {
      const isOn = this.selected.has(id);
      this.select(isOn ? [...this.selected].filter((other) => other !== id) : [...this.selected, id]);
      this.anchor = index;
    } else {
      this.select([id]);
      this.anchor = index;
    }
    this.focused = index;
    this.draw();
  }

  open(event) {
    const index = this.indexAt(event);
    if (index >= 0) this.handlers.onOpen(this.items[index].id);
  }

  drag(event) {
    const index = this.indexAt(event);
    if (index < 0) return event.preventDefault();
    if (!this.selected.has(this.items[index].id)) this.select([this.items[index].id]);
    event.dataTransfer.effectAllowed = "copy";
    event.dataTransfer.setData("application/x-studio-images", [...this.selected].join(","));
  }

  key(event) {
    if (event.altKey || !this.layout) return;
    const { columns } = this.layout;
    const steps = { ...ARROWS, ArrowUp: -columns, ArrowDown: columns, Home: -this.focused, End: this.items.length - 1 - this.focused };
    const perPage = columns * Math.max(1, Math.floor(this.element.clientHeight / this.layout.step.y));
    Object.assign(steps, { PageUp: -perPage, PageDown: perPage });
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a") this.select(this.items.map(({ id }) => id));
    else if (event.key in steps && !event.ctrlKey && !event.metaKey) {
      const index = Math.min(Math.max(this.focused + steps[event.key], 0), this.items.length - 1);
      if (event.shiftKey) {
        this.selectTo(index);
        this.focused = index;
        this.reveal();
      } else this.focusOn(index);
    } else if (event.key === " ") this.toggleFocused();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  toggleFocused() {
    const id = this.items[this.focused]?.id;
    if (id === undefined) return;
    this.select(this.selected.has(id) ? [...this.selected].filter((other) => other !== id) : [...this.selected, id]);
  }

  focusOn(index) {
    if (!this.items[index]) return;
    this.focused = this.anchor = index;
    this.select([this.items[index].id]);
    this.reveal();
  }

  selectTo(index) {
    const [first, last] = [Math.min(this.anchor, index), Math.max(this.anchor, index)];
    this.select(this.items.slice(first, last + 1).map(({ id }) => id));
  }

  reveal() {
    if (!this.layout) return;
    const to = scrollFor(this.layout, this.focused, this.element.scrollTop, this.element.clientHeight);
    if (to !== null) this.element.scrollTop = to;
    this.draw();
  }
}

// ------------------------------------------------------------ one tile

function mark(element, isSelected) {
  element.setAttribute("aria-selected", String(isSelected));
  element.classList.toggle("is-selected", isSelected);
}

function makeTile(item, side) {
  const source = side * devicePixelRatio > SMALL_SOURCE ? LARGE_SOURCE : SMALL_SOURCE;
  const image = item.error
    ? h("span", { class: "tile-broken", text: "cannot be read", title: item.error })
    : h("img", { src: `/thumbnails/${item.id}?side=${source}`, alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  const chip = h("span", { class: "tile-chip" });
  const note = h("span", { class: "tile-note" });
  const element = h("div", { class: "tile", role: "option", id: `tile-${item.id}`, draggable: "true", data: { id: item.id }, title: item.name },
    h("span", { class: "tile-image" }, image), h("span", { class: "tile-text" }, chip, note));
  element.style.width = `${side}px`;
  element.style.setProperty("--side", `${side}px`);
  return { element, chip, note };
}

/** Black or white, whichever is easier to read on a colour. */
function textColour(colour) {
  const [r, g, b] = parseColour(colour);
  return 0.299 * r + 0.587 * g + 0.114 * b > 150 ? "#111" : "#fff";
}

const percent = (share) => `${Math.round(100 * share)} %`;

/** Write the class of an image on its tile: filled if it is a label, outlined if it is predicted. */
function fillTile({ element, chip, note }, item, classes) {
  const label = classes.get(item.label);
  const predicted = classes.get(item.predicted);
  const shown = label ?? predicted;
  chip.textContent = shown?.name ?? "";
  chip.hidden = !shown;
  chip.classList.toggle("is-predicted", !label);
  chip.style.setProperty("--chip", shown?.colour ?? "transparent");
  chip.style.setProperty("--chip-text", shown ? textColour(shown.colour) : "inherit");
  element.classList.toggle("is-mistake", item.isMistake);
  const file = item.name.split("/").at(-1);
  if (item.isMistake) note.textContent = `looks like ${predicted?.name ?? "another class"}`;
  else note.textContent = !label && predicted ? percent(item.certainty) : file;
  const state = label ? `, labelled ${label.name}` : predicted ? `, predicted ${predicted.name} ${percent(item.certainty)}` : ", no label";
  element.setAttribute("aria-label", `${item.name}${state}${item.isMistake ? `, but ${note.textContent}` : ""}`);
}
