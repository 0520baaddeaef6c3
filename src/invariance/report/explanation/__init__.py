"""A report about a fitted model: what it is, its accuracy, what it learned, and how to reproduce it."""

from invariance.report.explanation.model import explain, explain_evaluated

__all__ = ["explain", "explain_evaluated"]
