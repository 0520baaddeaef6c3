"""A small U-Net on the CPU, trained carefully on the same few images.

Four levels of 16 to 128 channels, Adam on random crops that are rotated by any angle, flipped and jittered. It is
evaluated at several moments of one run, so nothing may depend on when the run ends: the learning rate is constant, and
predictions come from an average of the networks so far, which replaces a decreasing learning rate.
Crops, batch, learning rate and average were chosen on sections 15-17 of ISBI 2012 with 0-14 for training.
"""

import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import cv2
import numpy as np

from experiments.peers.pixel_forest import UNLABELLED, check_labelled
from invariance._core.checks import check_number
from invariance._core.randomness import RandomState, make_rng
from invariance.images import as_float32

try:
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.optim.swa_utils import AveragedModel, update_bn
except ImportError as error:
    raise ImportError("the U-Net needs PyTorch, which is not installed. Try: pip install '.[bench]'") from error

CHANNELS = (16, 32, 64, 128)
# Sides of what the network sees must halve evenly at each level, and leave two pixels to mirror at the last.
STRIDE = 2 ** (len(CHANNELS) - 1)
SMALLEST = 2 * STRIDE

# Four small crops teach more than one of 256 x 256, in the same time.
CROP = 128
BATCH = 4
LEARNING_RATE = 2e-3
# Network n of a run weighs n**RECENCY in the average: the last tenth counts most, whenever one stops.
RECENCY = 8
# Batches to measure the statistics for batch normalisation on: those of an average are not the average's.
N_MEASURED = 12
# Contrast changes by up to this share, and brightness by up to this share of the standard deviation.
JITTER = 0.2


class UNet(nn.Module):
    """Images (n, 1, h, w) with sides divisible by `STRIDE` -> scores (n, 2, h, w) of the classes 0 and 1."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(map(two_convolutions, (1, *CHANNELS[:-1]), CHANNELS))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, stride=2) for n in CHANNELS[:-1])
        self.merge = nn.ModuleList(two_convolutions(2 * n, n) for n in CHANNELS[:-1])
        self.head = nn.Conv2d(CHANNELS[0], 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Down the levels by max-pooling, and up again, at each level beside what was seen there on the way down."""
        seen = [self.down[0](x)]
        for level in self.down[1:]:
            seen.append(level(functional.max_pool2d(seen[-1], 2)))
        x = seen.pop()
        for up, merge in zip(reversed(self.up), reversed(self.merge), strict=True):
            x = merge(torch.cat([seen.pop(), up(x)], dim=1))
        return self.head(x)


