"""A studio that is killed while it is painted on has everything that it acknowledged, undo history included.

`python -m tests.studio.kills 100` kills a hundred times.
"""

import pytest

pytest.importorskip("starlette")

from tests.studio.kills import run

N_KILLS = 3


def test_no_acknowledged_stroke_is_lost(folder):
    assert len(list(run(N_KILLS, folder))) == N_KILLS
