"""Which stored figures README and the pages of the methods quote, by room; the figures themselves are looked up.

A row names what is quoted of a table. Of several peers the strongest is quoted. Tables in which settings were chosen on
test images are not quoted where there is one without them.
"""

from typing import NamedTuple


class Quotation(NamedTuple):
    """One row: rows `ours` and `peers` of a table of a stored result.

    Of `ours`, those are quoted that the result has; the first of them is compared with the peer. Of `peers`, the one
    with the best mean is quoted.
    """

    task: str
    result: str
    table: str
    ours: tuple[str, ...]
    peers: tuple[str, ...]


PAPERS = {
    "jungles": "Laptev15",
    "codebooks": "Moosmann06",
    "hierarchies": "Wibisono10",
    "tangents": "Pozdnoukhov04",
    "tradeoff": "Varma07",
}
SIMPLE_KERNELS = ("RBF", "RBF, blurred")
PIXEL_FOREST = ("pixel forest",)
EQUAL_OR_BLOCK_L1 = ("all, equal weights, 1-vs-all", "all, block-l1, 1-vs-1")
CLEAN_SPLITS = "combined, without images that settings were chosen on, accuracy in %"


def _discs(n: int) -> Quotation:
    return Quotation(
        f"every pixel from {n} marked discs of one membrane section (ISBI 2012), mean over three sections, 1 - F",
        "isbi_scribbles",
        f"{n} discs of one section, 1 - F in %",
        ("jungles",),
        PIXEL_FOREST,
    )


def _sections(result: str, n: str, score: str) -> Quotation:
    task = f"every pixel of membrane sections from {n} (ISBI 2012), {score}"
    return Quotation(task, result, f"{n}, {score} in %", ("jungles", "jungles, no context"), PIXEL_FOREST)


def _all_methods(task: str) -> Quotation:
    singles = (
        "pixels",
        "tangents",
        "jittered tangents",
        "hierarchy",
        "hierarchy of histograms",
        "codebook",
        "texture words",
        "jungles, rotation",
        "jungles, shift",
        "jungles, no Φ",
    )
    return Quotation(
        f"all methods weighed together against the best single one, {task}, accuracy",
        "all_methods",
        f"{task}, accuracy in %",
        ("all, costs by errors held out, one against all",),
        (*singles, *(f"{name}, one against all" for name in singles)),
    )


def _rotated(name: str) -> Quotation:
    return Quotation(
        f"randomly rotated images identified ({name})",
        "rotated_images",
        f"{name}, rates in %",
        ("histogram, identified",),
        ("inner, identified", "L2, identified"),
    )


