"""A report about a fitted model: what it is, how it does on labelled images, what it learned, how to repeat it."""

from invariance.report.explanation.whole import explain, explain_answers

__all__ = ["explain", "explain_answers"]
