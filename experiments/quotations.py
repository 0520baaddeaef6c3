"""Which stored figures README and the documentation quote, by room; the figures themselves are looked up.

A row names what is quoted of a table. Of several peers and ablations the strongest is quoted, and an ablation is called
one. Every row of the table that is stronger is named, too. Tables in which settings were chosen on test images are not
quoted where there is one without them.
"""

from typing import NamedTuple


class Quotation(NamedTuple):
    """One row of the page of results: what is quoted of a table of a stored result.

    Attributes
    ----------
    task, result, table : str
        The task in words, the name of the stored result, and the title of its table.
    ours : tuple of str
        Rows that are quoted; the first that the result has is compared with the strongest of the others.
    peers : tuple of str
        Methods that this library is compared with; of these and of the ablations, the one with the best mean is quoted.
    ablations : tuple of str
        Our own method without a part of it.
    variants : tuple of str
        Further rows of ours that are not quoted.
    among : str
        Only rows with this in their name are of this task; the table has other tasks beside it.
    headline : str
        The task in few words, if README has it too, with the first of `ours` alone.
    """

    task: str
    result: str
    table: str
    ours: tuple[str, ...]
    peers: tuple[str, ...]
    ablations: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    among: str = ""
    headline: str = ""

    def as_headline(self) -> "Quotation":
        """The row of README: fewer words, and only the row of ours that is compared."""
        return self._replace(task=self.headline, ours=self.ours[:1])


PAPERS = {
    "jungles": "Laptev15",
    "codebooks": "Moosmann06",
    "hierarchies": "Wibisono10",
    "tangents": "Pozdnoukhov04",
    "tradeoff": "Varma07",
}
SIMPLE_KERNELS = ("RBF", "RBF, blurred")
TANGENT_VECTORS = (
    *(f"tangent vectors, sum, {how}" for how in ("rotations and scales", "all widths searched", "blurred")),
    "tangent vectors, sum, blurred, also shifts",
    "tangent vectors, product",
    "tangent vectors, distribution",
)
WINDOWS = "1,000 windows per image"
PIXEL_FOREST = ("pixel forest",)
PIXEL_TOOLS = (*PIXEL_FOREST, "TrainableSegmenter", "fastfilters2 and forest", "apoc")
EQUAL_OR_BLOCK_L1 = ("all, equal weights, 1-vs-all", "all, block-l1, 1-vs-1")
CLEAN_SPLITS = "combined, without images that settings were chosen on, accuracy in %"


def _discs(n: int) -> Quotation:
    return Quotation(
        f"every pixel from {n} marked discs of one membrane section (ISBI 2012), mean over three sections, 1 - F",
        "scribbles",
        f"{n} discs, 1 - F in %",
        ("segmenter",),
        PIXEL_TOOLS,
        headline=f"pixels: membranes from {n} marked discs, 1 - F" if n in (10, 40) else "",
    )


def _sections(result: str, n: str, score: str, ours: tuple[str, ...] = ("segmenter",)) -> Quotation:
    task = f"every pixel of membrane sections from {n} (ISBI 2012), {score}"
    headline = f"pixels: membranes from {n}, 1 - F" if n == "1 labelled section" else ""
    return Quotation(task, result, f"{n}, {score} in %", ours, PIXEL_FOREST, headline=headline)


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
        f"all methods weighed together against the best single one and equal weights, {task}, accuracy",
        "all_methods",
        f"{task}, accuracy in %",
        ("all, costs by errors held out, one against all",),
        tuple(f"{name}{scheme}" for name in (*singles, "all, equal weights") for scheme in ("", ", one against all")),
        variants=("all, learned weights", "all, learned weights, one against all"),
    )


def _rotated(name: str) -> Quotation:
    return Quotation(
        f"randomly rotated images identified ({name})",
        "rotated_images",
        f"{name}, rates in %",
        ("histogram, identified",),
        ("inner, identified", "L2, identified"),
        among=", identified",
    )


