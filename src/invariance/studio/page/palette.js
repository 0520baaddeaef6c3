/** Colours of classes and of the maps drawn over the image, as tables of RGBA in one uint32 each. */

/** Little-endian order of canvas pixels: R is the lowest byte. */
const pack = (r, g, b, a) => ((a << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** @param {string} colour as "#rrggbb" */
export function parseColour(colour) {
  const value = parseInt(colour.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/**
 * Table of the colours of class numbers: transparent for 0, for hidden and for unknown ones.
 * @param {import("./state.js").ClassInfo[]} classes
 * @returns {Uint32Array}
 */
export function classColours(classes) {
  const table = new Uint32Array(256);
  for (const { number, colour, is_hidden } of classes) {
    if (!is_hidden) table[number] = pack(...parseColour(colour), 255);
  }
  return table;
}

/** Table by probability 0..255: the colour of a class, the more opaque the more probable. */
export function probabilityColours(colour) {
  const rgb = parseColour(colour);
  return Uint32Array.from({ length: 256 }, (_, p) => pack(...rgb, p));
}

/** Corners of the scale of uncertainty, from certain (transparent) to a coin toss. */
const HEAT = [[0, 60, 20, 110, 0], [0.25, 120, 28, 109, 90], [0.5, 207, 68, 70, 170], [0.75, 251, 155, 6, 225], [1, 252, 250, 140, 255]];

/** Table by uncertainty 0..255. */
export function uncertaintyColours() {
  return Uint32Array.from({ length: 256 }, (_, index) => {
    const u = index / 255;
    const k = Math.max(HEAT.findIndex(([at]) => at >= u), 1);
    const [from, to] = [HEAT[k - 1], HEAT[k]];
    const share = (u - from[0]) / (to[0] - from[0]);
    return pack(...[1, 2, 3, 4].map((i) => Math.round(from[i] + share * (to[i] - from[i]))));
  });
}
