"""Small generated tasks for pixels of which it is known what matters."""

import numpy as np
from scipy import ndimage


def handed_figures(n_images=4, side=96, seed=0):
    """S and Z, turned at random, labelled 1 and 2 in their middle, else 0: only the handedness tells them apart."""
    rng = np.random.default_rng(seed)
    figure = np.zeros((15, 15))
    figure[7, 4:11] = figure[4:8, 4] = figure[7:11, 10] = 1
    figure = ndimage.gaussian_filter(ndimage.binary_dilation(figure).astype(float), 0.5)
    images, masks = np.full((n_images, side, side), 0.2), np.zeros((n_images, side, side), np.uint8)
    for image, mask in zip(images, masks, strict=True):
        for row in range(8, side - 8, 16):
            for column in range(8, side - 8, 16):
                label = rng.integers(1, 3)
                drawn = figure if label == 1 else figure[:, ::-1]
                turned = ndimage.rotate(drawn, rng.uniform(0, 360), reshape=False, order=1)
                image[row - 7 : row + 8, column - 7 : column + 8] += 0.6 * turned
                mask[row - 1 : row + 2, column - 1 : column + 2] = label
    images += rng.normal(0, 0.03, images.shape)
    return list(images.clip(0, 1).astype(np.float32)), list(masks)


def striped_squares(n_images=4, side=64, seed=0):
    """Squares with level stripes (1) and upright stripes (0): only the orientation tells them apart."""
    rng = np.random.default_rng(seed)
    images, masks = [], []
    rows, columns = np.mgrid[:side, :side]
    for _ in range(n_images):
        mask = np.kron(rng.permutation(4).reshape(2, 2) % 2, np.ones((side // 2, side // 2), np.uint8))
        waves = np.sin(1.2 * np.where(mask, rows, columns) + rng.uniform(0, 6))
        images.append((0.5 + 0.2 * waves + rng.normal(0, 0.1, mask.shape)).clip(0, 1).astype(np.float32))
        masks.append(mask.astype(np.uint8))
    return images, masks


def dots_in_uneven_light(n_images=8, side=96, seed=0):
    """Dots that take away a fifth (1) or a quarter (2) of a light that varies by a factor of seven, else 0."""
    rng = np.random.default_rng(seed)
    dot = np.exp(-(np.hypot(*np.mgrid[-7:8, -7:8]) ** 2) / 8)
    rows, columns = np.mgrid[:side, :side] / side
    images, masks = [], []
    for _ in range(n_images):
        phase, angle = rng.uniform(0, 2 * np.pi, 2)
        light = np.exp(np.sin(2 * np.pi * (rows * np.cos(angle) + columns * np.sin(angle)) + phase))
        image, mask = np.ones((side, side)), np.zeros((side, side), np.uint8)
        for row in range(8, side - 8, 16):
            for column in range(8, side - 8, 16):
                label = rng.integers(1, 3)
                image[row - 7 : row + 8, column - 7 : column + 8] -= (3 + label) / 20 * dot
                mask[row - 1 : row + 2, column - 1 : column + 2] = label
        lit = light * (image + rng.normal(0, 0.03, image.shape))
        images.append((lit / lit.max()).astype(np.float32))
        masks.append(mask)
    return images, masks
