"""
Saving and loading a model
==========================

A model is one file without pickle: loading it cannot run code. Its description can be read without loading it.
"""

import tempfile
from pathlib import Path

import numpy as np

from invariance import JungleClassifier, Rotations, datasets, load, models, save
from invariance.report import jungle_figure

digits = datasets.load_digits()
train, test = digits.take(slice(0, 300)), digits.take(slice(1000, 1200))
model = JungleClassifier(Rotations(3, limit=15), n_jungles=3, random_state=0)
model.fit(train.images, train.labels)

# %%
# A model is written to a temporary file, which is then renamed: an interrupted run leaves the old file intact.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.inv"
    save(model, path)
    print(f"{path.stat().st_size / 1024:.0f} kB")
    facts = models.describe(path)
    again = load(path)

for key in ("method", "classes", "trained_on"):
    print(f"{key}: {facts[key]}")

# %%
# The loaded model makes the same predictions.

print(np.array_equal(model.predict_proba(test.images), again.predict_proba(test.images)))

# %%
# Its first jungle as a graph, with filters and class shares at the nodes; nodes with several parents were merged.

figure = jungle_figure(again, max_layers=4, class_names=train.class_names)
