/** Build elements in one expression; no markup from strings, so that no name of a file can become markup. */

/**
 * Make an element.
 * @param {string} tag
 * @param {Object<string, any>} [attributes] `class`, `text`, `on` (listeners by event), `data` (dataset), other
 *   attributes by name; null and false leave an attribute out, true writes it without a value
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "on") Object.entries(value).forEach(([event, run]) => element.addEventListener(event, run));
    else if (name === "data") Object.assign(element.dataset, value);
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * Make an element of SVG.
 * @param {string} tag
 * @param {Object<string, string|number>} [attributes]
 * @param {...SVGElement} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @returns {HTMLElement} the element with an id that index.html has */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * Call a function at most once per pause of so many milliseconds, with the last arguments.
 * @template {any[]} A
 * @param {(...args: A) => void} run
 * @param {number} pause
 * @returns {(...args: A) => void}
 */
export function debounce(run, pause) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...args), pause);
  };
}

/** A button that shows an icon and, if asked, a text; its label names the key too. */
export function iconButton({ icon, label, key = "", text = "", className = "", run, attributes = {} }) {
  const title = key ? `${label} (${key})` : label;
  return h("button", {
    type: "button", class: `button ${text ? "" : "icon-only"} ${className}`.trim(), title,
    "aria-label": text ? null : label, "aria-keyshortcuts": key || null, on: { click: run }, ...attributes,
  }, icon, ...(text ? [h("span", { text })] : []));
}

/** A collapsible section of the side bar, open at first unless said. Whether it is open is remembered. */
export function section(id, title, children, { isOpen = true, aside = null } = {}) {
  const stored = localStorage.getItem(`studio.section.${id}`);
  const details = h("details", { class: "section", id: `section-${id}`, open: stored ? stored === "open" : isOpen },
    h("summary", {}, h("h2", { text: title }), aside ?? ""), h("div", { class: "section-body" }, ...children));
  details.addEventListener("toggle", () => localStorage.setItem(`studio.section.${id}`, details.open ? "open" : "closed"));
  return details;
}

/** Buttons of which one is chosen: a group of radio buttons that look like one control, keys included. */
export function segmented({ label, name, options, chosen, run }) {
  const group = h("div", { class: "segmented", role: "radiogroup", "aria-label": label });
  const inputs = options.map(({ value, text, title, key }) => {
    const input = h("input", { type: "radio", name, value, "aria-keyshortcuts": key ?? null, on: { change: () => run(value) } });
    group.append(h("label", { title: key ? `${title ?? text} (${key})` : (title ?? text) }, input, h("span", { text })));
    return input;
  });
  const choose = (value) => inputs.forEach((input) => (input.checked = input.value === String(value)));
  choose(chosen);
  return { element: group, choose };
}

/** A labelled slider with its value beside it. */
export function slider({ label, min, max, step, value, format, run, id }) {
  const output = h("output", { text: format(value), for: id });
  const input = h("input", { type: "range", id, min, max, step, value, on: { input: () => {
    output.textContent = format(Number(input.value));
    run(Number(input.value));
  } } });
  const element = h("div", { class: "slider" }, h("label", { for: id, text: label }), input, output);
  const show = (shown) => {
    if (Number(input.value) !== shown) input.value = String(shown);
    output.textContent = format(shown);
  };
  show(value);
  return { element, input, show };
}
