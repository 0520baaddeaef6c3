/** Light and dark: what the system prefers, until a person chooses. */

import { iconButton } from "./dom.js";
import { icon } from "./icons.js";

const KEY = "studio.theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (localStorage.getItem(KEY) ?? (prefersDark.matches ? "dark" : "light")) === "dark";

/** Add the switch to a place of the page and apply the theme. */
export function mountTheme(root) {
  const button = iconButton({ icon: icon("sun"), label: "Light or dark", className: "quiet", run: () => {
    localStorage.setItem(KEY, isDark() ? "light" : "dark");
    apply();
  } });
  const apply = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    button.replaceChildren(icon(isDark() ? "sun" : "moon"));
    button.title = isDark() ? "Use light colours" : "Use dark colours";
  };
  prefersDark.addEventListener("change", apply);
  root.append(button);
  apply();
}
