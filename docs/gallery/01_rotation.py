"""
Saying that rotation does not matter
====================================

Windows of brick, grass and gravel, nine pixels wide and cut out at random angles; fifty per class are labelled. Jungles
learn filters whose *largest* response over a set of transformations separates the classes. With rotations in the set,
they need not see each texture at every angle.
"""

import numpy as np
from sklearn.metrics import confusion_matrix

from invariance import JungleClassifier, Rotations, datasets
from invariance.report import confusion_figure, filters_figure, winners_figure

train = datasets.load_textures(n_windows=50, size=9, split="train")
test = datasets.load_textures(n_windows=100, size=9, split="test")

# %%
# The same settings twice, without transformations and with 24 rotations.

plain = JungleClassifier(n_jungles=5, random_state=0)
invariant = JungleClassifier(Rotations(24), n_jungles=5, random_state=0)
plain.fit(train.images, train.labels)
invariant.fit(train.images, train.labels)
print(f"without rotations: accuracy {plain.score(test.images, test.labels):.2f}")
print(f"with rotations:    accuracy {invariant.score(test.images, test.labels):.2f}")

# %%
# The filters that most windows passed; red is positive, blue negative.

figure = filters_figure(invariant, n=16)

# %%
# Six windows with high contrast, the rotated version of each with the largest response to a filter, and the filter.

contrast = test.images.std(axis=(1, 2))
figure = winners_figure(invariant, test.images[np.argsort(-contrast)[:6]])

# %%
# The confusion matrix.

counts = confusion_matrix(test.labels, invariant.predict(test.images))
figure = confusion_figure(counts, test.class_names)
