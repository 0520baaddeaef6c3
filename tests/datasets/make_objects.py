"""Small copies of VOC 2005 and the INRIA horses in their real layouts, with made images."""

import numpy as np
from PIL import Image

FOLDERS = {
    "motorbikes": ("Caltech_motorbikes_side", "PASmotorbikeSide"),
    "bicycles": ("TUGraz_bike", "PASbicycle"),
    "people": ("TUGraz_person", "PASpersonStanding"),
    "cars": ("Caltech_cars", "PAScarRear"),
}
ANNOTATION = """# PASCAL Annotation Version 1.00

Image filename : "{image}"
Image size (X x Y x C) : {width} x {height} x 3
Database : "The VOC2005 Dataset 1 Database (TUGraz)"
Objects with ground truth : {n} {{ {names} }}

# Note that there might be other objects in the image
# for which ground truth data has not been provided.

# Top left pixel co-ordinates : (1, 1)
"""
OBJECT = """
# Details for object {i} ("{name}")
Original label for object {i} "{name}" : "someLabel"
Bounding box for object {i} "{name}" (Xmin, Ymin) - (Xmax, Ymax) : ({xmin}, {ymin}) - ({xmax}, {ymax})
"""


def paint(size, box, hue):
    """A dark image (width, height) with a bright object of one of four textures; the box is inclusive from (1, 1)."""
    width, height = size
    image = np.random.default_rng(hue).integers(0, 60, (height, width, 3)).astype(np.uint8)
    xmin, ymin, xmax, ymax = box
    rows, columns = np.indices((ymax - ymin + 1, xmax - xmin + 1))
    texture = (rows, columns, rows + columns, rows * columns)[hue % 4] // 2 % 2
    image[ymin - 1 : ymax, xmin - 1 : xmax] = (170 + 70 * texture)[..., None]
    return Image.fromarray(image)


def annotate(root, place, stem, objects, archive="VOC2005_1", hue=0, size=(40, 30)):
    """Write an image with objects (label, (xmin, ymin, xmax, ymax)); its annotation, as image sets list it."""
    image = f"{archive}/PNGImages/{place}/{stem}.png"
    listed = f"{archive}/Annotations/{place}/{stem}.txt"
    for name in (image, listed):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
    paint(size, objects[0][1], hue).save(root / image)
    names = " ".join(f'"{name}"' for name, _ in objects)
    text = ANNOTATION.format(image=image, width=size[0], height=size[1], n=len(objects), names=names)
    for i, (name, (xmin, ymin, xmax, ymax)) in enumerate(objects, start=1):
        text += OBJECT.format(i=i, name=name, xmin=xmin, ymin=ymin, xmax=xmax, ymax=ymax)
    (root / listed).write_text(text)
    return listed


def list_images(root, name, subset, listed):
    """Append annotations to an image set."""
    (root / "imgsets").mkdir(parents=True, exist_ok=True)
    with open(root / "imgsets" / f"imgset_VOC{name}_{subset}.txt", "a") as file:
        file.writelines(f"{line}\n" for line in listed)


def make_voc(root, n_each, with_second=False):
    """VOC 2005 with `n_each` images per class and subset."""
    rng = np.random.default_rng(0)
    for hue, (name, (place, label)) in enumerate(FOLDERS.items()):
        for subset in ("train", "val", "test1", "test2"):
            if subset == "test2" and not with_second:
                continue
            archive = "VOC2005_2" if subset == "test2" else "VOC2005_1"
            listed = []
            for i in range(n_each):
                xmin, ymin = rng.integers(1, 15, 2).tolist()
                objects = [(label, (xmin, ymin, xmin + 20, ymin + 14))]
                listed.append(annotate(root, place, f"{subset}_{i:03d}", objects, archive, hue))
            list_images(root, name, subset, listed)


def make_horses(root, n_each):
    """The INRIA horses with `n_each` images per class."""
    rng = np.random.default_rng(0)
    for name in ("pos", "neg", "pos_BSE"):
        (root / name).mkdir(parents=True)
    for i in range(n_each):
        xmin, ymin = rng.integers(1, 15, 2).tolist()
        box = xmin, ymin, xmin + 20, ymin + 14
        paint((40, 30), box, 0).save(root / "pos" / f"image-{i}.jpg", quality=100, subsampling=0)
        lines = f"{xmin - 1} {ymin - 1} {xmin + 20} {ymin + 14}\n"
        (root / "pos" / f"image-{i}_entires.groundtruth").write_text(lines)
        plain = np.random.default_rng(i).integers(0, 60, (30, 40, 3)).astype(np.uint8)
        Image.fromarray(plain).save(root / "neg" / f"other-{i}.jpg", quality=100, subsampling=0)
