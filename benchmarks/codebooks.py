"""Clustering forests: building and coding against scikit-learn's trees and k-means, extraction against OpenCV.

Usage, from the repository: python -m benchmarks.codebooks
Windows come from GRAZ-02's bikes and cars if available, else from generated images; every ratio compares two figures of
the same run.
"""

import cv2
import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesClassifier, RandomTreesEmbedding

from benchmarks.timing import best
from invariance.codebooks import BagOfFeatures, ClusteringForest, RandomWindows
from invariance.datasets import DatasetMissing, load_graz02
from invariance.descriptors import HaarPatches
from invariance.images import draw_boxes

N_DESCRIPTORS, N_TREES, N_LEAVES, N_TRIALS = 20_000, 5, 1000, 50
N_WINDOWS = 8000


def load_images(n_each=150):
    """Images of two classes, and their labels."""
    try:
        classes = [load_graz02([name]).images[:n_each] for name in ("bikes", "cars")]
        photos = [photo for images in classes for photo in images]
    except DatasetMissing:
        rng = np.random.default_rng(0)
        photos = [cv2.resize(rng.random((24 + 8 * k % 48, 32, 3)), (320, 240)) for k in range(2 * n_each)]
    return photos, np.repeat([0, 1], len(photos) // 2)


def describe(photos, labels, n_descriptors):
    """Haar descriptors of random windows, equally many per image, and the labels of their images."""
    n_each, rng = -(-n_descriptors // len(photos)), np.random.default_rng(0)
    parts = [HaarPatches().extract(image, draw_boxes(image.shape, n_each, rng))[0] for image in photos]
    order = rng.permutation(n_each * len(photos))[:n_descriptors]
    return np.concatenate(parts)[order], np.repeat(labels, n_each)[order]


def compare_building(D, y):
    ours = ClusteringForest(N_TREES, n_leaves=N_LEAVES, max_trials=N_TRIALS, n_jobs=2, random_state=0)
    ours.fit(D[:200], y[:200])  # compile
    ours_seconds, _ = best(lambda: ours.fit(D, y))
    print(f"Building {N_TREES} trees of {N_LEAVES} leaves on {D.shape[0]:,} x {D.shape[1]}: ours {ours_seconds:.2f} s")
    peers = {
        "ExtraTreesClassifier(5, max_features=50)": ExtraTreesClassifier(
            N_TREES, max_features=N_TRIALS, n_jobs=2, random_state=0
        ),
        "RandomTreesEmbedding(5, 1000 leaves)": RandomTreesEmbedding(
            N_TREES, max_leaf_nodes=N_LEAVES, max_depth=None, n_jobs=2, random_state=0
        ),
    }
    for name, peer in peers.items():
        peer_seconds, _ = best(lambda peer=peer: peer.fit(D, y))
        print(f"  {name}: {peer_seconds:.2f} s, ours takes {ours_seconds / peer_seconds:.2f} of it")
    kmeans = KMeans(N_TREES * N_LEAVES, init="random", n_init=1, max_iter=300, random_state=0)
    kmeans_seconds, _ = best(lambda: kmeans.fit(D), 1)
    print(
        f"  k-means, {N_TREES * N_LEAVES:,} centres, {kmeans.n_iter_} iterations: {kmeans_seconds:.1f} s, "
        f"{kmeans_seconds / ours_seconds:.0f} times ours"
    )
    return ours, peers["ExtraTreesClassifier(5, max_features=50)"], kmeans


def compare_coding(D, forest, trees, kmeans):
    ours, _ = best(lambda: forest.transform(D))
    theirs, _ = best(lambda: trees.apply(D))
    words, _ = best(lambda: kmeans.predict(D), 1)
    print(
        f"Coding, descriptors per second: ours {len(D) / ours:,.0f}, sklearn apply {len(D) / theirs:,.0f} "
        f"({theirs / ours:.1f} times), k-means {len(D) / words:,.0f} ({words / ours:.0f} times)"
    )


def show_growth(D, y):
    print("Build time against √D N log k, in 1e-9 s per unit")

    def unit(n, d, leaves):
        forest = ClusteringForest(N_TREES, n_leaves=leaves, max_trials="sqrt", n_jobs=2, random_state=0)
        took, _ = best(lambda: forest.fit(D[:n, :d], y[:n]), 2)
        grown = N_TREES * np.sqrt(d) * n * np.log2(leaves)
        print(f"  N {n:>6,}  D {d:>3}  leaves {leaves:>5,}: {took:.3f} s, {1e9 * took / grown:.2f}")

    for n in (2500, 5000, 10_000, 20_000):
        unit(n, 768, 1000)
    for d in (48, 192, 768):
        unit(20_000, d, 1000)
    for leaves in (100, 1000, 4000):
        unit(20_000, 768, leaves)


def opencv_haar(image, boxes):
    """A plain implementation with OpenCV: cut, resize and convert one window at a time, then transform all of them."""
    patches = np.empty((len(boxes), 16, 16, 3), np.float32)
    for patch, (top, left, side) in zip(patches, boxes.tolist(), strict=True):
        small = cv2.resize(image[top : top + side, left : left + side], (16, 16), interpolation=cv2.INTER_AREA)
        cv2.cvtColor(small, cv2.COLOR_RGB2HLS, dst=patch)
    patches[..., 0] /= 360
    length = 16
    while length > 1:
        for axis in (1, 2):
            part = np.moveaxis(patches[:, :length, :length], axis, 1)
            even, odd = part[:, ::2], part[:, 1::2]
            part[:] = np.concatenate([even + odd, even - odd], axis=1) / np.float32(np.sqrt(2))
        length //= 2
    return patches.reshape(len(boxes), -1)


def compare_extraction(photos):
    image = np.asarray(photos[0], np.float32)
    boxes = draw_boxes(image.shape, N_WINDOWS, np.random.default_rng(0))
    HaarPatches().extract(image, boxes[:10])[0]
    ours, _ = best(lambda: HaarPatches().extract(image, boxes)[0])
    theirs, _ = best(lambda: opencv_haar(image, boxes), 1)
    print(
        f"Extraction on one core, Haar descriptors per second: ours {len(boxes) / ours:,.0f}, "
        f"OpenCV {len(boxes) / theirs:,.0f}, {theirs / ours:.0f} times"
    )


def count_images(photos, labels):
    bag = BagOfFeatures(sampler=RandomWindows(N_WINDOWS), n_jobs=2, random_state=0).fit(photos, labels)
    bag.count(photos[:2])
    took, _ = best(lambda: bag.count(photos[:100]), 1)
    print(f"Images per second with {N_WINDOWS:,} windows, from array to bag: {100 / took:.1f}")


if __name__ == "__main__":
    photos, labels = load_images()
    D, y = describe(photos, labels, N_DESCRIPTORS)
    compare_extraction(photos)
    forest, trees, kmeans = compare_building(D, y)
    compare_coding(D, forest, trees, kmeans)
    show_growth(D, y)
    count_images(photos, labels)
