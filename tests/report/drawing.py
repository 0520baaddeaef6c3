"""A check for every figure."""


def assert_nothing_is_cut_off(figure):
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    slack = 0.03  # inches
    assert min(drawn.x0, drawn.y0) >= -slack
    assert drawn.x1 <= width + slack
    assert drawn.y1 <= height + slack
