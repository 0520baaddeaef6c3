"""Every table and figure of the five papers by name: data, the paper's claims, and how it is run."""

from experiments import reproductions
from experiments.experiment import Experiment
from experiments.verdicts import Claim


def find_experiment(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}. Try one of: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


SAME_SECTIONS = "All draws are from the same training sections and are tested on the same six sections"
BEST_THRESHOLD = "F and V_rand are those at the threshold that is best on the test labels, for every method alike."
SEGMENTER = (
    "The segmenter combines learned filters with a bank of fixed filters, by boosting; its second round sees the "
    "classes that the first one gave the pixels around. It is ours, not the paper's algorithm."
)
SAME_LABELS = "All runs learn from the same labelled sections; only the seeds of the methods differ"
MARKS = tuple(f"{n} {kind}" for kind in ("discs", "strokes") for n in (10, 40, 160))
DRAWS_OF_MARKS = {
    f"{marks}, {figure}": "draw"
    for marks in MARKS
    for figure in ("1 - F in %", "1 - F in % of the pixel forest's", "calibration error in points")
}
SCRIBBLES = (
    "Seconds are those of training, and in tables of calibration errors those of labelling one image. Tools whose "
    f"package is not installed are left out. {BEST_THRESHOLD}"
)
DRAWS_COUNT = "a run has three draws, which count one by one"
BETTER_THAN_FOREST, BETTER_THAN_UNET = (
    tuple(
        Claim(f"{marks} in one image: the segmenter is better than {peer}", f"{marks}, 1 - F in %", "segmenter", row,
              is_papers=False)
        for marks in MARKS
    )
    for peer, row in (("a pixel forest", "pixel forest"), ("a U-Net after 100 s", "U-Net, 100 s"))
)  # fmt: skip
JUNGLES = (
    Experiment(
        "yale_faces", "Laptev15", "table of sec. 4.1",
        "15 people, 5 of 11 images each for training, the others for testing, 32 x 32 pixels, random splits.",
        ("yale",), reproductions.yale_faces, 50, 20, paper_runs=50,
        differs="The paper does not give the size of the images. TICT and TICJ are one tree and one jungle as in the "
        "paper, grown on all training images until their leaves are pure; with early stopping, one image per person "
        "is held out. Ours separate groups of classes, split where the information gain is largest, and have images "
        "with normalized illumination, and shifts; 60 trees or jungles have two layers and a linear discriminant. "
        "Merging starts beyond 3K = 45 leaves, of which 75 images make 38 to 50: few are merged, and no figure "
        "differs, so that the table does not test merging. There is no method of others in it. Our settings "
        "were chosen on splits of other seeds (1000 to 1014), but of the same 165 images: the test images of the table "
        "are among the training images that settings were chosen on.",
        claims=(
            Claim("jungles with transformations are better than jungles without", "error in %", "TICJ",
                  "TICJ, no transformations"),
            Claim("one jungle is better than one tree", "error in %", "TICJ", "TICT"),
            Claim("the same for ours: transformations help", "error in %", "ours, 60 jungles",
                  "ours, 60 jungles, no transformations", is_papers=False),
            Claim("the same for ours: shifts help", "error in %", "ours, 60 jungles", "ours, 60 jungles, no shifts",
                  is_papers=False),
            Claim("the same for ours: 60 jungles are better than 60 trees", "error in %", "ours, 60 jungles",
                  "ours, 60 trees", is_papers=False),
            Claim("a jungle that stops early is better than one grown until its leaves are pure", "error in %",
                  "TICJ, early stopping", "TICJ", is_papers=False),
        ),
        others={"Cai et al.": 18.3, "Cai et al., updated": 14.7, "Hua et al.": 13.2, "Shan et al., more data": 8.2},
    ),
    Experiment(
        "isbi_patches", "Laptev15", "table of sec. 4.2",
        "A pixel is membrane or cell by the 31 x 31 patch around it, 24 rotations, 50,000 patches; 1 - F of cells.",
        ("isbi2012",), reproductions.isbi_patches, 3, 12, dependence=SAME_SECTIONS,
        unavailable="the labels of the challenge's test sections, which are not public",
        differs="Learned on sections 0-17 of the training stack, tested on 120,000 pixels of 18-23. Trees and jungles "
        "of one size stop growing by the same rule, on a fifth of the pixels, and so differ in merging alone. It stops "
        "TICT and TICJ early: they keep 2 to 8 filters (three draws), too few to merge. "
        f"{BEST_THRESHOLD}",
        claims=(
            Claim("one jungle is better than a random forest on fixed features", "1 - F in %", "TICJ",
                  "random forest, basic features"),
            Claim("one jungle is better than one tree", "1 - F in %", "TICJ", "TICT"),
            Claim("the same for ours: one jungle is better than one tree", "1 - F in %", "ours, one jungle",
                  "ours, one tree", is_papers=False),
            Claim("the same for ours: ten jungles are better than ten trees", "1 - F in %", "ours, ten jungles",
                  "ours, ten trees", is_papers=False),
            Claim("the same for ours: a tree that stops early is better than one grown to the end", "1 - F in %",
                  "ours, one tree", "ours, one tree, grown to the end", is_papers=False),
        ),
        others={"convolutional decision trees": 6.8, "convolutional network": 6.0},
    ),
    Experiment(
        "isbi_sections", "Laptev15", "beyond the paper",
        "Every pixel of six sections, after training on 18 labelled ones; compared with a forest on usual features.",
        ("isbi2012",), reproductions.isbi_sections, 2, 4, dependence=SAME_LABELS,
        unavailable="the labels of the challenge's test sections, which are not public",
        differs=f"{SEGMENTER} {BEST_THRESHOLD}",
        claims=(
            Claim("for every pixel, the segmenter without its second round is better than a forest on fixed features",
                  "18 labelled sections, 1 - F in %", "segmenter, no context", "pixel forest", is_papers=False),
        ),
    ),
    Experiment(
        "isbi_few", "Laptev15", "beyond the paper",
        "Every pixel of six sections, after training on one and on three labelled ones.",
        ("isbi2012",), reproductions.isbi_few, 2, 4, dependence=SAME_LABELS, differs=f"{SEGMENTER} {BEST_THRESHOLD}",
    ),
    Experiment(
        "isbi_unet", "Laptev15", "beyond the paper",
        "The sections of `isbi_sections`, also by a small U-Net after 20 to 200 s of training.",
        ("isbi2012",), reproductions.isbi_unet, 1, 10, packages=("torch",), dependence=SAME_LABELS,
        differs=f"{SEGMENTER} {BEST_THRESHOLD}",
    ),
    Experiment(
        "scribbles", "Laptev15", "beyond the paper",
        "Every pixel of six sections, after training on 10, 40 and 160 discs of 11 pixels, or strokes of a hand, in "
        "one section; compared with other tools for pixels, and with a small U-Net after 20, 50 and 100 s.",
        ("isbi2012",), reproductions.scribbles, 3, 200, dependence=SAME_SECTIONS, units=DRAWS_OF_MARKS,
        why_fewer=DRAWS_COUNT,
        differs=f"A run is one draw in each of the sections 0, 8 and 16, and has three figures. {SCRIBBLES}",
        claims=(*BETTER_THAN_FOREST, *BETTER_THAN_UNET),
    ),
    Experiment(
        "scribbles_cells", "Laptev15", "beyond the paper",
        "The marks and methods of `scribbles` on generated cells: an image for training, two others for testing.",
        ("membranes",), reproductions.scribbles_cells, 3, 120, units=DRAWS_OF_MARKS, why_fewer=DRAWS_COUNT,
        differs=f"A run generates three times three images, and has three figures. {SCRIBBLES}",
        claims=(*BETTER_THAN_FOREST, *BETTER_THAN_UNET),
    ),
    Experiment(
        "mnist_digits", "Laptev15", "beyond the paper",
        "1,000 training and 10,000 test digits, small rotations and shifts; compared with a tuned RBF SVM.",
        ("mnist",), reproductions.mnist_digits, 5, 5,
        claims=(
            Claim("jungles with transformations are better than jungles without", "error in %", "jungles, vote",
                  "jungles, no transformations, vote", is_papers=False),
        ),
    ),
    Experiment(
        "rotated_mnist", "Laptev15", "beyond the paper",
        "MNIST digits turned by any angle, 1,000, 2,000 or 12,000 for training, 10,000 for testing.",
        ("mnist",), reproductions.rotated_mnist, 5, 40,
        differs="The digits are turned anew: the images of the published task [Larochelle07] are not available here. "
        "The settings of the landmarks were chosen on held-out digits of the training part.",
        claims=tuple(
            Claim(f"{size} digits: landmarks over 24 rotations are better than {name}", f"{size} digits, error in %",
                  "landmarks", row, is_papers=False)
            for size in ("1,000", "2,000", "12,000")
            for name, row in (("without", "landmarks, no transformations"), ("an RBF SVM", "RBF SVM"))
        ),
    ),
)  # fmt: skip

