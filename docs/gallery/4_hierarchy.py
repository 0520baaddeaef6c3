"""
Hierarchies, and how invariant they are
=======================================

Without any labels, images become responses to templates, layer upon layer. What the kernel on the smallest patches
ignores, the whole hierarchy ignores: a histogram of grey levels does not know where in the patch a pixel lies.
"""

from invariance import Layer, NeuralResponse, Rotations, datasets, invariance_profile
from invariance.report import profile_figure

images = datasets.load_textures(n_windows=60, split="train").images
new = datasets.load_textures(n_windows=8, split="test").images

# %%
# Two hierarchies that differ in the kernel on the smallest patches alone.

layers = [Layer(8, n_templates=100), Layer(16, n_templates=100)]
responses = {
    "inner": NeuralResponse(layers, kernel="inner", random_state=0).fit(images),
    "histogram": NeuralResponse(layers, kernel="histogram", random_state=0).fit(images),
}

# %%
# How far apart are the quarter turns of one window, beside different windows?

responses["pixels"] = lambda windows: windows.reshape(len(windows), -1)
profiles = {}
for name, response in responses.items():
    profiles[name] = invariance_profile(response, new, Rotations(4))
    print(f"{name}: {profiles[name].sentence}")

# %%
# Quantiles of both kinds of distances against each other. The further above the diagonal, the more invariant.

figure = profile_figure(profiles)
