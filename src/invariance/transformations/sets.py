"""The algebra of transformation sets Φ: product, union, closure, sub-sampling.

A set is a small specification that holds parameters only, a scikit-learn estimator so that `get_params`, `clone` and
`GridSearchCV` work on it. Its members are listed when an image shape is known; the identity always comes first.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from invariance._core import loaded
from invariance._core.checks import check_count
from invariance._core.randomness import RandomState, make_rng
from invariance.transformations.operators import Operators
from invariance.transformations.steps import IDENTITY, Alteration, Member, compose

# Far above any set that pays, far below what fills the memory.
MAX_MEMBERS = 10_000


class TextForm(NamedTuple):
    """How a set is written as text (see parsing.py), for example `rotations:24`.

    Attributes
    ----------
    word : str
        The word that stands for the set; empty if the set cannot be written as text.
    parameters : tuple of str
        Names of the parameters whose values follow the word, in this order, separated by colons.
    example : str
        A text that describes a set of this kind.
    takes_any_number : bool
        Whether all values after the word belong to one parameter, which is a sequence.
    hint : str
        What an error about too many values adds: the word that takes them.
    """

    word: str = ""
    parameters: tuple[str, ...] = ()
    example: str = ""
    takes_any_number: bool = False
    hint: str = ""


class TransformationSet(BaseEstimator):
    """A set Φ of transformations that do not change what an image shows.

    Subclasses store their parameters in `__init__` and check them in `_list_members`.
    """

    # A set that can be written as text declares it here; words, help texts and the laws are derived from it.
    text_form: ClassVar[TextForm] = TextForm()
    # A set that normalizes images instead of having members overrides `normalize`, and can only be a factor of Φ.
    normalizes: ClassVar[bool] = False

    @abstractmethod
    def _list_members(self, image_shape: tuple[int, int]) -> Iterable[Member]:
        """List the members for images of this shape; they may repeat and may lack the identity."""

    def _generators(self) -> tuple[str, ...] | None:
        """Name the Lie generators of this set (see generators.py); None if there are only finite steps."""
        return None

    def members(self, image_shape: tuple[int, ...]) -> tuple[Member, ...]:
        """List the distinct members for images of one shape, the identity first.

        Parameters
        ----------
        image_shape : tuple of int
            Height and width, with or without the number of channels.

        Returns
        -------
        members : tuple of Member
            Each member is a tuple of steps in the order in which they are applied.
        """
        split_normalizing(self)  # raises an error if a set that normalizes images is no factor
        shape = (check_count("image height", image_shape[0]), check_count("image width", image_shape[1]))
        members = tuple(dict.fromkeys([IDENTITY, *self._list_members(shape)]))
        check_count("the number of members", len(members), at_most=MAX_MEMBERS)
        return members

    def operators(self, image_shape: tuple[int, ...]) -> Operators:
        """Build the operators that compute with this set.

        Parameters
        ----------
        image_shape : tuple of int
            Height and width, with or without the number of channels.

        Returns
        -------
        operators : Operators
            The members as operator stacks, with `apply` and, for linear sets, `adjoint`.
        """
        return Operators(self.members(image_shape), image_shape)

    def normalize(self, images: np.ndarray) -> np.ndarray:
        """Normalize images as the factor of this set that normalizes them does, such as `Illumination`.

        All estimators of the library do so first, with the images for training and for prediction alike; members act
        on normalized images.

        Parameters
        ----------
        images : ndarray of shape (n, h, w) or (n, h, w, c), float

        Returns
        -------
        normalized : ndarray of the same shape
            `images` itself if no factor normalizes.
        """
        factor, _ = split_normalizing(self)
        return images if factor is None else factor.normalize(images)

    def check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not describe a set: its members are listed."""
        loaded.check_values(
            self,
            **{
                name: loaded.instance(TransformationSet)
                for name in self._get_param_names()
                if name in ("left", "right", "base")
            },
        )
        try:
            self.members((8, 8))
            self._generators()
        except (TypeError, AttributeError, OverflowError, IndexError, KeyError) as error:
            raise ValueError(f"a {type(self).__name__} has parameters that describe no set: {error}.") from error

    def closure(self) -> "Closure":
        """Compose every two members, [Laptev15] eq. (4): {φ∘ψ}.

        The largest response over the closure changes less under Φ than the largest response over Φ.

        Returns
        -------
        closure : Closure

        Notes
        -----
        Differs from [Laptev15]: the paper calls that response invariant, but {φ∘ψ∘χ} equals {φ∘ψ} only in a group.
        """
        return Closure(self)

    def subsample(self, n_members: int, random_state: RandomState = 0) -> "Subsample":
        """Draw members at random.

        Parameters
        ----------
        n_members : int
            The largest number of members, the identity included.
        random_state : None, int, Generator or RandomState, default=0
            Seed of the draw.

        Returns
        -------
        subsample : Subsample
        """
        return Subsample(self, n_members, random_state)

    def __mul__(self, other: "TransformationSet") -> "Product":
        return Product(self, other) if isinstance(other, TransformationSet) else NotImplemented

    def __or__(self, other: "TransformationSet") -> "Union":
        return Union(self, other) if isinstance(other, TransformationSet) else NotImplemented


