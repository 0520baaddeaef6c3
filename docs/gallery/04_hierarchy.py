"""
Hierarchies, and how invariant they are
=======================================

Without labels, images become responses to templates, layer by layer. A transformation that the kernel on the smallest
patches ignores is ignored by the whole hierarchy: a histogram of grey levels does not depend on where a pixel is.
"""

from invariance import Layer, NeuralResponse, Rotations, datasets, invariance_profile
from invariance.report import profile_figure

images = datasets.load_textures(n_windows=60, split="train").images
new = datasets.load_textures(n_windows=8, split="test").images

# %%
# Two hierarchies that differ only in the kernel on the smallest patches.

layers = [Layer(8, n_templates=100), Layer(16, n_templates=100)]
responses = {
    "inner": NeuralResponse(layers, kernel="inner", random_state=0).fit(images),
    "histogram": NeuralResponse(layers, kernel="histogram", random_state=0).fit(images),
}

# %%
# Distances between quarter turns of one window, compared with distances between different windows.

responses["pixels"] = lambda windows: windows.reshape(len(windows), -1)
profiles = {}
for name, response in responses.items():
    profiles[name] = invariance_profile(response, new, Rotations(4))
    print(f"{name}: {profiles[name].sentence}")

# %%
# Quantiles of the two kinds of distances. The further above the diagonal, the more invariant.

figure = profile_figure(profiles)
