"""
Learning the trade-off
======================

The more a representation ignores, the less it can discriminate. Weights of base kernels with different invariances are
learned for each digit against the others, so that each class has the invariances that suit it.
"""

from invariance import Identity, Rotations, Shifts, TangentDistance, TradeoffClassifier, datasets
from invariance.report import similarity_figure, weights_figure
from invariance.tradeoff import ImageKernel, task_similarity

digits = datasets.load_digits()
train, test = digits.take(slice(0, 200)), digits.take(slice(1000, 1400))

# %%
# Three kernels: without invariance, invariant to small rotations, and to small shifts.

kernels = [
    ImageKernel(TangentDistance(Identity()), name="none"),
    ImageKernel(TangentDistance(Rotations(3)), name="rotations"),
    ImageKernel(TangentDistance(Shifts()), name="shifts"),
]
learned = TradeoffClassifier(kernels, scheme="ova")
equal = TradeoffClassifier(kernels, scheme="ova", weights="equal")
learned.fit(train.images, train.labels)
equal.fit(train.images, train.labels)
print(f"learned weights: {learned.score(test.images, test.labels):.3f}")
print(f"equal weights:   {equal.score(test.images, test.labels):.3f}")

# %%
# The weights of each class against the rest, as shares of their sum.

figure = weights_figure(learned, "Digits")

# %%
# Which classes have similar weights.

figure = similarity_figure(task_similarity(learned), learned.task_names_)