class Identity(TransformationSet):
    """Nothing is irrelevant: the set of the identity alone."""

    text_form = TextForm("identity", (), "identity")

    def _list_members(self, image_shape):
        return []

    def _generators(self):
        return ()


class Product(TransformationSet):
    """Every φ∘ψ with φ from `left` and ψ from `right`; ψ is applied first.

    Parameters
    ----------
    left, right : TransformationSet
        The factors; `left * right` builds the same set.
    """

    def __init__(self, left: TransformationSet, right: TransformationSet):
        self.left = left
        self.right = right

    def _list_members(self, image_shape):
        return _compose_all(self.left.members(image_shape), self.right.members(image_shape))

    def _generators(self):
        return _join_generators(self.left, self.right)

    def __repr__(self, N_CHAR_MAX=700):
        return " * ".join(f"({side!r})" if isinstance(side, Union) else repr(side) for side in (self.left, self.right))


def _compose_all(outer: Sequence[Member], inner: Sequence[Member]) -> list[Member]:
    """Compose every outer member with every inner one, which is applied first."""
    check_count("the number of products", len(outer) * len(inner), at_most=MAX_MEMBERS)
    return [compose(psi, phi) for phi in outer for psi in inner]


class Union(TransformationSet):
    """The members of either set.

    Parameters
    ----------
    left, right : TransformationSet
        The sets; `left | right` builds the same set.
    """

    def __init__(self, left: TransformationSet, right: TransformationSet):
        self.left = left
        self.right = right

    def _list_members(self, image_shape):
        return [*self.left.members(image_shape), *self.right.members(image_shape)]

    def _generators(self):
        return _join_generators(self.left, self.right)

    def __repr__(self, N_CHAR_MAX=700):
        return f"{self.left!r} | {self.right!r}"


def check_set(name: str, value: Any) -> None:
    """Raise ValueError if a parameter is neither a set of transformations nor None."""
    if value is not None and not isinstance(value, TransformationSet):
        raise ValueError(
            f"{name} must be a set such as Rotations(24), a product such as Rotations(24) * Shifts(1), or None; got "
            f"{value!r}. invariance.transformations.parsing.parse_transformations reads texts such as 'rotations:24'."
        )


def factors_of(phi: TransformationSet) -> list[TransformationSet]:
    """Return the factors of a product in order; products are associative."""
    return [*factors_of(phi.left), *factors_of(phi.right)] if isinstance(phi, Product) else [phi]


