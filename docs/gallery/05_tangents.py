"""
Few digits, and small transformations
=====================================

A digit that is shifted or rotated a little is the same digit. The tangents of an image are the directions in which its
pixel vector moves under such transformations; classifiers on distances that ignore them need fewer examples.
"""

from sklearn.svm import SVC

from invariance import JitteredSVC, Rotations, Scales, Shifts, TangentDistance, TangentSVC
from invariance import datasets, tangent_vectors
from invariance.report import bar_figure, image_grid_figure

digits = datasets.load_digits()
train, test = digits.take(slice(0, 50)), digits.take(slice(1000, 1400))

# %%
# One digit, and how its pixels change when it is shifted, rotated or scaled.

small = Shifts() * Rotations(3) * Scales(3)
tangents = tangent_vectors(train.images[:1], small)[0]
tangents = 0.5 + 0.5 * tangents / abs(tangents).max(axis=(1, 2), keepdims=True)
titles = ["digit", *(f"tangent {number}" for number in range(1, 1 + len(tangents)))]
figure = image_grid_figure([train.images[0], *tangents], titles)

# %%
# Three support vector machines trained on the same 50 digits.

distance = TangentDistance(small, blur=0.4)
machines = {
    "RBF": SVC(C=10),
    "tangent distance": TangentSVC(distance),
    "jittered tangent distance": JitteredSVC(Shifts(), distance),
}
shares = {}
for name, machine in machines.items():
    shape = (-1, 64) if name == "RBF" else (-1, 8, 8)
    machine.fit(train.images.reshape(shape), train.labels)
    shares[name] = machine.score(test.images.reshape(shape), test.labels)

# %%
# Their accuracies on 400 other digits.

figure = bar_figure(shares, "accuracy", limit=1.0)
