"""
Saying that rotation does not matter
====================================

Windows of brick, grass and gravel, each nine pixels wide and cut out at a random angle; fifty of each are labelled.
Jungles learn filters whose *largest* response over a set of transformations tells the classes apart: told of rotations,
they need not see each texture at every angle.
"""

import numpy as np
from sklearn.metrics import confusion_matrix

from invariance import JungleClassifier, Rotations, datasets
from invariance.report import confusion_figure, filters_figure, winners_figure

train = datasets.load_textures(n_windows=50, size=9, split="train")
test = datasets.load_textures(n_windows=100, size=9, split="test")

# %%
# The same settings twice; the second time, 24 rotations are named as what does not matter.

plain = JungleClassifier(n_jungles=5, random_state=0)
told = JungleClassifier(Rotations(24), n_jungles=5, random_state=0)
plain.fit(train.images, train.labels)
told.fit(train.images, train.labels)
print(f"not told: {plain.score(test.images, test.labels):.2f} classified right")
print(f"told:     {told.score(test.images, test.labels):.2f} classified right")

# %%
# The filters that most windows were asked by; red is above zero, blue below.

figure = filters_figure(told, n=16)

# %%
# Six windows of much contrast, the turned version of each whose response to a filter is largest, and the filter.

contrast = test.images.std(axis=(1, 2))
figure = winners_figure(told, test.images[np.argsort(-contrast)[:6]])

# %%
# Which textures are taken for which.

counts = confusion_matrix(test.labels, told.predict(test.images))
figure = confusion_figure(counts, test.class_names)
