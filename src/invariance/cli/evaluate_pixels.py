"""`invariance evaluate-pixels`: how well a model labels the pixels of images with masks."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from invariance.cli.console import percent, print_table, say
from invariance.cli.fit_pixels import ImagesArgument, MasksArgument, read_pairs
from invariance.cli.options import JobsOption, JsonOption, ScaleOption, SegmenterArgument, load_segmenter

if TYPE_CHECKING:
    import numpy as np

    from invariance.images import MaskedImages
    from invariance.segmentation import JungleSegmenter, LabelScores, SegmentationScores

MAX_CLASSES_SHOWN = 20  # in a confusion matrix; --json has it for more
N_SHOWN = 5  # images listed, those with the largest error first
EXAMPLES = """Examples:

  invariance evaluate-pixels cells.inv other-cells/ other-masks/

  invariance evaluate-pixels membranes.inv stack.tif labels.tif --boundary 0

  invariance evaluate-pixels leaves.inv photo.png strokes.png --unlabelled 0 --json"""


class Evaluated(NamedTuple):
    """Scores of every image and of all together; if asked for, of regions, of the labels and at the best threshold."""

    by_image: "list[LabelScores]"
    scores: "LabelScores"
    labelled_regions: "SegmentationScores | None" = None
    regions: "SegmentationScores | None" = None


def run(
    model: SegmenterArgument,
    images: ImagesArgument,
    masks: MasksArgument,
    unlabelled: Annotated[
        int | None,
        typer.Option(help="The value of mask pixels that do not count. Default: as the model was trained."),
    ] = None,
    boundary: Annotated[
        int | None,
        typer.Option(help="The class that separates regions, such as membranes: also compare the regions (V_rand)."),
    ] = None,
    level: Annotated[int, typer.Option(min=0, help="Resolution level of an OME-Zarr; 0 is full resolution.")] = 0,
    channel: Annotated[int | None, typer.Option(min=0, help="The one channel of a Zarr store to use, from 0.")] = None,
    scale: ScaleOption = None,
    as_json: JsonOption = False,
    jobs: JobsOption = -1,
) -> None:
    """Measure how well a model labels pixels, on images with masks that it was not trained on."""
    segmenter = load_segmenter(model, scale)
    data = read_pairs(images, masks, unlabelled, level, channel)
    ignored = segmenter.unlabelled if unlabelled is None else unlabelled
    if segmenter.unlabelled is not None and unlabelled is not None:  # what the model was not trained on cannot count
        data = data._replace(masks=[_renamed(mask, segmenter.unlabelled, unlabelled) for mask in data.masks])
    _check(data, segmenter, ignored, boundary)
    evaluated = _evaluate(data, segmenter, ignored, boundary)
    if as_json:
        say(json.dumps(_as_json(evaluated, data), indent=2))
        return
    _print_summary(evaluated, data)
    _print_classes(evaluated.scores)
    _print_confusion(evaluated.scores)
    if evaluated.regions is not None and evaluated.labelled_regions is not None:
        _print_regions(evaluated.labelled_regions, evaluated.regions, boundary)


def _check(data: "MaskedImages", segmenter: "JungleSegmenter", unlabelled: int | None, boundary: int | None) -> None:
    """Refuse masks and images that the model does not know, before any image is labelled."""
    import numpy as np

    from invariance.segmentation.inputs import MAX_CLASSES, find_classes

    known = ", ".join(map(str, segmenter.classes_.tolist()))
    if boundary is not None and boundary not in segmenter.classes_:
        raise ValueError(f"--boundary must be a class of the model, one of {known}; got {boundary}.")
    for path, image, mask in zip(data.paths, data.images, data.masks, strict=True):
        n_channels = 1 if image.ndim == 2 else image.shape[2]
        if n_channels != segmenter.n_channels_:
            raise ValueError(
                f"image '{path}' has {n_channels} channels, but the model was trained on {segmenter.n_channels_}. "
                f"Convert it, or train on such images."
            )
        unknown = np.setdiff1d(find_classes([mask], unlabelled), segmenter.classes_)
        if len(unknown):
            others = f" and {len(unknown) - 1} more values" if len(unknown) > 1 else ""
            is_grey = len(unknown) > MAX_CLASSES
            cure = "Are images and masks swapped?" if is_grey else f"If they have no label: --unlabelled {unknown[0]}."
            raise ValueError(
                f"the mask of '{path}' has pixels of {unknown[0]}{others}, which the model does not know; it knows "
                f"{known}. {cure}"
            )
    labelled = find_classes(data.masks, unlabelled)
    if len(labelled) == 0:
        raise ValueError(f"no pixel is labelled: all pixels of the masks are {unlabelled}. Omit --unlabelled.")
    if boundary is None:
        return
    if boundary not in labelled or len(labelled) == 1:
        found = ", ".join(map(str, labelled.tolist()))
        raise ValueError(f"--boundary {boundary} needs masks with pixels of it and of others; these have {found} only.")
    if len({mask.shape for mask in data.masks}) > 1:
        raise ValueError("--boundary compares regions of images of one size; these differ. Evaluate them one by one.")


def _renamed(mask: "np.ndarray", old: int, new: int) -> "np.ndarray":
    import numpy as np

    return np.where(mask == old, new, mask)


def _evaluate(
    data: "MaskedImages", segmenter: "JungleSegmenter", unlabelled: int | None, boundary: int | None
) -> Evaluated:
    import numpy as np

    from invariance._core.progress import track
    from invariance.segmentation import label_scores, segmentation_scores

    classes, by_image, maps, labels = segmenter.classes_, [], [], []
    for image, mask in track(zip(data.images, data.masks, strict=True), "labelling pixels", len(data.images)):
        probabilities = segmenter.predict_proba(image)
        predicted = classes[probabilities.argmax(axis=2)]
        by_image.append(label_scores(predicted, mask, classes, unlabelled))
        if boundary is not None:
            maps.append(probabilities[..., np.searchsorted(classes, boundary)])
            labels.append(predicted == boundary)
    scores = sum(by_image[1:], start=by_image[0])
    if boundary is None:
        return Evaluated(by_image, scores)
    masks = np.stack(data.masks)
    truth, labelled = masks == boundary, None if unlabelled is None else masks != unlabelled
    of_labels = segmentation_scores(np.stack(labels), truth, thresholds=[0.5], labelled=labelled)
    return Evaluated(by_image, scores, of_labels, segmentation_scores(np.stack(maps), truth, labelled=labelled))


def _names(data: "MaskedImages") -> list[str]:
    """The name of every image; pages of a stack are numbered from 1."""
    n_pages, seen, names = Counter(data.paths), Counter[Path](), []
    for path in data.paths:
        seen[path] += 1
        names.append(f"{path} ({seen[path]})" if n_pages[path] > 1 else str(path))
    return names


def _labelled(evaluated: Evaluated, data: "MaskedImages") -> "list[tuple[str, LabelScores]]":
    """Images that have labelled pixels, by name, the least accurate first."""
    pairs = zip(_names(data), evaluated.by_image, strict=True)
    return sorted(((name, scores) for name, scores in pairs if scores.n_pixels), key=lambda pair: pair[1].accuracy)


def _as_json(evaluated: Evaluated, data: "MaskedImages") -> dict[str, Any]:
    scores = evaluated.scores
    return {
        "n_images": sum(scores.n_pixels > 0 for scores in evaluated.by_image),
        "n_pixels": scores.n_pixels,
        "accuracy": scores.accuracy,
        "balanced_accuracy": scores.balanced_accuracy,
        "mean_iou": scores.mean_iou,
        "classes": [figures._asdict() for figures in scores.by_class],
        "confusion": {"classes": scores.classes.tolist(), "counts": scores.confusion.tolist()},
        "regions": {
            "labels": None if evaluated.labelled_regions is None else evaluated.labelled_regions._asdict(),
            "best_threshold": None if evaluated.regions is None else evaluated.regions._asdict(),
        },
        "images": [
            {"image": name, "n_pixels": scores.n_pixels, "accuracy": scores.accuracy if scores.n_pixels else None}
            for name, scores in zip(_names(data), evaluated.by_image, strict=True)
        ],
    }


def _print_summary(evaluated: Evaluated, data: "MaskedImages") -> None:
    scores, images = evaluated.scores, _labelled(evaluated, data)
    n_images = f"{len(images)} image{'s' * (len(images) != 1)}"
    say(f"Accuracy:          {scores.accuracy:.1%} of {scores.n_pixels:,} labelled pixels of {n_images}")
    say(f"Balanced accuracy: {scores.balanced_accuracy:.1%}, the mean recall of the classes")
    say(f"Mean IoU:          {scores.mean_iou:.1%}, the mean of the classes, intersection over union")
    if len(images) > 1:
        rows = [[name, f"{found.n_pixels:,}", f"{found.accuracy:.1%}"] for name, found in images[:N_SHOWN]]
        title = "Images" if len(images) <= N_SHOWN else f"The {N_SHOWN} least accurate images"
        print_table(title, ["image", "pixels", "accuracy"], rows)


def _print_classes(scores: "LabelScores") -> None:
    rows = [
        [str(found.label), f"{found.n_pixels:,}", f"{found.n_predicted:,}", *map(percent, found[3:])]
        for found in scores.by_class
    ]
    print_table("Classes", ["class", "pixels", "predicted", "recall", "precision", "F", "IoU"], rows)


def _print_confusion(scores: "LabelScores") -> None:
    if len(scores.classes) > MAX_CLASSES_SHOWN:
        return
    names = [str(label) for label in scores.classes]
    rows = [
        [name, *(percent(count / counts.sum()) if count else "." for count in counts)]
        for name, counts in zip(names, scores.confusion, strict=True)
        if counts.sum()
    ]
    print_table("True class (rows) by predicted class (columns), share of the row", ["", *names], rows)


def _print_regions(of_labels: "SegmentationScores", best: "SegmentationScores", boundary: int | None) -> None:
    rows = [
        ["V_rand", f"{of_labels.v_rand:.3f}", f"{best.v_rand:.3f}", f"{best.v_rand_threshold:g}"],
        ["V_info", f"{of_labels.v_info:.3f}", f"{best.v_info:.3f}", f"{best.v_info_threshold:g}"],
    ]
    columns = ["", "of the labels", "at the best threshold", "threshold"]
    print_table(f"Regions between pixels of class {boundary}, 1 is best", columns, rows)
    say(
        "Labels are those that segment writes. The best threshold of the probability of the class is found on these "
        "masks; segment --probabilities writes what it is applied to."
    )
