"""
Sets of transformations and their orbits
========================================

What does not matter is described by a set of transformations. Sets can be multiplied, united and examined; applied to
an image, they give its orbit: all versions that count as the same.
"""

from skimage import data

from invariance import Gamma, Reflections, Rotations, Shifts, check_group
from invariance.images import resize
from invariance.report import orbit_figure
from invariance.transformations import largest_responses

image = resize(data.camera() / 255.0, (64, 64))

# %%
# A product contains every combination: eight rotations, each mirrored or not.

phi = Rotations(8) * Reflections()
orbit = phi.operators(image.shape).apply(image[None])[0]
print(orbit.shape)
figure = orbit_figure(orbit, "Rotations(8) * Reflections()")

# %%
# Over a group the largest response of a filter is exactly invariant. Rotations by 90° and reflections form a group;
# rotations by 45° do not, because they are interpolated and lose the corners of the image.

for candidate in (Rotations(4) * Reflections(), phi):
    print(candidate, "->", check_group(candidate, image.shape).sentence)

# %%
# The largest response of a filter to the image and to the image rotated by 90°, equal up to rounding:

quarter = Rotations(4).operators(image.shape)
both = quarter.apply(image[None])[0, :2]
print(largest_responses(both, image[None], quarter).ravel())

# %%
# A union contains the members of both sets, which need not be linear.

either = Shifts(1) | Gamma()
orbit = either.operators(image.shape).apply(image[None])[0]
figure = orbit_figure(orbit, "Shifts(1) | Gamma()")
