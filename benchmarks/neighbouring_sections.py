"""Whether the sections above and below help to label membranes: seen as channels, beside the section alone.

Usage, from the repository: python -m benchmarks.neighbouring_sections [discs] [sections]
Needs ISBI 2012. Learns from 40 discs or all pixels of one section, or from sections 0-11; tested on sections 12-17,
where settings are chosen, and 18-23. Prints 1 - F in % of both, and the paired differences.
"""

import sys

import numpy as np

from experiments.strokes import draw_scribbles
from invariance.datasets import load_isbi2012
from invariance.segmentation import JungleSegmenter, segmentation_scores

SECTIONS, N_DISCS, N_DRAWS, RADIUS = (0, 5, 10), 40, 3, 5
PARTS = {"12-17": list(range(12, 18)), "18-23": list(range(18, 24))}


def main() -> None:
    """Run the parts that are named, or both."""
    data = load_isbi2012()
    masks = np.asarray(data.masks)
    padded = np.pad(np.asarray(data.images), ((1, 1), (0, 0), (0, 0)), mode="edge")
    stacks = {"alone": padded[1:-1], "with neighbours": np.stack([padded[:-2], padded[1:-1], padded[2:]], axis=-1)}
    for name in sys.argv[1:] or ("discs", "sections"):
        draws = draw_discs(masks) if name == "discs" else whole_sections(masks)
        errors = np.array([judge(stacks, masks, *draw) for draw in draws])  # (draws, stacks, parts)
        differences = errors[:, 1] - errors[:, 0]
        for place, part in enumerate(PARTS):
            listed = ", ".join(f"{value:+.2f}" for value in differences[:, place])
            means = errors[:, :, place].mean(axis=0)
            print(
                f"{name}, sections {part}: alone {means[0]:.2f}, with neighbours {means[1]:.2f}; differences {listed}"
            )


def draw_discs(masks):
    """Draws of discs in one section: its number, its mask and a seed."""
    for section in SECTIONS:
        for draw in range(N_DRAWS):
            rng = np.random.default_rng((N_DISCS, section, draw))
            yield [section], draw_scribbles(masks[section], N_DISCS, RADIUS, rng)[None], draw


def whole_sections(masks):
    """All pixels of one section, and of twelve."""
    for sections in (*([section] for section in SECTIONS), list(range(12))):
        yield sections, masks[sections].astype(np.int8), 0


def judge(stacks, masks, sections, labels, seed):
    """1 - F in % for each kind of images and each part that is tested on."""
    errors = []
    for images in stacks.values():
        model = JungleSegmenter(unlabelled=-1, n_jobs=2, random_state=seed).fit(images[sections], labels)
        maps = {part: np.stack([model.predict_proba(images[one])[..., 1] for one in PARTS[part]]) for part in PARTS}
        errors.append([100 * (1 - segmentation_scores(maps[part], masks[PARTS[part]]).cell_f) for part in PARTS])
    print(sections, labels.shape, np.round(errors, 2).tolist(), flush=True)
    return errors


if __name__ == "__main__":
    main()