def product_of(factors: Sequence[TransformationSet]) -> TransformationSet:
    """Return the product of sets, `Identity()` if there are none."""
    return reduce(Product, factors) if factors else Identity()


def split_normalizing(phi: Any) -> tuple[TransformationSet | None, Any]:
    """Split Φ into the factor that normalizes images and the others.

    Parameters
    ----------
    phi : TransformationSet or None

    Returns
    -------
    factor : TransformationSet or None
        None if no factor normalizes images.
    others : TransformationSet or None
        The product of the other factors, `phi` itself if `factor` is None.

    Raises
    ------
    ValueError
        If two factors normalize images, or a part of a union, closure or sample does: images would be normalized for
        some members only.
    """
    factors = factors_of(phi)
    found = [factor for factor in factors if getattr(factor, "normalizes", False)]
    for factor in factors:
        hidden = [part for part in parts_of(factor) if getattr(part, "normalizes", False) and part is not factor]
        if hidden:
            raise ValueError(
                f"{hidden[0]!r} normalizes all images, so it cannot be a part of {factor!r}, a "
                f"{type(factor).__name__.lower()}. Take it out there, and multiply the rest by it: "
                f"phi * {hidden[0]!r}."
            )
    if len(found) > 1:
        raise ValueError(
            f"images can be normalized once only; got {found[0]!r} and {found[1]!r}. Leave one of them out."
        )
    if not found:
        return None, phi
    return found[0], product_of([factor for factor in factors if factor is not found[0]])


def parts_of(phi: TransformationSet) -> list[TransformationSet]:
    """List the simple sets that products, unions, closures and samples are made of.

    Parameters
    ----------
    phi : TransformationSet

    Returns
    -------
    parts : list of TransformationSet
        From left to right; `[phi]` if it is simple itself.
    """
    if isinstance(phi, Product | Union):
        return [*parts_of(phi.left), *parts_of(phi.right)]
    return parts_of(phi.base) if isinstance(phi, Closure | Subsample) else [phi]


def with_border(phi: TransformationSet, border: str) -> TransformationSet:
    """Copy a set with another border for all parts that look beyond the image.

    Parameters
    ----------
    phi : TransformationSet
    border : {"zero", "edge", "reflect", "wrap"}

    Returns
    -------
    changed : TransformationSet
    """
    changed = clone(phi)
    for part in parts_of(changed):
        if hasattr(part, "border"):
            part.set_params(border=border)
    return changed


def _join_generators(left, right):
    """Join the generators of both sets, each once; None as soon as one of them has only finite steps."""
    names = left._generators(), right._generators()
    return None if None in names else tuple(dict.fromkeys([*names[0], *names[1]]))


class Closure(TransformationSet):
    """Every φ∘ψ with φ and ψ from one set, [Laptev15] eq. (4).

    Parameters
    ----------
    base : TransformationSet
        The set; `base.closure()` builds the same set.
    """

    def __init__(self, base: TransformationSet):
        self.base = base

    def _list_members(self, image_shape):
        members = self.base.members(image_shape)  # once: closures of closures would double the time at every level
        return _compose_all(members, members)

    def _generators(self):
        return self.base._generators()


class Subsample(TransformationSet):
    """At most `n_members` members of a set drawn at random, the identity among them.

    Parameters
    ----------
    base : TransformationSet
        The set; `base.subsample(n_members)` builds the same set.
    n_members : int
        The largest number of members, the identity included.
    random_state : None, int, Generator or RandomState, default=0
        Seed of the draw.
    """

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
    """Any functions of one image that keep its shape; the identity is added.

    Such a set is never treated as linear, and a model that uses it cannot be saved: no code is stored in files.

    Parameters
    ----------
    functions : sequence of callables
        Each takes an image (h, w) or (h, w, c) and returns an array of the same shape.
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
    """Apply a function of one image to many images (n, h, w[, c])."""
    return np.stack([np.asarray(function(image)) for image in images])
