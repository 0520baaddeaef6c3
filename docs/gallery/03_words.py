"""
Visual words, and where they are found
======================================

Images of any sizes become bags of visual words: random windows are described, a forest of randomized trees gives each
its words, and the words are counted. The words also show *where* in an image a class is.
"""

import numpy as np
from skimage import data

from invariance import BagOfFeatures, CodebookClassifier
from invariance.codebooks import RandomWindows
from invariance.report import word_figure, word_map_figure

images = [data.brick(), data.grass(), data.gravel()]
labels = np.repeat(["brick", "grass", "gravel"], 6)


def cut(tops):
    """Pieces of 128 x 128 pixels, six per photograph."""
    corners = [(i, j) for i in tops for j in (0, 128, 256)]
    return [photo[i : i + 128, j : j + 128] for photo in images for i, j in corners]


# %%
# Train on pieces of the upper half of three photographs, and classify pieces of the lower half.

old, new = cut((0, 128)), cut((256, 384))
bag = BagOfFeatures(sampler=RandomWindows(n_windows=1000, max_scale=0.4))
model = CodebookClassifier(bag, random_state=0).fit(old, labels)
print(f"accuracy {model.score(new, labels):.2f}")

# %%
# Two textures side by side: the words of grass are found where the grass is.

both = np.hstack([images[0][256:384, :128], images[1][256:384, :128]])
figure = word_map_figure(model, both, "grass")

# %%
# Windows of brick that have the word that is more frequent in brick than in the other textures.

bags = model.bag_.transform(old)
word = int(np.argmax(bags[:6].mean(axis=0) - bags[6:].mean(axis=0)))
figure = word_figure(model, new[:6], word, n=16)
