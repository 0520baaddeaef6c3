"""Runnable experiments: what each computes, apart from how it is shown."""