def two_convolutions(n_in: int, n_out: int) -> nn.Sequential:
    """Twice: 3 x 3 convolution with mirrored borders, batch normalisation, ReLU."""
    layers: list[nn.Module] = []
    for n in (n_in, n_out):
        convolution = nn.Conv2d(n, n_out, 3, padding=1, padding_mode="reflect", bias=False)
        layers += [convolution, nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


@dataclass(frozen=True)
class Predictor:
    """A trained network, and the number of crops it has learned from."""

    network: nn.Module
    mean: float
    deviation: float
    n_crops: int

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """The probability of class 1 at every pixel of an image (h, w), as float32 (h, w)."""
        height, width = image.shape
        missing = [(0, max(SMALLEST, math.ceil(side / STRIDE) * STRIDE) - side) for side in image.shape]
        padded = np.pad((as_float32(image) - self.mean) / self.deviation, missing, mode="reflect")
        with torch.inference_mode():
            scores = self.network(as_batch([padded]))
            return scores.softmax(dim=1)[0, 1, :height, :width].contiguous().numpy()


class Training:
    """A U-Net in training: `step` learns from one more batch of crops, `predictor` is the network as of now."""

    def __init__(self, images: Sequence[np.ndarray], masks: Sequence[np.ndarray], random_state: RandomState = 0):
        images, masks = check_labelled(images, masks)
        pixels = np.concatenate([image.ravel() for image in images])
        self.mean, self.deviation = float(pixels.mean()), float(pixels.std()) or 1.0
        labelled = [(image, mask) for image, mask in zip(images, masks, strict=True) if (mask != UNLABELLED).any()]
        self.images = [(image - self.mean) / self.deviation for image, _ in labelled]
        self.masks = [mask for _, mask in labelled]
        smallest = min(min(image.shape) for image in self.images)
        self.crop_size = max(SMALLEST, min(CROP, smallest) // STRIDE * STRIDE)
        self.rng = make_rng(random_state)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self.rng.integers(2**31)))
            self.network = nn.utils.convert_conv2d_weight_memory_format(UNet(), torch.channels_last)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)
        self.average = AveragedModel(self.network, avg_fn=favour_recent)
        self.n_crops = 0

    def step(self) -> None:
        """Learn from one more batch of random crops; unlabelled pixels count in no loss."""
        images, targets = self.draw_batch(self.rng)
        loss = functional.cross_entropy(self.network(images), targets, ignore_index=UNLABELLED)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.average.update_parameters(self.network)
        self.n_crops += BATCH

    def draw_batch(self, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Random crops (n, 1, s, s) float32 of random images, and their labels (n, s, s) int64."""
        indices = rng.integers(len(self.images), size=BATCH)
        crops = [draw_crop(self.images[i], self.masks[i], self.crop_size, rng) for i in indices]
        labels = np.stack([mask for _, mask in crops]).astype(np.int64)
        return as_batch([jitter_intensities(image, rng) for image, _ in crops]), torch.from_numpy(labels)

    def predictor(self) -> Predictor:
        """The average of the networks passed through, as a copy that further steps do not change."""
        network = deepcopy(self.average.module)
        # From a stream of its own: when one asks for a predictor must not change what comes after.
        rng = make_rng(self.n_crops)
        update_bn([self.draw_batch(rng)[0] for _ in range(N_MEASURED)], network)
        return Predictor(network.eval(), self.mean, self.deviation, self.n_crops)


def train_unet(
    images: Sequence[np.ndarray],
    masks: Sequence[np.ndarray],
    seconds: float,
    *,
    checkpoints: Sequence[float] = (20, 50, 80, 120, 200),
    random_state: RandomState = 0,
    on_checkpoint: Callable[[float, Predictor], None] | None = None,
) -> Predictor:
    """Train a U-Net for `seconds` on grey images (h, w) and masks (h, w) of 0, 1 and -1 (unlabelled).

    At each of the `checkpoints` within `seconds`, `on_checkpoint(seconds trained, predictor)` is called; the clock
    stands still meanwhile. The time is that of preparing and of training, on as many cores as PyTorch is set to use.
    """
    check_number("seconds", seconds, low=0)
    awaited = sorted(moment for moment in checkpoints if moment <= seconds)
    started = time.perf_counter()
    training = Training(images, masks, random_state)
    trained = time.perf_counter() - started
    while trained < seconds:
        started = time.perf_counter()
        training.step()
        trained += time.perf_counter() - started
        while awaited and awaited[0] <= trained:
            awaited.pop(0)
            if on_checkpoint is not None:
                on_checkpoint(trained, training.predictor())
    return training.predictor()


def draw_crop(
    image: np.ndarray, mask: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A random square (size, size) of an image and its mask that holds a labelled pixel; beyond the border both mirror.

    It is turned by quarters and perhaps flipped, which moves pixels unchanged; every second one is turned by any angle,
    which interpolates. So the network sees all orientations, and sees pixels as sharp as those it will be tested on.
    """
    labelled = np.flatnonzero(mask != UNLABELLED)
    half = (size - 1) / 2
    innermost, outermost = half, np.array(image.shape[::-1]) - 1 - half
    while True:
        angle = rng.integers(4) * math.pi / 2 + rng.integers(2) * rng.uniform(-math.pi / 4, math.pi / 4)
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        turn[:, 0] *= rng.choice([-1, 1])
        # A random labelled pixel lands on a random place of the crop, unless that would show much mirrored border.
        pixel = np.array(divmod(rng.choice(labelled), image.shape[1])[::-1])
        centre = np.clip(pixel - turn @ (rng.integers(size, size=2) - half), innermost, outermost)
        to_image = np.column_stack([turn, centre - turn @ [half, half]])
        crop_mask = warp(mask, to_image, size, cv2.INTER_NEAREST)
        if (crop_mask != UNLABELLED).any():
            return warp(image, to_image, size, cv2.INTER_CUBIC), crop_mask


def warp(image: np.ndarray, to_image: np.ndarray, size: int, interpolation: int) -> np.ndarray:
    """The square (size, size) whose pixel (x, y) shows what the image has at `to_image @ (x, y, 1)`."""
    flags = interpolation | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(image, to_image, (size, size), flags=flags, borderMode=cv2.BORDER_REFLECT_101)


def jitter_intensities(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The image with a little more or less contrast and brightness."""
    return image * np.float32(1 + rng.uniform(-JITTER, JITTER)) + np.float32(rng.uniform(-JITTER, JITTER))


def favour_recent(average: torch.Tensor, current: torch.Tensor, n_averaged: torch.Tensor | int) -> torch.Tensor:
    """Polynomial averaging: where the n-th of N networks weighs about (n / N)**RECENCY."""
    return average + (current - average) * ((RECENCY + 1) / (n_averaged + RECENCY + 1))


def as_batch(images: Sequence[np.ndarray]) -> torch.Tensor:
    """Images (h, w) as one (n, 1, h, w) tensor in the memory order that convolutions on a CPU are fastest in."""
    return torch.from_numpy(np.stack(images)[:, None]).to(memory_format=torch.channels_last)