QUOTATIONS: dict[str, tuple[Quotation, ...]] = {
    "jungles": (
        Quotation(
            "Yale faces, 5 images per person, error; tangents below do better",
            "yale_faces",
            "error in %",
            (
                "ours, 60 jungles",
                "the same, one person against the rest",
                "TICJ",
                "TICT",
            ),
            ("ours, 60 jungles, no transformations", "TICJ, no transformations"),
        ),
        Quotation(
            "MNIST from 1,000 digits, error",
            "mnist_digits",
            "error in %",
            ("jungles, linear head", "jungles, vote", "jungles, no transformations, vote"),
            ("RBF SVM",),
        ),
        Quotation(
            "membrane or cell from 50,000 patches (ISBI 2012), 1 - F",
            "isbi_patches",
            "1 - F in %",
            (
                "boosting on responses, two scales",
                "the same, small",
                "ours, one jungle",
                "TICJ",
                "TICT",
            ),
            ("random forest, basic features",),
        ),
    ),
    "segmentation": (
        _sections("isbi_sections", "18 labelled sections", "1 - F"),
        _sections("isbi_sections", "18 labelled sections", "V_rand"),
        _sections("isbi_few", "1 labelled section", "1 - F"),
        _sections("isbi_few", "3 labelled sections", "1 - F"),
        *(_discs(n) for n in (10, 40, 160)),
    ),
    "codebooks": (
        Quotation(
            "bikes or cars (GRAZ-02), 2,000 windows per image, accuracy at the equal error rate",
            "graz02",
            "bikes or cars, accuracy in %",
            ("forest, 5 trees", "forest, 1 tree"),
            ("unsupervised trees",),
        ),
        Quotation(
            "bikes or background, accuracy at the equal error rate",
            "graz02",
            "bikes or background, accuracy in %",
            ("forest, 5 trees", "forest, 1 tree"),
            ("unsupervised trees",),
        ),
        Quotation(
            "bikes or cars, 1,000 windows per image, accuracy at the equal error rate",
            "graz02_windows",
            "bikes or cars, accuracy in %, by windows per image",
            ("forest, 5 trees, 1,000 windows per image",),
            ("k-means, 5,000 words, 1,000 windows per image", "unsupervised trees, 1,000 windows per image"),
        ),
    ),
    "hierarchies": (
        _rotated("MNIST"),
        _rotated("Caltech 101"),
        Quotation(
            "shifted digits, 5 examples per class, accuracy of the nearest neighbour",
            "sample_complexity",
            "5 examples per class, accuracy in %",
            ("2 layers", "3 layers"),
            ("L2",),
        ),
    ),
    "tangents": (
        Quotation(
            "MNIST from 100 digits, error",
            "tangent_digits_sizes",
            "100 digits, error in %",
            ("tangent distance two-sided, SVM, clipped",),
            SIMPLE_KERNELS,
        ),
        Quotation(
            "MNIST from 300 digits, error",
            "tangent_digits",
            "error in %",
            (
                "jittered tangent distance, SVM, clipped",
                "tangent distance two-sided, SVM, clipped",
                "tangent vectors, sum, rotations and scales",
            ),
            SIMPLE_KERNELS,
        ),
        Quotation(
            "MNIST from 300 digits, error; peers with virtual and jittered examples",
            "tangent_digits",
            "error in %",
            ("jittered tangent distance, SVM, clipped",),
            (
                "virtual, shifts",
                "virtual, rotations and scales",
                "jittered, shifts",
                "jittered, rotations and scales",
                *SIMPLE_KERNELS,
            ),
        ),
        Quotation(
            "Yale faces with normalized illumination, 5 images per person, error",
            "tangent_faces",
            "images normalized, error in %",
            ("jittered tangent distance, SVM, clipped", "jittered tangent distance, SVM"),
            ("RBF", "jittered, shifts"),
        ),
    ),
    "tradeoff": (
        Quotation(
            "Flowers 17, three official splits, accuracy",
            "flowers17",
            "accuracy in %",
            ("all, 1-vs-all", "the paper's three, 1-vs-all"),
            EQUAL_OR_BLOCK_L1,
        ),
        Quotation(
            "Flowers 17 without near-identical images, accuracy",
            "flowers17",
            "without near-identical images, accuracy in %",
            ("all, 1-vs-all", "the paper's three, 1-vs-all"),
            EQUAL_OR_BLOCK_L1,
        ),
        Quotation(
            "Flowers 17 with five kernels of noise added to the paper's three, accuracy",
            "flowers17",
            "without near-identical images, accuracy in %",
            ("the three and noise, 1-vs-all",),
            ("the three and noise, equal weights, 1-vs-all", "the three and noise, equal weights, 1-vs-1"),
        ),
        Quotation(
            "UIUC textures, 20 images per class, without images that settings were chosen on, accuracy",
            "uiuc_textures",
            CLEAN_SPLITS,
            ("with added, learned, one against all", "the eight, learned, one against all"),
            (
                "with added, equal weights, one against all",
                "the eight, equal weights, one against all",
                "with added, block-l1, one against one",
                "the eight, block-l1, one against one",
            ),
        ),
        Quotation(
            "Caltech 101, 15 images per class, 102 classes, accuracy",
            "caltech_objects",
            "accuracy in %",
            ("all, 1-vs-all",),
            EQUAL_OR_BLOCK_L1,
        ),
        *(_all_methods(task) for task in ("small digits", "MNIST, 300 digits", "Yale faces")),
    ),
}
