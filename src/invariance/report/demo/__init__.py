"""The demonstration: pixels from strokes, images and their invariance, what the models saw; and the page about it."""