QUOTATIONS: dict[str, tuple[Quotation, ...]] = {
    "jungles": (
        Quotation(
            "Yale faces, 5 images per person, error",
            "yale_faces",
            "error in %",
            ("ours, 60 jungles", "ours, 60 trees", "TICJ", "TICT"),
            (),
            (
                "ours, 60 jungles, no shifts",
                "ours, 60 jungles, no transformations",
                "ours, one jungle",
                "ours, one tree",
            ),
        ),
        Quotation(
            "MNIST from 1,000 digits, error",
            "mnist_digits",
            "error in %",
            ("jungles, linear head", "jungles, vote", "jungles, no transformations, vote"),
            ("RBF SVM",),
            headline="images: 1,000 handwritten digits, error",
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
            variants=("boosting on responses", "ours, ten jungles", "ours, ten trees", "ours, one tree"),
        ),
    ),
    "segmentation": (
        *(
            _sections("isbi_sections", "18 labelled sections", score, ("segmenter", "segmenter, no context"))
            for score in ("1 - F", "V_rand")
        ),
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
            variants=("forest, 5 trees, binary",),
            headline="images: photographs of bikes or cars, accuracy",
        ),
        Quotation(
            "bikes or background, accuracy at the equal error rate",
            "graz02",
            "bikes or background, accuracy in %",
            ("forest, 5 trees", "forest, 1 tree"),
            ("unsupervised trees",),
            variants=("forest, 5 trees, binary",),
        ),
        Quotation(
            "bikes or cars, 1,000 windows per image, accuracy at the equal error rate",
            "graz02_windows",
            "bikes or cars, accuracy in %, by windows per image",
            (f"forest, 5 trees, {WINDOWS}",),
            (
                f"k-means, 5,000 words, {WINDOWS}",
                *(f"unsupervised trees{how}, {WINDOWS}" for how in ("", ", binary", ", mutual information")),
            ),
            variants=tuple(f"forest, 5 trees, {how}, {WINDOWS}" for how in ("binary", "mutual information")),
            among=WINDOWS,
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
            variants=("2 layers, attended", "3 layers, attended"),
        ),
    ),
    "tangents": (
        Quotation(
            "MNIST from 100 digits, error",
            "tangent_digits_sizes",
            "100 digits, error in %",
            ("tangent distance two-sided, SVM, clipped",),
            SIMPLE_KERNELS,
            variants=("tangent vectors, sum, rotations and scales", "tangent vectors, product"),
        ),
        Quotation(
            "MNIST from 300 digits, error",
            "tangent_digits",
            "error in %",
            (
                "jittered tangent distance, SVM, clipped",
                "tangent vectors, sum, rotations and scales",
            ),
            (
                *(f"tangent distance {how}" for how in ("two-sided, 1-NN", "mean, SVM", "two-sided, SVM")),
                "virtual, shifts",
                "virtual, rotations and scales",
                "jittered, shifts",
                "jittered, rotations and scales",
                *SIMPLE_KERNELS,
            ),
            ("tangent distance two-sided, SVM, clipped",),
            variants=(*TANGENT_VECTORS, "jittered tangent distance, SVM"),
            headline="images: 300 handwritten digits, error",
        ),
        Quotation(
            "Yale faces with normalized illumination, 5 images per person, error",
            "tangent_faces",
            "images normalized, error in %",
            ("jittered tangent distance, SVM, clipped", "jittered tangent distance, SVM"),
            ("RBF", "jittered, shifts", "tangent distance two-sided, SVM"),
            headline="images: faces in changing light, 5 per person, error",
        ),
    ),
    "tradeoff": (
        Quotation(
            "Flowers 17, three official splits, accuracy",
            "flowers17",
            "accuracy in %",
            ("all, 1-vs-all", "the paper's three, 1-vs-all"),
            EQUAL_OR_BLOCK_L1,
            variants=("all, 1-vs-1",),
        ),
        Quotation(
            "Flowers 17 without near-identical images, accuracy",
            "flowers17",
            "without near-identical images, accuracy in %",
            ("all, 1-vs-all", "the paper's three, 1-vs-all"),
            EQUAL_OR_BLOCK_L1,
            variants=("all, 1-vs-1",),
        ),
        Quotation(
            "Flowers 17 without near-identical images, with five kernels of noise added to the paper's three, accuracy",
            "flowers17",
            "without near-identical images, accuracy in %",
            ("the three and noise, 1-vs-all",),
            ("the three and noise, equal weights, 1-vs-all", "the three and noise, equal weights, 1-vs-1"),
            variants=("the three and noise, 1-vs-1",),
            among="noise",
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
            (*EQUAL_OR_BLOCK_L1, "all, equal weights, 1-vs-1"),
            variants=("all, 1-vs-1", "four descriptors, 1-vs-all"),
            headline="images: photographs of 102 classes of objects, accuracy",
        ),
        *(_all_methods(task) for task in ("small digits", "MNIST, 300 digits", "Yale faces")),
    ),
}
