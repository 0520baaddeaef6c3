import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    """Small products are much slower on two threads of a busy machine; a law about threads asks for them itself."""
    with threadpool_limits(limits=1):
        yield
