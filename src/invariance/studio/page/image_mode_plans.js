/** What every method does with what does not matter, in words. */

import { h, section } from "./dom.js";

/**
 * Add the section "What each method does".
 * @param {HTMLElement} root
 * @param {object} app
 */
export function mountPlans(root, app) {
  const list = h("div", { class: "stack", id: "plans" });
  const element = section("image-plans", "What each method does", [list], { isOpen: false });
  root.append(element);
  let shown; // the Φ of the plans on the page; undefined before the first
  const load = async (phi) => {
    if (!element.open || phi === shown) return;
    shown = phi;
    try {
      const reply = await app.socket.request("plans", phi === null ? {} : { invariant_to: phi });
      if (shown === phi) list.replaceChildren(...reply.plans.map(describe));
    } catch (error) {
      shown = undefined;
      list.replaceChildren(h("p", { class: "problem", text: error.message }));
    }
  };
  const now = () => app.store.state.settings.image_invariant_to ?? null;
  element.addEventListener("toggle", () => load(now()));
  return { show: () => load(now()) };
}

/** The texts of the library name the set of transformations by its letter. */
const spell = (text) => text.replaceAll("Φ", "what is ignored");

function describe({ method, summary, purpose, parts, is_refused }) {
  return h("details", { class: `plan ${is_refused ? "is-refused" : ""}` },
    h("summary", {}, h("strong", { text: method }), h("span", { class: "hint", text: is_refused ? "cannot ignore this" : spell(summary) })),
    h("p", { class: "hint", text: spell(purpose) }),
    h("ul", { class: "plan-parts" }, ...parts.map(({ part, treatment, sentence }) => h("li", {}, h("code", { text: part }), ` (${treatment}). ${spell(sentence)}`))));
}
