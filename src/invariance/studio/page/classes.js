/** The classes of pixels: choose, add, rename, recolour, hide, lock, remove. */

import { h, iconButton } from "./dom.js";
import { icon } from "./icons.js";
import { toastError } from "./toast.js";

const change = (app, number, fields) => app.socket.request("class.change", { mode: "pixels", number, ...fields }).catch(toastError);

/** Add a class and choose it; its name can be typed at once. */
export async function addClass(app) {
  try {
    const reply = await app.socket.request("class.add", { mode: "pixels" });
    const number = reply.class.number ?? reply.class;
    app.store.set({ class_number: number });
    setTimeout(() => rename(app, number), 80); // once the list shows it
  } catch (error) {
    toastError(error);
  }
}

/** Choose the k-th class of the list, from 0. */
export function chooseClass(app, k) {
  const item = app.store.state.classes.pixels[k];
  if (!item) return;
  const { tool } = app.store.state;
  app.store.set({ class_number: item.number, tool: tool === "eraser" || tool === "navigate" ? "brush" : tool });
}

/** Turn the name of a class into a field. */
function rename(app, number) {
  const row = document.getElementById(`class-${number}`);
  const item = app.store.state.classes.pixels.find((other) => other.number === number);
  if (!row || !item || row.querySelector(".class-field")) return;
  const name = row.querySelector(".class-name");
  const field = h("input", { class: "class-field", value: item.name, "aria-label": `Name of ${item.name}`, maxlength: 80 });
  let isFinished = false;
  const finish = (isKept) => {
    if (isFinished) return;
    isFinished = true; // taking the field away makes it lose the focus, which ends here too
    field.replaceWith(name);
    const typed = field.value.trim();
    if (isKept && typed && typed !== item.name) change(app, number, { name: typed });
  };
  field.addEventListener("blur", () => finish(true));
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Escape") {
      finish(event.key === "Enter");
      row.focus();
    }
  });
  name.replaceWith(field);
  field.focus();
  field.select();
}

function makeRow(app, item, k) {
  const { number, name, colour, is_hidden, is_locked } = item;
  const isChosen = app.store.state.class_number === number;
  const swatch = h("input", { type: "color", class: "swatch", value: colour, "aria-label": `Colour of ${name}`, title: "Change the colour",
    on: { change: () => change(app, number, { colour: swatch.value }), click: (event) => event.stopPropagation() } });
  const toggle = (isOn, names, labels, fields) => iconButton({ icon: icon(isOn ? names[0] : names[1], 15), label: labels, className: `quiet small ${isOn ? "is-on" : ""}`,
    run: (event) => { event.stopPropagation(); change(app, number, fields); }, attributes: { "aria-pressed": String(isOn) } });
  const row = h("div", { class: `class-row ${isChosen ? "is-chosen" : ""} ${is_hidden ? "is-dim" : ""}`, id: `class-${number}`, role: "radio",
    "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1, "aria-label": `${name}${k < 9 ? `, key ${k + 1}` : ""}`, data: { number },
    on: { click: () => chooseClass(app, k), dblclick: () => rename(app, number) } },
    swatch, h("span", { class: "class-name", text: name, title: `${name} (double-click to rename)` }), k < 9 ? h("kbd", { text: String(k + 1) }) : null,
    toggle(is_hidden, ["eyeOff", "eye"], `${is_hidden ? "Show" : "Hide"} ${name}`, { is_hidden: !is_hidden }),
    toggle(is_locked, ["lock", "unlock"], `${is_locked ? "Unlock" : "Lock"} ${name}: strokes leave locked classes alone`, { is_locked: !is_locked }),
    iconButton({ icon: icon("trash", 15), label: `Remove ${name} and its labels`, className: "quiet small", run: (event) => {
      event.stopPropagation();
      removeClass(app, item);
    } }));
  row.addEventListener("keydown", (event) => rowKey(app, event, k, number));
  return row;
}

function rowKey(app, event, k, number) {
  if (event.target !== event.currentTarget) return;
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "F2") rename(app, number);
  else if (event.key === " ") chooseClass(app, k);
  else if (by && !event.shiftKey) {
    chooseClass(app, k + by);
    requestAnimationFrame(() => document.getElementById(`class-${app.store.state.class_number}`)?.focus());
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Remove a class; the labels come back with undo. */
async function removeClass(app, { number, name }) {
  try {
    await app.socket.request("class.remove", { mode: "pixels", number });
    app.toast(`"${name}" and its labels are removed.`, "info", { text: "Undo", run: () => app.socket.request("undo").catch(toastError) });
  } catch (error) {
    toastError(error);
  }
}

/** Add the section to the side bar. */
export function mountClasses(root, app) {
  const list = h("div", { class: "class-list", role: "radiogroup", "aria-label": "Class to paint" });
  const add = iconButton({ icon: icon("plus", 14), label: "Add a class", key: "a", className: "quiet small", text: "Add", run: () => addClass(app) });
  add.id = "add-class";
  root.append(h("section", { class: "section", "aria-label": "Classes" }, h("div", { class: "panel-head" }, h("h2", { text: "Classes" }), add), list));
  app.store.on(["classes", "class_number"], ({ classes }) => {
    const focused = document.activeElement?.closest(".class-row")?.id;
    if (list.querySelector(".class-field")) return; // a name is being typed
    list.replaceChildren(...classes.pixels.map((item, k) => makeRow(app, item, k)));
    if (focused) document.getElementById(focused)?.focus();
  });
}
