"""Other methods that label every pixel, for comparison in the same run.

All take grey images (h, w) and masks (h, w) of 0, 1 and -1 (unlabelled), and give the probability of class 1.
"""
