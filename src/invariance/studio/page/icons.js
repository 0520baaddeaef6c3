/** Icons: 24 x 24 line drawings in the colour of the text. */

import { svg } from "./dom.js";

const PATHS = {
  brush: ["M9.5 14.5 19 5a2 2 0 0 0-3-3L6.5 11.5", "M7 12c-2.5 0-4 1.6-4 4 0 2-1 3-2 3.5 4 1.5 9 .5 9-3.5 0-2.2-1.3-4-3-4Z"],
  line: ["M5 19 19 5", "M5 19m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0", "M19 5m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0"],
  eraser: ["M20 20H9l-5-5a2 2 0 0 1 0-2.8l8.2-8.2a2 2 0 0 1 2.8 0l4.5 4.5a2 2 0 0 1 0 2.8L12 19", "m8 8.5 7.5 7.5"],
  fill: ["M12 4c5 0 9 2.5 9 6s-4 6-9 6-9-2.5-9-6 4-6 9-6Z", "M7 15.5c-1.5.5-2 3 0 3.5s2.5 2 1 3.5"],
  navigate: ["M12 3v18M3 12h18", "m9 6 3-3 3 3M9 18l3 3 3-3M6 9l-3 3 3 3M18 9l3 3-3 3"],
  undo: ["M9 14 4 9l5-5", "M4 9h10a6 6 0 0 1 0 12h-3"],
  redo: ["m15 14 5-5-5-5", "M20 9H10a6 6 0 0 0 0 12h3"],
  eye: ["M2 12s3.5-7 10-7 10 7 10 7-3.5 7-10 7-10-7-10-7Z", "M12 12m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0"],
  eyeOff: ["M4 4l16 16", "M9.5 5.4A10 10 0 0 1 12 5c6.5 0 10 7 10 7a17 17 0 0 1-3 3.9M6 7.3A17 17 0 0 0 2 12s3.5 7 10 7a10 10 0 0 0 4.5-1"],
  lock: ["M6 11h12a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-8a1 1 0 0 1 1-1Z", "M8 11V7a4 4 0 0 1 8 0v4"],
  unlock: ["M6 11h12a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-8a1 1 0 0 1 1-1Z", "M8 11V7a4 4 0 0 1 7.5-2"],
  trash: ["M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5"],
  plus: ["M12 5v14M5 12h14"],
  close: ["M6 6l12 12M18 6 6 18"],
  check: ["m5 12.5 4.5 4.5L19 7.5"],
  target: ["M12 12m-8 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0", "M12 12m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", "M12 1v4M12 19v4M1 12h4M19 12h4"],
  refresh: ["M20 11a8 8 0 0 0-14.5-4L3 9.5", "M3 4v5.5h5.5", "M4 13a8 8 0 0 0 14.5 4l2.5-2.5", "M21 20v-5.5h-5.5"],
  fit: ["M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5"],
  sun: ["M12 12m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5"],
  moon: ["M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z"],
  help: ["M12 12m-9.5 0a9.5 9.5 0 1 0 19 0a9.5 9.5 0 1 0-19 0", "M9.5 9.5a2.5 2.5 0 1 1 3.7 2.2c-.8.5-1.2 1-1.2 2", "M12 17.2v.1"],
  chevronLeft: ["m15 5-7 7 7 7"],
  chevronRight: ["m9 5 7 7-7 7"],
  warning: ["M12 3 2 20h20L12 3Z", "M12 10v4M12 17.2v.1"],
  info: ["M12 12m-9.5 0a9.5 9.5 0 1 0 19 0a9.5 9.5 0 1 0-19 0", "M12 11v6M12 7.2v.1"],
};

/**
 * Draw an icon.
 * @param {keyof typeof PATHS} name
 * @param {number} [size] side in CSS pixels
 * @returns {SVGElement}
 */
export function icon(name, size = 18) {
  const paths = PATHS[name].map((d) => svg("path", { d }));
  return svg("svg", { viewBox: "0 0 24 24", width: size, height: size, class: "icon", "aria-hidden": "true" }, ...paths);
}
