"""The settings of the method `jungle` follow the number of images per class."""

import pytest

from invariance.methods.preparation import Facts
from invariance.methods.registry import get_method


@pytest.mark.parametrize(
    ("n_images", "n_classes", "expected"),
    [(75, 15, ("discriminant", 60, 2)), (100, 10, ("discriminant", 60, 2)), (101, 10, ("linear", 10, 3)),
     (20, 2, ("linear", 10, 3))],
)  # fmt: skip
def test_many_classes_with_few_images_each_get_more_and_shallower_jungles(n_images, n_classes, expected):
    method = get_method("jungle")
    model = method.make(method.plan(method.default_phi), Facts(n_images, n_classes, 5, 1, 32, 32), {"random_state": 0})
    assert (model.final_estimator, model.n_jungles, model.max_depth) == expected
