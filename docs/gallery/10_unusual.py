"""
Finding what is unusual
=======================

Sometimes there are examples of one class only: parts without a fault. A machine learns what they look like, up to small
shifts and rotations, and says how unusual new images are.
"""

import numpy as np

from invariance import Rotations, Shifts, TangentDistance, TangentOneClassSVM, datasets
from invariance.report import image_grid_figure

digits = datasets.load_digits()
threes = digits.images[digits.labels == 3]

# %%
# Learn from 60 threes; a tenth of new threes may be called unusual.

model = TangentOneClassSVM(TangentDistance(Shifts() * Rotations(3)), nu=0.1).fit(threes[:60])

# %%
# New threes, and other digits.

others = digits.images[digits.labels != 3][:300]
print(f"new threes called unusual: {np.mean(model.predict(threes[60:]) < 0):.2f}")
print(f"other digits called unusual: {np.mean(model.predict(others) < 0):.2f}")

# %%
# The most unusual of the new threes, and the least unusual of the others.

scores = model.decision_function(threes[60:])
odd = threes[60:][np.argsort(scores)[:8]]
near = others[np.argsort(-model.decision_function(others))[:8]]
titles = ["unusual three"] * 8 + ["like a three"] * 8
figure = image_grid_figure([*odd, *near], titles)
