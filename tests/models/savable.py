"""What can be saved, fitted: scikit-learn's estimators that may be parts of a model, by name."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    LabelBinarizer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

X, y = load_iris(return_X_y=True)
X, y = X[::5], y[::5]


@cache
def foreign_estimators() -> dict[str, Any]:
    """Return fitted estimators of scikit-learn, one or more of every class that a model may contain."""
    return dict(_foreign())


def _foreign() -> Iterator[tuple[str, Any]]:
    seed: Any = {"random_state": 0}
    for estimator in (
        SVC(),
        SVC(kernel="linear", decision_function_shape="ovo", **seed),
        SVC(kernel="poly"),
        SVC(kernel="precomputed"),
        NuSVC(nu=0.2),
        OneClassSVM(),
        LinearSVC(**seed),
        LogisticRegression(max_iter=1000),
        RidgeClassifier(),
        SGDClassifier(**seed),
        GaussianNB(),
        NearestCentroid(),
        KNeighborsClassifier(3, algorithm="brute"),
        LinearDiscriminantAnalysis(),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3, **seed),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3, early_stopping=True, **seed),
        KMeans(3, n_init=1, **seed),
        MiniBatchKMeans(3, n_init=1, random_state=np.random.RandomState(0)),
        PCA(2),
        TruncatedSVD(2, **seed),
        Nystroem(n_components=5, **seed),
        RBFSampler(n_components=5, **seed),
        StandardScaler(),
        MinMaxScaler(),
        MaxAbsScaler(),
        Normalizer(),
        OneVsOneClassifier(LinearSVC(**seed)),
        OneVsRestClassifier(LinearSVC(**seed)),
        CalibratedClassifierCV(LinearSVC(**seed), cv=2),
        make_pipeline(StandardScaler(), FeatureUnion([("pca", PCA(2)), ("scaled", MaxAbsScaler())]), SVC()),
        LogisticRegression(class_weight={0: 1.0, 1: 2.0, 2: 1.0}, max_iter=1000),
    ):
        rows = X @ X.T if getattr(estimator, "kernel", None) == "precomputed" else X
        yield " ".join(repr(estimator).split()), estimator.fit(rows, y)
    binary = y < 2
    two = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3, **seed)
    yield "boosting of two classes", two.fit(X[binary], y[binary])
    yield "SVC of two classes", SVC().fit(X[binary], y[binary])
    yield "SVC of texts", SVC().fit(X, y.astype(str))
    yield "LabelEncoder()", LabelEncoder().fit(y)
    yield "LabelBinarizer()", LabelBinarizer().fit(y)