BACKGROUND_UNAVAILABLE = "GRAZ-02's own background images, and the masks"
BIKES_OR_CARS = f"bikes or cars, {reproductions.ACCURACY}"
BY_WINDOWS, BY_TREES, BY_LEAVES, BY_TRIALS = (
    f"{BIKES_OR_CARS}, by {places}" for places in ("windows per image", "trees", "leaves per tree", "trials")
)
CODEBOOKS = (
    Experiment(
        "graz02", "Moosmann06", "sec. 4, GRAZ-02",
        "150 training and 150 test images per class, 2,000 windows per image; accuracy at the equal error rate.",
        ("graz02", "caltech101", "mnist"), reproductions.graz02, 5, 7, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE,
        differs="Bikes against Caltech's background or GRAZ-02's cars, without near-identical photographs; the paper "
        "has 8,000 windows per image and binary counts. Every run draws its training and test images; the paper has "
        "one split, by even and odd numbers of images, and repeats the learning. Setting 2, training on masks, cannot "
        "be run without them.",
        claims=(
            Claim("supervised forests are better than unsupervised ones", BIKES_OR_CARS,
                  "forest, 5 trees", "unsupervised trees"),
            Claim("five trees are better than one", BIKES_OR_CARS, "forest, 5 trees", "forest, 1 tree"),
        ),
        others={"bikes, objects cut out": 84.1, "cars": 79.9, "cars, objects cut out": 79.8},
    ),
    Experiment(
        "graz02_8000", "Moosmann06", "sec. 4, GRAZ-02, the paper's number of windows",
        "Bikes or cars as in `graz02`, 8,000 windows per image; compared with k-means of 5,000 words.",
        ("graz02",), reproductions.graz02_8000, 2, 60, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE, differs="Bikes against cars.",
        claims=(
            Claim("forests are better than k-means", BIKES_OR_CARS, "forest, 5 trees", "k-means, 5,000 words"),
        ),
    ),
    Experiment(
        "graz02_windows", "Moosmann06", "fig. 4 a",
        "Bikes or cars as in `graz02`, by number of windows per image; compared with k-means of 5,000 words. Counts "
        "are normalized as is best on held-out training images, made binary, or cut where they tell most of the class.",
        ("graz02",), reproductions.graz02_windows, 5, 18, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE,
        differs="Bikes against cars; the paper has up to 50,000 windows. k-means: random start, mini-batches.",
        claims=(
            Claim("forests are better than k-means", BY_WINDOWS, "forest, 5 trees, 1,000 windows per image",
                  "k-means, 5,000 words, 1,000 windows per image"),
            Claim("more windows are better", BY_WINDOWS, "forest, 5 trees, 1,000 windows per image",
                  "forest, 5 trees, 100 windows per image"),
            Claim("cut by mutual information, unsupervised trees are better than binary", BY_WINDOWS,
                  "unsupervised trees, mutual information, 1,000 windows per image",
                  "unsupervised trees, binary, 1,000 windows per image"),
            Claim("forests are better than unsupervised trees cut by mutual information", BY_WINDOWS,
                  "forest, 5 trees, binary, 1,000 windows per image",
                  "unsupervised trees, mutual information, 1,000 windows per image"),
        ),
    ),
    Experiment(
        "graz02_forests", "Moosmann06", "fig. 4 b and d",
        "Bikes or cars as in `graz02` with 1,000 windows, by number of trees and of leaves per tree after pruning.",
        ("graz02",), reproductions.graz02_forests, 5, 7, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE, differs="Bikes against cars.",
        claims=(
            Claim("five trees are better than one", BY_TREES, "1,000 leaves per tree, 5 trees",
                  "1,000 leaves per tree, 1 trees"),
            Claim("more than five trees add little", BY_TREES, "1,000 leaves per tree, 10 trees",
                  "1,000 leaves per tree, 5 trees", "level"),
            Claim("heavy pruning is worse than 1,000 leaves per tree", BY_LEAVES, "5 trees, 1,000 leaves per tree",
                  "5 trees, 50 leaves per tree"),
        ),
    ),
    Experiment(
        "graz02_features", "Moosmann06", "fig. 4 c",
        "Bikes or cars as in `graz02` with 1,000 windows, by number of training windows, which the paper calls "
        "features, and of leaves per tree.",
        ("graz02",), reproductions.graz02_features, 5, 20, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE, differs="Bikes against cars.",
        claims=(
            Claim("heavy pruning is worse than 3,000 leaves per tree, of 80,100 features", BY_LEAVES,
                  "80,100 features, 3,000 leaves per tree", "80,100 features, 50 leaves per tree"),
        ),
    ),
    Experiment(
        "graz02_trials", "Moosmann06", "sec. 4, T_max by validation",
        "Bikes or cars as in `graz02` with 1,000 windows, by number of tests tried per node; and with the number that "
        "is best on a third of the training images, for words learned from the others.",
        ("graz02",), reproductions.graz02_trials, 5, 15, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE, differs="Bikes against cars.",
        claims=(
            Claim("50 trials are better than trees at random", BY_TRIALS, "forest, 50 trials", "forest, 1 trials"),
        ),
    ),
    Experiment(
        "graz02_pruning", "Moosmann06", "sec. 3, pruning",
        "Bikes or cars as in `graz02` with 1,000 windows: trees grown fully and pruned to 1,000 leaves, grown best "
        "node first to 1,000 leaves, and not pruned.",
        ("graz02",), reproductions.graz02_pruning, 5, 8, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE,
        differs="Bikes against cars. The paper stops growing at a threshold of the gain, which leaves the number of "
        "leaves open, and has no figures for it.",
        claims=(
            Claim("growing fully and pruning little is better than pruning", BIKES_OR_CARS, "not pruned",
                  "grown fully, then pruned"),
        ),
    ),
    Experiment(
        "graz02_votes", "Moosmann06", "sec. 4, comparison with Marée et al.",
        "Bikes or cars as in `graz02` with 1,000 windows: words of leaves with a support vector machine, and mean "
        "class shares of the same leaves without one.",
        ("graz02",), reproductions.graz02_votes, 5, 6, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE,
        differs="Bikes against cars. The paper says that words are 5 to 10 points better; Marée et al. have raw pixels "
        "and more trees, here both have the same five trees.",
        claims=(
            Claim("words are better than votes", BIKES_OR_CARS, "not pruned, words", "not pruned, leaves vote"),
        ),
    ),
    Experiment(
        "graz02_descriptors", "Moosmann06", "sec. 4, descriptors",
        "Bikes or cars as in `graz02` with 1,000 windows, by HSL colours, Haar wavelets of them, and SIFT.",
        ("graz02",), reproductions.graz02_descriptors, 5, 10, paper_runs=10,
        unavailable=BACKGROUND_UNAVAILABLE,
        differs="Bikes against cars. The paper finds wavelets best on GRAZ-02, without figures for the others.",
        claims=(
            Claim("wavelets are better than colours", BIKES_OR_CARS, "Haar wavelets", "HSL colours"),
            Claim("wavelets are better than SIFT", BIKES_OR_CARS, "Haar wavelets", "SIFT"),
        ),
    ),
    Experiment(
        "word_maps", "Moosmann06", "figs 2 and 3",
        "Words learned from bikes and cars as in `graz02`: how many of 8,000 windows of test images reach a leaf whose "
        "training windows are all of bikes; where they lie, and windows of single words.",
        ("graz02",), reproductions.word_maps, 3, 15,
        unavailable=BACKGROUND_UNAVAILABLE, differs="Bikes against cars. The paper has images without figures.",
        claims=(
            Claim("unmixed leaves of bikes are reached more often in bikes than in cars", reproductions.UNMIXED,
                  "images of bikes", "images of cars"),
        ),
    ),
    Experiment(
        "pascal_2005", "Moosmann06", "sec. 4, Pascal Challenge 2005",
        "Four classes of objects, each against the others: 684 training images, 689 test images, 10,000 windows per "
        "image, accuracy at the equal error rate; words of whole images, and of windows labelled by boxes.",
        ("voc2005",), reproductions.pascal_2005, 2, 120, paper_runs=10,
        differs="One forest for all four classes; the paper does not say whether it has one per class.",
        claims=tuple(
            Claim(f"training on the objects is no better than on whole images, {name}", reproductions.ACCURACY, name,
                  f"{name}, words of boxes", "level")
            for name in ("motorbikes", "bicycles", "people", "cars")
        ),
    ),
    Experiment(
        "horses", "Moosmann06", "sec. 4, horses",
        "Horses against other images, random halves for training and testing, 10,000 windows per image, accuracy at "
        "the equal error rate; words of whole images, and of windows labelled by boxes.",
        ("inria_horses",), reproductions.horses, 5, 60, paper_runs=10,
        differs="The paper gives neither its split nor the number of leaves, here 1,000 per tree; its version of the "
        "images is not known.",
        claims=(
            Claim("training on the objects is no better than on whole images", reproductions.ACCURACY, "forest",
                  "forest, words of boxes", "level"),
        ),
    ),
)  # fmt: skip

