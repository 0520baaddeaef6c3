/** The slider through the pages of a stack; hidden for single images. */

import { h, iconButton } from "./dom.js";
import { icon } from "./icons.js";
import { openPageOf, stepPage } from "./navigation.js";
import { currentImage } from "./state.js";

/** Keep the slider up to date. */
export function mountSlices(root, app) {
  const input = h("input", { type: "range", id: "slice", min: 0, step: 1, "aria-label": "Slice", on: { input: () => openPageOf(app, Number(input.value)) } });
  const output = h("output", { for: "slice" });
  root.append(
    h("label", { for: "slice", text: "Slice" }),
    iconButton({ icon: icon("chevronLeft", 14), label: "Previous slice", key: "PageUp", className: "quiet small", run: () => stepPage(app, -1) }),
    input,
    iconButton({ icon: icon("chevronRight", 14), label: "Next slice", key: "PageDown", className: "quiet small", run: () => stepPage(app, 1) }),
    output,
  );
  app.store.on(["image", "images", "page"], (state) => {
    const image = currentImage(state);
    root.hidden = !image || image.pages < 2;
    if (root.hidden) return;
    input.max = String(image.pages - 1);
    input.value = String(state.page);
    input.setAttribute("aria-valuetext", `${state.page + 1} of ${image.pages}`);
    output.textContent = `${state.page + 1} / ${image.pages}${image.is_final?.includes(state.page) ? " ✓" : ""}`;
  });
}
