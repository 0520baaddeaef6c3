"""Classifiers on the learned responses, as an alternative to the vote of the leaves."""

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from invariance._core.randomness import RandomState, make_rng

# A learning rate of 0.05 for 400 trees; fewer trees learn faster, so that the sum over all trees stays the same.
TOTAL_LEARNING_RATE = 20
# Responses are many and correlated: few of them per split and small trees keep the boosting from overfitting.
MAX_LEAF_NODES, MAX_FEATURES, L2_REGULARIZATION = 15, 0.1, 5.0
# The smallest leaf: one percent of the samples, within these bounds.
SAMPLES_PER_LEAF, MIN_SAMPLES_LEAF = 100, (1, 50)
# Ten times scikit-learn's default, so that the logistic regression converges without a warning.
LINEAR_MAX_ITER = 1000


def make_final_estimator(
    final_estimator: str | ClassifierMixin, n_samples: int, random_state: RandomState, n_trees: int = 400
) -> ClassifierMixin | None:
    """Make an unfitted classifier for responses.

    Parameters
    ----------
    final_estimator : {"vote", "linear", "discriminant", "boosting"} or classifier
        The parameter of the estimator; a classifier is cloned and must have `predict_proba`.
    n_samples : int
        Number of images it will be fitted on.
    random_state : int, RandomState instance, Generator or None
        Seed of the boosting.
    n_trees : int, default=400
        Number of trees of the boosting.

    Returns
    -------
    classifier : classifier or None
        None for "vote", which needs no classifier.
    """
    if not isinstance(final_estimator, str):
        if is_classifier(final_estimator) and hasattr(final_estimator, "predict_proba"):
            return clone(final_estimator)
    elif final_estimator == "vote":
        return None
    elif final_estimator == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=LINEAR_MAX_ITER))
    elif final_estimator == "discriminant":
        return make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    elif final_estimator == "boosting":
        return HistGradientBoostingClassifier(
            learning_rate=TOTAL_LEARNING_RATE / n_trees,
            max_iter=n_trees,
            early_stopping=False,  # it would hold samples out, which fails for a class with a single sample
            max_leaf_nodes=MAX_LEAF_NODES,
            min_samples_leaf=int(np.clip(n_samples // SAMPLES_PER_LEAF, *MIN_SAMPLES_LEAF)),
            max_features=MAX_FEATURES,
            l2_regularization=L2_REGULARIZATION,
            random_state=int(make_rng(random_state).integers(2**31)),
        )
    raise ValueError(
        f"final_estimator must be 'vote', 'linear', 'discriminant', 'boosting' or a classifier with "
        f"predict_proba; got {final_estimator!r}."
    )


def fit_final_estimator(classifier: ClassifierMixin, responses, labels, weights) -> ClassifierMixin:
    """Fit a classifier on responses (n, f), with sample weights (n,) if it accepts them.

    Equal weights are not passed on: boosting takes five times as long with any weights. Linear discriminant analysis
    accepts none: the weights of the classes become its priors.
    """
    if np.ptp(weights) == 0:
        return classifier.fit(responses, labels)
    is_pipeline = isinstance(classifier, Pipeline)
    last, prefix = (classifier[-1], f"{classifier.steps[-1][0]}__") if is_pipeline else (classifier, "")
    if isinstance(last, LinearDiscriminantAnalysis) and last.priors is None:
        _, codes = np.unique(labels, return_inverse=True)
        last.set_params(priors=np.bincount(codes, weights) / weights.sum())
    parameters = {f"{prefix}sample_weight": weights} if has_fit_parameter(last, "sample_weight") else {}
    return classifier.fit(responses, labels, **parameters)
