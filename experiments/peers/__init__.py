"""What others use to label every pixel, so that experiments can measure against it in the same run.

Both peers take grey images (h, w) and masks (h, w) of 0, 1 and -1 (unlabelled), and give the probability of class 1.
"""
