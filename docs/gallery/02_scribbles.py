"""
Labelling pixels from scribbles
===============================

A few strokes of a brush in one image are enough for a first labelling of all others. Here the strokes show the known
membranes and cells of a generated section, and two other sections are labelled.
"""

import numpy as np
from skimage.segmentation import mark_boundaries

from invariance import JungleSegmenter, datasets
from invariance.report import image_grid_figure
from invariance.segmentation import segmentation_scores

sections = datasets.make_membranes(3, (96, 96), random_state=0)

# %%
# Three horizontal strokes, five pixels wide: 0 is unlabelled, 1 cell, 2 membrane.

scribbles = np.zeros((96, 96), np.uint8)
for row in (15, 48, 80):
    scribbles[row : row + 5] = sections.masks[0, row : row + 5] + 1
print(f"{(scribbles > 0).mean():.0%} of the first section is labelled")

# %%
# Train on the first section and label the other two.

segmenter = JungleSegmenter(unlabelled=0, random_state=0)
segmenter.fit(sections.images[:1], [scribbles])
membrane = segmenter.predict_proba(sections.images[1:])[..., 1]
scores = segmentation_scores(membrane, sections.masks[1:])
print(f"pixel error {scores.pixel_error:.3f}, V_rand {scores.v_rand:.2f}")

# %%
# The strokes, another section, its probability of membrane at each pixel, and the boundary at a probability of 0.5.

grey = np.repeat(sections.images[0][..., None], 3, axis=2)
colours = np.array([[0, 0, 0], [0.2, 0.5, 0.9], [1, 0.8, 0]])
shown = [
    np.where(scribbles[..., None] > 0, colours[scribbles], grey),
    sections.images[1],
    membrane[0],
    mark_boundaries(sections.images[1], membrane[0] > 0.5, color=(1, 0.8, 0)),
]
titles = ["strokes", "new section", "membrane", "its edges"]
figure = image_grid_figure(shown, titles, columns=4)
