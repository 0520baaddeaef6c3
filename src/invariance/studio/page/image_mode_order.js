/** Which images the grid shows, and in which order: functions of the labels and predictions alone. */

/**
 * @typedef {object} Item
 * @property {number} id
 * @property {string} name
 * @property {number} label class number, 0 for none
 * @property {number} predicted class number, 0 for none
 * @property {number} certainty probability of the predicted class, 0 if there is none
 * @property {?number} doubt 1 - (largest - second largest probability)
 * @property {boolean} isMistake labelled, and the held-out prediction differs
 * @property {?string} error why the file cannot be read
 */

export const SORTS = [
  { value: "name", text: "Name" },
  { value: "mistakes", text: "Mistakes" },
  { value: "doubt", text: "Doubt" },
  { value: "class", text: "Class" },
];

/**
 * Join what is known of every image.
 * @param {import("./state.js").ImageInfo[]} images
 * @param {Object<string, number>} labels class numbers by image
 * @param {?{items: object[]}} predictions the newest event with predictions
 * @returns {Item[]}
 */
export function makeItems(images, labels, predictions) {
  const found = new Map((predictions?.items ?? []).map((item) => [item.image, item]));
  return images.map(({ id, name, error }) => {
    const label = labels[id] ?? 0;
    const prediction = found.get(id);
    const isMistake = Boolean(label && prediction && prediction.held_out !== null && prediction.held_out !== label);
    return { id, name, label, error: error ?? null, predicted: prediction?.predicted ?? 0, doubt: prediction?.doubt ?? null, isMistake,
      certainty: prediction ? Math.max(...prediction.probabilities) : 0 };
  });
}

const byDoubt = (a, b) => (b.doubt ?? -1) - (a.doubt ?? -1);
const ORDERS = {
  name: () => 0,
  // The most certain mistakes first: they are wrong labels more often than hard images.
  mistakes: (a, b) => b.isMistake - a.isMistake || (a.isMistake ? b.certainty - a.certainty : byDoubt(a, b)),
  doubt: byDoubt,
  class: (a, b) => shownClass(a) - shownClass(b) || Boolean(b.label) - Boolean(a.label) || b.certainty - a.certainty,
};

const shownClass = (item) => item.label || item.predicted || Infinity;

/** What the grid can be reduced to, besides a class. */
export const FILTERS = {
  all: () => true,
  unlabelled: (item) => !item.label,
  labelled: (item) => Boolean(item.label),
  mistakes: (item) => item.isMistake,
};

/**
 * Choose and sort items.
 * @param {Item[]} items
 * @param {keyof typeof ORDERS} sort
 * @param {string} filter a key of FILTERS, or `class:NUMBER`
 * @returns {Item[]} images of equal rank keep the order of their names
 */
export function arrange(items, sort, filter) {
  const number = filter.startsWith("class:") ? Number(filter.slice(6)) : null;
  const isShown = number === null ? FILTERS[filter] : (item) => (item.label || item.predicted) === number;
  return items.filter(isShown).sort(ORDERS[sort]);
}

/**
 * The sub-folders that could be classes: those below the first folder that branches, two or more of them.
 * @param {{id: number, name: string}[]} images
 * @returns {string[]} as `find_class_folders` of the server
 */
export function classFolders(images) {
  let inside = images.map(({ name }) => name.split("/").slice(0, -1)).filter((parts) => parts.length);
  while (inside.length) {
    const names = [...new Set(inside.map((parts) => parts[0]))];
    if (names.length > 1) return names.sort();
    inside = inside.map((parts) => parts.slice(1)).filter((parts) => parts.length);
  }
  return [];
}

/** What still has to be labelled before one can train; null if nothing. */
export function missingLabels(items, classes) {
  const counts = classes.map(({ number, name }) => ({ name, n: items.filter((item) => item.label === number).length }));
  const used = counts.filter(({ n }) => n > 0);
  if (used.length < 2) return "Label images of at least two classes, two or more of each.";
  const lonely = used.find(({ n }) => n < 2);
  return lonely ? `Label one more image of "${lonely.name}".` : null;
}