OF_5, OF_30 = (f"{n} training images per class, accuracy in %" for n in (5, 30))
HIERARCHIES = (
    Experiment(
        "rotation_distributions", "Wibisono10", "fig. 2",
        "One image per class, rotated by multiples of 30°: derived kernels within rotations, and between images.",
        ("mnist", "caltech101"), reproductions.rotation_distributions, 5, 2,
        differs="The paper has plots without figures.",
        claims=tuple(
            Claim(f"rotation matters less to histograms than to inner products, {name}",
                  f"{name}, {reproductions.WITHIN_ROTATIONS}", "histogram", "inner")
            for name in ("MNIST", "Caltech 101")
        ),
    ),
    Experiment(
        "rotated_images", "Wibisono10", "table 1",
        "30 images per class, each with a randomly rotated copy; the nearest original is its own, or of its class.",
        ("mnist", "caltech101"), reproductions.rotated_images, 50, 8, paper_runs=50,
        claims=tuple(
            Claim(f"histograms are better than inner products, {name}", f"{name}, rates in %",
                  "histogram, identified", "inner, identified")
            for name in ("MNIST", "Caltech 101")
        ),
    ),
    Experiment(
        "sample_complexity", "Wibisono10", "fig. 3",
        "Shifted digits 2-9 by the nearest of n training images per class, 30 test images per class.",
        ("mnist",), reproductions.sample_complexity, 50, 6, paper_runs=50,
        units={reproductions.EXAMPLES_NEEDED: "mean curve"},
        differs="Every run draws its own templates and training images; the paper draws test images only.",
        claims=(
            Claim("two layers are better than none", reproductions.FIVE_EXAMPLES, "2 layers", "L2"),
            Claim("three layers are better than two", reproductions.FIVE_EXAMPLES, "3 layers", "2 layers"),
        ),
    ),
    Experiment(
        "low_rank_5", "Wibisono10", "fig. 4",
        "Shifted digits 2-9, 5 training images per class, layers of few principal components.",
        ("mnist",), reproductions.low_rank_5, 50, 8, paper_runs=50,
        differs="The paper has a curve without figures. As in its definition 3.1, the responses of all patches but the "
        "smallest, and those of the whole image, are embedded; it does not say what the feature map of the whole image "
        "is fitted to; here to 500 of the images that templates are drawn from.",
        claims=tuple(
            Claim(f"25 components are similar to all, {layers} layers", OF_5, f"pca, {layers} layers, 25",
                  f"full, {layers} layers", "level")
            for layers in (2, 3)
        ),
    ),
    Experiment(
        "low_rank_30", "Wibisono10", "fig. 5",
        "As `low_rank_5` with 30 training images per class, three layers; also Gaussian kernel components.",
        ("mnist",), reproductions.low_rank_30, 20, 16, paper_runs=50,
        differs="The paper has a curve without figures.",
        claims=(
            Claim("principal components are stable from 30 on", OF_30, "pca, 30", "pca, 100", "level"),
            Claim("150 Gaussian components are the same as all", OF_30, "kpca, 150", "full", "level"),
            Claim("of 25, principal ones are better than Gaussian ones", OF_30, "pca, 25", "kpca, 25"),
        ),
    ),
)  # fmt: skip

