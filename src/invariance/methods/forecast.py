"""How long a method will take on more images, from how long it took on fewer."""

from typing import NamedTuple

MIN_GROWING_SHARE = 0.5  # of a measured time is assumed to grow with the number of images


class Timing(NamedTuple):
    """How long a method took on some images.

    Attributes
    ----------
    n_images : int
        Images that it was fitted to.
    fit_seconds : float
    image_seconds : float
        To classify one image.
    describe_seconds : float, default=0
        To describe one image; this was not spent, because the description was kept.
    """

    n_images: int
    fit_seconds: float
    image_seconds: float
    describe_seconds: float = 0.0


class Forecast:
    """Expected seconds of a method whose time to fit grows as a power of the number of images.

    Parameters
    ----------
    growth : int
        The power.
    startup : float, default=0
        Share of the first timing that does not depend on the number of images.

    Attributes
    ----------
    timings : list of Timing
        One per number of images, the smallest first.
    n_noted : int
        How many timings were noted.
    """

    def __init__(self, growth: int, startup: float = 0.0):
        self.growth = growth
        self.startup = startup
        self.timings: list[Timing] = []
        self.n_noted = 0

    def note(self, timing: Timing) -> None:
        """Note a timing; of several on equally many images the shortest counts: the first also loads compiled code."""
        self.n_noted += 1
        for number, other in enumerate(self.timings):
            if other.n_images == timing.n_images:
                self.timings[number] = Timing(
                    timing.n_images,
                    min(timing.fit_seconds, other.fit_seconds),
                    min(timing.image_seconds, other.image_seconds),
                    max(timing.describe_seconds, other.describe_seconds),
                )
                return
        self.timings = sorted([*self.timings, timing])

    def note_fit(self, n_images: int, seconds: float) -> None:
        """Note how long fitting took, where nothing was classified afterwards; only after `note`."""
        last = self.timings[-1]
        self.note(last._replace(n_images=n_images, fit_seconds=seconds, image_seconds=self._image_seconds(n_images)))

    def fit(self, n_images: int, n_new: int = 0) -> float:
        """Return the seconds to fit: a + b n^growth through the last two timings, or proportional after the startup.

        Parameters
        ----------
        n_images : int
        n_new : int, default=0
            How many of them were never described before.
        """
        return self._fit(n_images, n_new, MIN_GROWING_SHARE)

    def fit_at_least(self, n_images: int, n_new: int = 0) -> float:
        """Return the seconds to fit, if all that did not grow between the last two timings does not grow at all."""
        return self._fit(n_images, n_new, 0.0)

    def _fit(self, n_images: int, n_new: int, min_growing_share: float) -> float:
        last = self.timings[-1]
        ratio, described = n_images / last.n_images, last.describe_seconds * n_new
        if len(self.timings) == 1:
            return last.fit_seconds * (self.startup + (1 - self.startup) * ratio) + described
        growing = self._growing_seconds(min_growing_share)
        return last.fit_seconds - growing + growing * ratio**self.growth + described

    def reach(self, seconds: float) -> int:
        """Return how many images can be fitted in so many seconds; if there is one timing, all of it may grow."""
        last = self.timings[-1]
        growing = last.fit_seconds if len(self.timings) == 1 else self._growing_seconds(MIN_GROWING_SHARE)
        spare = max(0.0, seconds - last.fit_seconds + growing)
        return int(last.n_images * (spare / growing) ** (1 / self.growth)) if growing else last.n_images

    def _growing_seconds(self, min_share: float) -> float:
        """The part of the last timing that grows with the number of images, from the last two."""
        before, last = self.timings[-2:]
        growing = (last.fit_seconds - before.fit_seconds) / (1 - (before.n_images / last.n_images) ** self.growth)
        return min(max(growing, min_share * last.fit_seconds), last.fit_seconds)

    def fold(self, n_training: int, n_held: int, n_new: int = 0) -> float:
        """Return the seconds to fit the training images of a fold and classify those held out."""
        return self.fit(n_training, n_new) + self._image_seconds(n_training) * n_held

    def _image_seconds(self, n_training: int) -> float:
        """Expected seconds to classify an image after training on so many."""
        last = self.timings[-1]
        return last.image_seconds * (n_training / last.n_images) ** (self.growth - 1)
