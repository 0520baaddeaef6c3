/** The images of the folder: thumbnails, and marks for those with labels or final masks. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { openImage } from "./navigation.js";
import { toast } from "./toast.js";

/** Side of thumbnails as the server makes them; they are shown at half of it on ordinary screens. */
const SIDE = 160;

/** What is known about an image, the most important first. */
function describe({ pages, width, height, n_labelled_pages, is_final }) {
  const isStack = pages > 1;
  if (is_final.length) return isStack ? `${is_final.length} of ${pages} final` : "final mask";
  if (n_labelled_pages) return isStack ? `${n_labelled_pages} of ${pages} painted` : "painted";
  return isStack ? `${pages} slices` : `${width} × ${height}`;
}

/** Show an image, or say why it cannot be shown. */
function open(app, id) {
  const { error } = app.store.state.images.find((image) => image.id === id);
  if (error) toast(error, "error");
  else openImage(app, id);
}

function makeItem(app, image) {
  const mark = h("span", { class: "mark" });
  const note = h("span", { class: "note" });
  const element = h("div", { class: "image-item", role: "option", id: `image-${image.id}`, tabindex: "-1", title: image.name,
    on: { click: () => open(app, image.id) } },
    h("span", { class: "thumbnail" }, h("img", { src: `/thumbnails/${image.id}?side=${SIDE}`, alt: "", loading: "lazy", decoding: "async", draggable: "false" }), mark),
    h("span", { class: "image-text" }, h("span", { class: "image-name", text: image.name.split("/").at(-1) }), note));
  const show = (now) => {
    note.textContent = now.error ? "cannot be read" : describe(now);
    mark.replaceChildren(...(now.is_final?.length ? [icon("check", 12)] : []));
    mark.classList.toggle("is-labelled", now.n_labelled_pages > 0);
    mark.classList.toggle("is-final", now.is_final?.length > 0);
    element.classList.toggle("is-broken", Boolean(now.error));
    element.title = now.error ?? now.name;
    element.setAttribute("aria-label", `${now.name}, ${note.textContent}`);
  };
  return { element, show };
}

/** Keep the list up to date. */
export function mountImages(root, app) {
  const list = h("div", { class: "image-list", role: "listbox", "aria-label": "Images", tabindex: "-1" });
  const count = h("span", { class: "muted" });
  root.append(h("div", { class: "panel-head" }, h("h2", { text: "Images" }), count), list);
  /** @type {Map<number, {element: HTMLElement, show: Function}>} */
  const items = new Map();
  const choose = (id) => items.forEach(({ element }, key) => {
    element.setAttribute("aria-selected", String(key === id));
    element.tabIndex = key === id ? 0 : -1;
    if (key === id) element.scrollIntoView({ block: "nearest" });
  });
  app.store.on(["images"], ({ images, image: shown, is_loaded }) => {
    for (const id of [...items.keys()].filter((key) => !images.some((image) => image.id === key))) {
      items.get(id).element.remove();
      items.delete(id);
    }
    for (const image of images) {
      if (!items.has(image.id)) {
        items.set(image.id, makeItem(app, image));
        list.append(items.get(image.id).element);
      }
      items.get(image.id).show(image);
    }
    const painted = images.filter((image) => image.n_labelled_pages > 0).length;
    count.textContent = images.length ? `${painted} of ${images.length} painted` : "";
    if (is_loaded && !images.length) list.replaceChildren(h("p", { class: "empty", text: "No images in this folder." }));
    choose(shown);
  });
  app.store.on(["image"], ({ image }) => choose(image));
}
