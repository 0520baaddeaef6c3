"""The algebra of transformation sets Φ: product, union, closure, sub-sampling.

A set is a small specification that holds parameters only, an sklearn estimator so that `get_params`, `clone` and
`GridSearchCV` work on it. Its members are found when an image shape is known; the identity always comes first.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone

from invariance._core.checks import check_count
from invariance._core.randomness import RandomState, make_rng
from invariance.transformations.operators import Operators
from invariance.transformations.steps import IDENTITY, Alteration, Member, compose

# Far above any set that pays, far below what fills the memory.
MAX_MEMBERS = 10_000


class TransformationSet(BaseEstimator):
    """A set Φ of transformations that do not change what an image shows."""

    @abstractmethod
    def _list_members(self, image_shape: tuple[int, int]) -> Iterable[Member]:
        """Members for images of this shape; may repeat, may lack the identity."""

    def _generators(self) -> tuple[str, ...] | None:
        """Names of the Lie generators of this set (see generators.py); None where there are only finite steps."""
        return None

    def members(self, image_shape: tuple[int, ...]) -> tuple[Member, ...]:
        """The distinct members for images of this shape, the identity first."""
        shape = (check_count("image height", image_shape[0]), check_count("image width", image_shape[1]))
        members = tuple(dict.fromkeys([IDENTITY, *self._list_members(shape)]))
        check_count("the number of members", len(members), at_most=MAX_MEMBERS)
        return members

    def operators(self, image_shape: tuple[int, ...]) -> Operators:
        """What computing with this set needs, for images (h, w) or (h, w, c)."""
        return Operators(self.members(image_shape), image_shape)

    def closure(self) -> "Closure":
        """{φ∘ψ}, [Laptev15] eq. (4): the largest response over it changes less under Φ than that over Φ.

        Differs from [Laptev15]: it calls that response invariant, but {φ∘ψ∘χ} is {φ∘ψ} only in a group.
        """
        return Closure(self)

    def subsample(self, n_members: int, random_state: RandomState = 0) -> "Subsample":
        """At most `n_members` members drawn at random, the identity among them."""
        return Subsample(self, n_members, random_state)

    def __mul__(self, other: "TransformationSet") -> "Product":
        return Product(self, other) if isinstance(other, TransformationSet) else NotImplemented

    def __or__(self, other: "TransformationSet") -> "Union":
        return Union(self, other) if isinstance(other, TransformationSet) else NotImplemented


class Identity(TransformationSet):
    """Nothing is irrelevant: the set of the identity alone."""

    def _list_members(self, image_shape):
        return []

    def _generators(self):
        return ()


class Product(TransformationSet):
    """Every φ∘ψ, φ from `left` and ψ from `right`: ψ is applied first."""

    def __init__(self, left: TransformationSet, right: TransformationSet):
        self.left = left
        self.right = right

    def _list_members(self, image_shape):
        outer, inner = self.left.members(image_shape), self.right.members(image_shape)
        check_count("the number of products", len(outer) * len(inner), at_most=MAX_MEMBERS)
        return [compose(psi, phi) for phi in outer for psi in inner]

    def _generators(self):
        return _join_generators(self.left, self.right)

    def __repr__(self, N_CHAR_MAX=700):
        return " * ".join(f"({side!r})" if isinstance(side, Union) else repr(side) for side in (self.left, self.right))


class Union(TransformationSet):
    """The members of either set."""

    def __init__(self, left: TransformationSet, right: TransformationSet):
        self.left = left
        self.right = right

    def _list_members(self, image_shape):
        return [*self.left.members(image_shape), *self.right.members(image_shape)]

    def _generators(self):
        return _join_generators(self.left, self.right)

    def __repr__(self, N_CHAR_MAX=700):
        return f"{self.left!r} | {self.right!r}"


def parts_of(phi: TransformationSet) -> list[TransformationSet]:
    """The simple sets that products, unions, closures and samples of sets are made of."""
    if isinstance(phi, Product | Union):
        return [*parts_of(phi.left), *parts_of(phi.right)]
    return parts_of(phi.base) if isinstance(phi, Closure | Subsample) else [phi]


def with_border(phi: TransformationSet, border: str) -> TransformationSet:
    """The set with another border ("zero", "edge", "reflect", "wrap") for all parts that look beyond the image."""
    changed = clone(phi)
    for part in parts_of(changed):
        if hasattr(part, "border"):
            part.set_params(border=border)
    return changed


def _join_generators(left, right):
    """Generators of both sets, each once; None as soon as one of them has only finite steps."""
    names = left._generators(), right._generators()
    return None if None in names else tuple(dict.fromkeys([*names[0], *names[1]]))


class Closure(TransformationSet):
    """Every φ∘ψ with φ and ψ from one set, [Laptev15] eq. (4)."""

    def __init__(self, base: TransformationSet):
        self.base = base

    def _list_members(self, image_shape):
        return Product(self.base, self.base).members(image_shape)

    def _generators(self):
        return self.base._generators()


class Subsample(TransformationSet):
    """At most `n_members` members of a set drawn at random, the identity among them."""

    def __init__(self, base: TransformationSet, n_members: int, random_state: RandomState = 0):
        self.base = base
        self.n_members = n_members
        self.random_state = random_state

    def _list_members(self, image_shape):
        others = self.base.members(image_shape)[1:]
        n_drawn = min(check_count("n_members", self.n_members) - 1, len(others))
        drawn = np.sort(make_rng(self.random_state).permutation(len(others))[:n_drawn])
        return [others[i] for i in drawn]

    def _generators(self):
        return self.base._generators()


class Custom(TransformationSet):
    """Any functions of one image (h, w) or (h, w, c) that keep its shape; the identity is added.

    Such a set is never treated as linear, and a model that uses it cannot be saved: no code is stored in files.
    """

    def __init__(self, functions: Sequence[Callable[[np.ndarray], np.ndarray]]):
        self.functions = functions

    def _list_members(self, image_shape):
        if callable(self.functions):
            raise ValueError(f"functions must be a list of functions; got {self.functions!r}. Put it in brackets.")
        for function in self.functions:
            if not callable(function):
                raise ValueError(f"functions must be callables that take an image and return one; got {function!r}.")
        return [(Alteration(call_on_each, (function,)),) for function in self.functions]


def call_on_each(images: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A function of one image, on many."""
    return np.stack([np.asarray(function(image)) for image in images])