FILM_UNAVAILABLE = "the film faces (2,899 faces of 81 x 81)"
TANGENTS = (
    Experiment(
        "tangent_digits", "Pozdnoukhov04", "table 1",
        "300 training and 2,000 test digits; widths and C by cross-validation on the training digits.",
        ("mnist",), reproductions.tangent_digits, 5, 8,
        unavailable=FILM_UNAVAILABLE,
        differs="Ten classes of digits instead of one actor's face against others. Training digits are drawn for every "
        "run, test digits once.",
        claims=(
            Claim("tangent vector kernels are better than RBF", "error in %",
                  "tangent vectors, sum, rotations and scales", "RBF"),
            Claim("virtual support vectors are better than RBF", "error in %", "virtual, rotations and scales", "RBF"),
            Claim("jittered kernels are better than RBF", "error in %", "jittered, rotations and scales", "RBF"),
            Claim("tangent vector kernels are better than jittered ones", "error in %",
                  "tangent vectors, sum, rotations and scales", "jittered, rotations and scales"),
        ),
    ),
    Experiment(
        "tangent_digits_1000", "Pozdnoukhov04", "beyond the paper",
        "As `tangent_digits` with 1,000 training digits.",
        ("mnist",), reproductions.tangent_digits_1000, 3, 15,
    ),
    Experiment(
        "tangent_digits_sizes", "Pozdnoukhov04", "fig. 3", "As `tangent_digits` with 30, 100 and 300 training digits.",
        ("mnist",), reproductions.tangent_digits_sizes, 5, 5,
        unavailable=FILM_UNAVAILABLE, differs="Digits instead of faces; the paper has a curve without figures.",
        claims=tuple(
            Claim(f"tangent vector kernels are better than RBF from {n} examples", f"{n} digits, error in %",
                  "tangent vectors, sum, rotations and scales", "RBF")
            for n in (30, 100, 300)
        ),
    ),
    Experiment(
        "tangent_images", "Pozdnoukhov04", "fig. 2",
        "Faces moved along tangents by gradients and by finite differences, against the rotated faces.",
        ("yale",), reproductions.tangent_images, 5, 1, max_runs=5,
        unavailable=FILM_UNAVAILABLE, differs="The paper shows images of one face, without figures.",
        claims=(
            Claim("halfway, finite differences are better than gradients",
                  f"rotated by 5°, {reproductions.MISSED}", "finite differences of 10°", "gradients, blurred by 2"),
        ),
    ),
    Experiment(
        "tangent_faces", "Pozdnoukhov04", "beyond the paper",
        "The faces and splits of `yale_faces` with kernels that are invariant to small transformations.",
        ("yale",), reproductions.tangent_faces, 10, 3,
        differs="The width of the normalization and the blur of the tangents were chosen by cross-validation on the "
        "training images of 20 splits, and test images are among them, as there are only 165 images.",
    ),
)  # fmt: skip

