/** The classes of whole images: choose by number key, drop images on them, add, rename, recolour, remove. */

import { h, iconButton } from "./dom.js";
import { icon } from "./icons.js";

const DRAGGED = "application/x-studio-images";

/**
 * Add the list of classes.
 * @param {HTMLElement} root
 * @param {object} app
 * @param {{assign: (ids: ?number[], number: number) => void, show: (number: number) => void}} actions
 */
export function mountImageClasses(root, app, actions) {
  const list = h("div", { class: "class-list", role: "group", "aria-label": "Classes of images" });
  const field = h("input", { class: "new-class", placeholder: "New class", "aria-label": "Name of a new class", maxlength: 80 });
  const form = h("form", { class: "new-class-form", on: { submit: (event) => {
    event.preventDefault();
    addClass(app, field);
  } } }, field, iconButton({ icon: icon("plus", 14), label: "Add a class", key: "a", className: "small", text: "Add", run: () => {} }));
  form.querySelector("button").type = "submit";
  const counted = h("span", { class: "muted" });
  root.append(h("div", { class: "panel-head" }, h("h2", { text: "Classes" }), counted), list, form, clearRow(actions));
  return {
    focusField: () => field.focus(),
    show(classes, items) {
      if (list.querySelector(".class-field")) return; // a name is being typed
      const focused = document.activeElement?.closest(".image-class")?.id;
      list.replaceChildren(...classes.map((item, k) => makeRow(app, item, k, items, actions)));
      if (!classes.length) list.append(h("p", { class: "muted", text: "Type the name of your first class, for example “healthy”." }));
      const isPredicted = items.some((item) => !item.label && item.predicted);
      if (classes.length) counted.textContent = isPredicted ? "yours + predicted" : "labelled";
      else counted.textContent = "";
      if (focused) document.getElementById(focused)?.querySelector(".assign")?.focus();
    },
  };
}

async function addClass(app, field) {
  const name = field.value.trim();
  try {
    await app.socket.request("class.add", { mode: "images", ...(name ? { name } : {}) });
    field.value = "";
  } catch (error) {
    app.toastError(error);
  }
}

const change = (app, number, fields) => app.socket.request("class.change", { mode: "images", number, ...fields }).catch(app.toastError);

function makeRow(app, item, k, items, actions) {
  const { number, name, colour } = item;
  const n = items.filter((one) => one.label === number).length;
  const nPredicted = items.filter((one) => !one.label && one.predicted === number).length;
  const swatch = h("input", { type: "color", class: "swatch", value: colour, "aria-label": `Colour of ${name}`, title: "Change the colour",
    on: { change: () => change(app, number, { colour: swatch.value }) } });
  const key = k < 9 ? String(k + 1) : null;
  const count = h("span", { class: "class-count", text: nPredicted ? `${n} + ${nPredicted}` : String(n),
    title: nPredicted ? `${n} labelled, ${nPredicted} predicted` : `${n} labelled` });
  const assign = h("button", { type: "button", class: "assign", "aria-keyshortcuts": key, title: `Give the selected images the class “${name}”${key ? ` (${key})` : ""}; double-click to rename`,
    "aria-label": `Label as ${name}${key ? `, key ${key}` : ""}, ${count.title}`, on: { click: () => actions.assign(null, number), dblclick: () => rename(app, row, item) } },
    h("span", { class: "class-name", text: name }), key ? h("kbd", { text: key }) : null, count);
  const row = h("div", { class: "image-class", id: `image-class-${number}` }, swatch, assign,
    iconButton({ icon: icon("eye", 15), label: `Show only ${name}`, className: "quiet small", run: () => actions.show(number) }),
    iconButton({ icon: icon("trash", 15), label: `Remove ${name}; its images lose their label`, className: "quiet small", run: () => removeClass(app, item) }));
  assign.addEventListener("keydown", (event) => {
    if (event.key === "F2") rename(app, row, item);
  });
  acceptDrops(row, (ids) => actions.assign(ids, number));
  return row;
}

/** A row on which images lose their label. */
function clearRow(actions) {
  const row = h("div", { class: "image-class is-clear" }, h("button", { type: "button", class: "assign", "aria-keyshortcuts": "0",
    title: "Take the label away from the selected images (0)", on: { click: () => actions.assign(null, 0) } },
    h("span", { class: "class-name muted", text: "No label" }), h("kbd", { text: "0" })));
  acceptDrops(row, (ids) => actions.assign(ids, 0));
  return row;
}

function acceptDrops(row, run) {
  row.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes(DRAGGED)) return;
    event.preventDefault();
    row.classList.add("is-target");
  });
  row.addEventListener("dragleave", () => row.classList.remove("is-target"));
  row.addEventListener("drop", (event) => {
    event.preventDefault();
    row.classList.remove("is-target");
    const ids = event.dataTransfer.getData(DRAGGED).split(",").filter(Boolean).map(Number);
    if (ids.length) run(ids);
  });
}

function rename(app, row, item) {
  const name = row.querySelector(".class-name");
  if (!name) return;
  const field = h("input", { class: "class-field", value: item.name, "aria-label": `Name of ${item.name}`, maxlength: 80 });
  const assign = row.querySelector(".assign");
  let isOver = false; // removing a field that has the focus ends it a second time
  const finish = (isKept) => {
    if (isOver) return;
    isOver = true;
    const typed = field.value.trim();
    field.replaceWith(assign);
    if (isKept && typed && typed !== item.name) change(app, item.number, { name: typed });
    assign.focus();
  };
  field.addEventListener("blur", () => finish(true));
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Escape") finish(event.key === "Enter");
  });
  assign.replaceWith(field);
  field.focus();
  field.select();
}

async function removeClass(app, { number, name }) {
  try {
    await app.socket.request("class.remove", { mode: "images", number });
    app.toast(`“${name}” is removed.`, "info", { text: "Undo", run: () => app.socket.request("undo").catch(app.toastError) });
  } catch (error) {
    app.toastError(error);
  }
}
