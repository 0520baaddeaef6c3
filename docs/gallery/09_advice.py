"""
Finding out which invariance helps
==================================

Which changes leave the class of an image as it is? Each image is classified by all others, by distances that ignore one
kind of change after another.
"""

from invariance import datasets
from invariance.methods import ImageClassifier, advise
from invariance.report import advice_figure, bar_figure
from invariance.transformations import Identity
from invariance.transformations.parsing import parse_transformations

digits = datasets.load_digits()
train, test = digits.take(slice(0, 200)), digits.take(slice(1000, 1400))

# %%
# Advice on 200 handwritten digits.

advice = advise(train.images, train.labels, random_state=0)
print(advice.sentence)
figure = advice_figure(advice)

# %%
# What a method gains from it, on other digits.

shares = {}
ignored = {"nothing": Identity(), "as advised": parse_transformations(advice.text)}
for name, phi in ignored.items():
    model = ImageClassifier("tangent", phi, random_state=0).fit(train.images, train.labels)
    shares[f"ignoring {name}"] = model.score(test.images, test.labels)

figure = bar_figure(shares, "accuracy", limit=1.0)
