"""Classifiers on top of the learned responses, as an alternative to the vote of the leaves."""

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from invariance._core.randomness import RandomState, make_rng


def make_head(
    head: str | ClassifierMixin, n_samples: int, random_state: RandomState, n_trees: int = 400
) -> ClassifierMixin | None:
    """An unfitted classifier for the responses of `n_samples` images, or None for the vote of the leaves.

    `n_trees` are those of the boosting, which learns the faster the fewer they are.
    """
    if head == "vote":
        return None
    if head == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if head == "boosting":
        seed = int(make_rng(random_state).integers(2**31))
        # Responses are many and alike: few of them a split and small trees keep the boosting from learning by heart.
        return HistGradientBoostingClassifier(
            learning_rate=20 / n_trees,
            max_iter=n_trees,
            early_stopping=False,  # it would hold samples out, which a class of one does not have
            max_leaf_nodes=15,
            min_samples_leaf=int(np.clip(n_samples // 100, 1, 50)),
            max_features=0.1,
            l2_regularization=5.0,
            random_state=seed,
        )
    if not isinstance(head, str) and is_classifier(head) and hasattr(head, "predict_proba"):
        return clone(head)
    raise ValueError(f"head must be 'vote', 'boosting', 'linear' or a classifier with predict_proba; got {head!r}.")


def fit_head(head: ClassifierMixin, responses, labels, weights) -> ClassifierMixin:
    """The head fitted, with the weights if it can use them.

    Equal weights are left out: boosting takes five times as long when it is given any.
    """
    if np.ptp(weights) == 0:
        return head.fit(responses, labels)
    last, prefix = (head[-1], f"{head.steps[-1][0]}__") if isinstance(head, Pipeline) else (head, "")
    parameters = {f"{prefix}sample_weight": weights} if has_fit_parameter(last, "sample_weight") else {}
    return head.fit(responses, labels, **parameters)
