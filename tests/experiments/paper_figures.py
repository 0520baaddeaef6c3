"""The papers' figures, typed from the papers: experiment -> table -> row -> figure.

Shares of weights are computed here from the weights that the paper prints.
"""


def _shares(**weights):
    total = sum(weights.values())
    return {name: 100 * weight / total for name, weight in weights.items() if weight}


ACCURACY = "accuracy in %"
SHARE = "share of the weights in %"
UNSEEN = f"without images that settings were chosen on, {ACCURACY}"

FIGURES = {
    # [Laptev15], the tables of sec. 4.1 and 4.2.
    "yale_faces": {"error in %": {"TICT": 18.4, "TICJ, no transformations": 16.0, "TICJ": 12.9}},
    "isbi_patches": {"1 - F in %": {"random forest, basic features": 7.9, "TICT": 6.7, "TICJ": 6.0}},
    # [Moosmann06], sec. 4: B vs. N, and the horses.
    "graz02": {f"bikes or background, {ACCURACY}": {"forest, 5 trees, binary": 84.4}},
    "pascal_2005": {ACCURACY: {"motorbikes": 95.8, "bicycles": 90.1, "people": 94.0, "cars": 96.0}},
    "horses": {ACCURACY: {"forest": 85.3}},
    # [Wibisono10], table 1 and fig. 3.
    "rotated_images": {
        "MNIST, rates in %": {
            "histogram, identified": 37.39,
            "histogram, classified": 47.40,
            "inner, identified": 8.84,
            "inner, classified": 27.13,
            "L2, identified": 8.05,
            "L2, classified": 27.64,
        },
        "Caltech 101, rates in %": {
            "histogram, identified": 88.62,
            "histogram, classified": 91.35,
            "inner, identified": 21.98,
            "inner, classified": 34.06,
            "L2, identified": 9.94,
            "L2, classified": 24.64,
        },
    },
    "sample_complexity": {"examples per class for 65 % accuracy": {"3 layers": 5, "2 layers": 11}},
    # [Pozdnoukhov04], table 1.
    "tangent_digits": {
        "error in %": {
            "RBF": 11.2,
            "virtual, rotations and scales": 9.8,
            "jittered, rotations and scales": 10.0,
            "tangent vectors, sum, rotations and scales": 9.7,
        }
    },
    # [Varma07], tables 1 to 3 and figs 2, 5 and 7.
    "uiuc_textures": {
        f"1NN, {UNSEEN}": {
            "none (patch)": 82.39,
            "none (MR)": 82.18,
            "rotation (patch)": 97.83,
            "rotation (MR)": 93.00,
            "rotation (fractal)": 94.96,
            "scale (MR)": 76.77,
            "similarity (MR)": 90.35,
            "bi-Lipschitz (fractal)": 95.40,
        },
        f"SVM, {UNSEEN}": {
            "none (patch)": 91.46,
            "none (MR)": 91.16,
            "rotation (patch)": 98.18,
            "rotation (MR)": 96.69,
            "rotation (fractal)": 97.24,
            "scale (MR)": 87.04,
            "similarity (MR)": 95.12,
            "bi-Lipschitz (fractal)": 97.19,
        },
        f"combined, {UNSEEN}": {
            "the eight, learned, one against one": 98.76,
            "the eight, learned, one against all": 98.9,
            "the eight, block-l1, one against one": 96.94,
            "the eight, equal weights, one against one": 96.79,
        },
    },
    "texture_weights": {
        f"T23_knit or T03_bark3, {SHARE}": {"bi-Lipschitz": 100.0},
        f"T23_knit or T07_water, {SHARE}": _shares(rotation=1.46, **{"bi-Lipschitz": 0.22}),
        f"T07_water or T04_wood1, {SHARE}": {"rotation": 100.0},
    },
    "flowers17": {
        ACCURACY: {
            "shape, nearest neighbour": 53.30,
            "shape, machine": 68.88,
            "colour, nearest neighbour": 47.32,
            "colour, machine": 59.71,
            "texture, nearest neighbour": 39.36,
            "texture, machine": 59.00,
            "the paper's three, 1-vs-1": 80.49,
            "the paper's three, 1-vs-all": 82.55,
            "the paper's three, block-l1, 1-vs-1": 77.84,
            "the paper's three, texture forced up, 1-vs-1": 81.12,
            "the paper's three, searched weights, 1-vs-1": 80.62,
        }
    },
    "flower_weights": {
        f"dandelion or tulip, {SHARE}": _shares(shape=3.94, colour=0, texture=0),
        f"dandelion or crocus, {SHARE}": _shares(shape=0.42, colour=2.46, texture=0),
        f"cowslip or iris, {SHARE}": _shares(shape=1.48, colour=2.00, texture=1.36),
        "cue that counts most, in % of all pairs": {"shape": 38.24, "colour": 60.29, "texture": 1.47},
    },
    "caltech_objects": {
        ACCURACY: {
            "GB, nearest neighbour": 39.67,
            "GB, machine": 57.33,
            "GBDist, nearest neighbour": 45.23,
            "GBDist, machine": 59.30,
            "AppGray, nearest neighbour": 42.08,
            "AppGray, machine": 52.83,
            "AppColour, nearest neighbour": 32.79,
            "AppColour, machine": 40.84,
            "Shape180, nearest neighbour": 32.01,
            "Shape180, machine": 48.83,
            "Shape360, nearest neighbour": 31.17,
            "Shape360, machine": 50.63,
            "all, 1-vs-1": 78.43,
            "all, 1-vs-all": 87.82,
            "all, block-l1, 1-vs-1": 76.55,
            "four descriptors, 1-vs-all": 79.85,
        }
    },
    "object_weights": {f"butterfly or electric_guitar, {SHARE}": {"shape": 100.0}},
}
# Other figures of the papers, for methods that the library does not have.
OTHERS = {
    "yale_faces": {"Cai et al.": 18.3, "Cai et al., updated": 14.7, "Hua et al.": 13.2, "Shan et al., more data": 8.2},
    "isbi_patches": {"convolutional decision trees": 6.8, "convolutional network": 6.0},
    "graz02": {"bikes, objects cut out": 84.1, "cars": 79.9, "cars, objects cut out": 79.8},
}
# Other data than the paper's, or fewer classes: its figures do not apply.
ON_OTHER_DATA = {
    "isbi_patches",
    "isbi_sections",
    "isbi_few",
    "scribbles",
    "scribbles_cells",
    "graz02",
    "graz02_8000",
    "graz02_windows",
    "graz02_forests",
    "graz02_features",
    "graz02_trials",
    "graz02_pruning",
    "graz02_votes",
    "graz02_descriptors",
    "tangent_digits",
    "tangent_digits_1000",
    "tangent_digits_sizes",
    "caltech_few",
}
# How many runs the papers average over.
RUNS = {"yale_faces": 50, "graz02": 10, "rotated_images": 50, "sample_complexity": 50, "low_rank_5": 50,
        "low_rank_30": 50, "uiuc_textures": 20, "flowers17": 20}  # fmt: skip