BLOCK_L1 = (
    "Block-l1 learning has the same weights as the paper's method up to a factor wherever the training images are "
    "separable, so the two can hardly differ at its C of 1000."
)
OFFICIAL_SPLITS = "the flowers come with three official splits"
PAIRS_OF_DIGITS = {
    title: "pair"
    for title in (
        *(f"{reproductions.INVARIANCE_WANTED}, {kind}" for kind in ("upright", "rotated")),
        f"{reproductions.IN_COMMON}, learned from other images, one figure per pair",
    )
}
TRADEOFF = (
    Experiment(
        "uiuc_textures", "Varma07", "table 1",
        "25 textures, 20 of 40 images each for training; eight descriptors alone and combined.",
        ("uiuc_textures",), reproductions.uiuc_textures, 20, 60, paper_runs=20, has_seed=False,
        differs="Images are half as wide as the paper's; figures are judged on test images that no setting was chosen "
        f"on. {BLOCK_L1}",
        claims=(
            Claim("learned weights are better than equal ones", reproductions.UNSEEN_TEXTURES,
                  "the eight, learned, one against one", "the eight, equal weights, one against one"),
            Claim("learned weights are better than those of block-l1 learning", reproductions.UNSEEN_TEXTURES,
                  "the eight, learned, one against one", "the eight, block-l1, one against one"),
        ),
    ),
    Experiment(
        "texture_weights", "Varma07", "figs 2 and 3",
        "Weights for pairs of textures by level of invariance, 20 training images each, for two pairs also fewer.",
        ("uiuc_textures",), reproductions.texture_weights, 5, 10,
        differs="Words are learned from the images of these eight classes.",
        claims=tuple(
            Claim(f"few training images need more bi-Lipschitz invariance than many, {name}",
                  f"{name}, {reproductions.SHARE}", "bi-Lipschitz, 3 per class", "bi-Lipschitz, 20 per class")
            for name in ("T10_floor1 or T25_plaid", "T08_granite or T15_brick2")
        ),
    ),
    Experiment(
        "pretrained_flowers", "Varma07", "beyond the paper",
        "17 kinds of flowers, the official splits: features of a pretrained network with linear heads, words of shapes "
        "and colours, and both, weighed for each class. Rows with words are the methods `objects` and `photos`, which "
        "compare the places of edges too.",
        ("flowers17",), reproductions.pretrained_flowers, 3, 20, max_runs=3, has_seed=False, why_fewer=OFFICIAL_SPLITS,
        packages=("onnxruntime",),
        claims=(
            Claim("network and words are better than the network with logistic regression", reproductions.ACCURACY,
                  "network and words", "network, logistic regression", is_papers=False),
            Claim("network and words are better than the network with a linear SVM", reproductions.ACCURACY,
                  "network and words", "network, linear SVM", is_papers=False),
        ),
    ),
    Experiment(
        "network_weights", "Varma07", "beyond the paper",
        "All kernels of the library and a pretrained network, weighed for each class of flowers, faces and digits: the "
        "share of the network.",
        ("flowers17", "yale", "mnist"), reproductions.network_weights, 1, 15, max_runs=1, has_seed=False,
        packages=("onnxruntime",), why_fewer="the figures are those of labels",
        units={reproductions.SHARE_OF_NETWORK: "label"},
    ),
    Experiment(
        "learned_weights", "Varma07", "figs 2, 3 and 6, on digits",
        "Weights of kernels that ignore larger and larger rotations, for pairs of digits, by training digits; priors.",
        ("mnist",), reproductions.learned_weights, 3, 4, has_seed=False,
        dependence="Pairs of digits share digits, and all are learned from one draw of images",
        units=PAIRS_OF_DIGITS,
        differs="Digits instead of textures and flowers; the paper has plots without figures.",
        claims=tuple(
            Claim(f"few training images need more invariance than many, {kind}",
                  f"{reproductions.INVARIANCE_WANTED}, {kind}", "2 per class", "40 per class")
            for kind in ("upright", "rotated")
        ),
    ),
    Experiment(
        "flowers17", "Varma07", "table 2",
        "17 kinds of flowers, 40 training and 20 test images each, the official splits.",
        ("flowers17",), reproductions.flowers17, 3, 25, paper_runs=20, max_runs=3, has_seed=False,
        why_fewer=OFFICIAL_SPLITS,
        differs="The flowers' outlines and the paper's own distances are not available: words near the centre count "
        "more. Three more descriptors are added. Weights are searched by cross-validation, not on validation images. "
        f"{BLOCK_L1}",
        claims=(
            Claim("weights per class are better than per pair", "accuracy in %", "the paper's three, 1-vs-all",
                  "the paper's three, 1-vs-1"),
            Claim("learned weights are better than those of block-l1 learning", "accuracy in %",
                  "the paper's three, 1-vs-1", "the paper's three, block-l1, 1-vs-1"),
            Claim("forcing up the weight of texture is better", "accuracy in %",
                  "the paper's three, texture forced up, 1-vs-1", "the paper's three, 1-vs-1"),
        ),
    ),
    Experiment(
        "flower_weights", "Varma07", "figs 4, 5 and 6, sec. 4.2",
        "Weights of shape, colour and texture for pairs of flowers, 40 training images each.",
        ("flowers17",), reproductions.flower_weights, 3, 10, max_runs=3, has_seed=False, why_fewer=OFFICIAL_SPLITS,
        differs="The flowers' outlines and the paper's own distances are not available.",
        claims=(
            Claim("bluebells and crocuses, and sunflowers and daisies, have more similar weights than others",
                  reproductions.IN_COMMON, "related flowers", "others"),
        ),
    ),
    Experiment(
        "caltech_few", "Varma07", "table 3, 12 of its 102 classes",
        "15 training and 15 test images per class, six descriptors alone and combined.",
        ("caltech101",), reproductions.caltech_few, 5, 12,
        differs="Fewer classes are an easier task, so the paper's figures do not apply.",
        claims=(
            Claim("weights per class are better than per pair", "accuracy in %", "all, 1-vs-all", "all, 1-vs-1"),
            Claim("learned weights are better than those of block-l1 learning", "accuracy in %", "all, 1-vs-1",
                  "all, block-l1, 1-vs-1"),
        ),
    ),
    Experiment(
        "caltech_objects", "Varma07", "table 3",
        "102 classes, 15 training and up to 15 test images each, six descriptors alone and combined.",
        ("caltech101",), reproductions.caltech_objects, 1, 25,
        differs=f"Images are smaller than the paper's. {BLOCK_L1}",
        claims=(
            Claim("weights per class are better than per pair", "accuracy in %", "all, 1-vs-all", "all, 1-vs-1"),
            Claim("learned weights are better than those of block-l1 learning", "accuracy in %", "all, 1-vs-1",
                  "all, block-l1, 1-vs-1"),
        ),
    ),
    Experiment(
        "object_weights", "Varma07", "fig. 7",
        "Weights of six descriptors in three groups for pairs of objects, 15 training images each.",
        ("caltech101",), reproductions.object_weights, 5, 4,
        differs="Words are learned from the images of these five classes.",
        claims=tuple(
            Claim(f"shape counts more for butterflies and guitars than for round objects, {name}",
                  reproductions.SHARE_OF_SHAPE, "butterfly or electric_guitar", name)
            for name in ("pizza or soccer_ball", "pizza or watch", "soccer_ball or watch")
        ),
    ),
    Experiment(
        "all_methods", "Varma07", "beyond the paper",
        "All methods of the library as base kernels, alone and combined, on digits and faces.",
        ("mnist", "yale"), reproductions.all_methods, 5, 13,
    ),
    Experiment(
        "all_methods_textures", "Varma07", "beyond the paper",
        "All methods of the library as base kernels, alone and combined, on textures.",
        ("uiuc_textures",), reproductions.all_methods_textures, 4, 40,
    ),
)  # fmt: skip

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (*JUNGLES, *CODEBOOKS, *HIERARCHIES, *TANGENTS, *TRADEOFF)
}  # fmt: skip
