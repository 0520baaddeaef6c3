"""How long a method will take on more images, from how long it took on fewer."""

from typing import NamedTuple

from invariance.methods.trial import Fold

LEAST_GROWING = 0.5  # share of a measured time that is taken to grow with the images, whatever two times suggest


class Timing(NamedTuple):
    """Seconds to fit from `n_images`, and then to classify one."""

    n_images: int
    fit_seconds: float
    image_seconds: float


class Forecast:
    """Expected seconds of a method whose time to fit grows as the number of images to the power of `growth`."""

    def __init__(self, growth: int):
        self.growth = growth
        self.timings: list[Timing] = []

    def fit(self, n_images: int) -> float:
        """To fit from so many images: a + b n^growth through the last two times measured, or proportional to one."""
        last = self.timings[-1]
        ratio = n_images / last.n_images
        if len(self.timings) == 1:
            return last.fit_seconds * ratio
        before = self.timings[-2]
        growing = (last.fit_seconds - before.fit_seconds) / (1 - (before.n_images / last.n_images) ** self.growth)
        growing = min(max(growing, LEAST_GROWING * last.fit_seconds), last.fit_seconds)
        return last.fit_seconds - growing + growing * ratio**self.growth

    def fold(self, fold: Fold) -> float:
        """To fit from the images of a fold and classify those held out."""
        training, held = fold
        last = self.timings[-1]
        image_seconds = last.image_seconds * (len(training) / last.n_images) ** (self.growth - 1)
        return self.fit(len(training)) + image_seconds * len(held)
