import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """As inside the library's parallel map: small products are much slower on two threads of a busy machine."""
    with threadpool_limits(limits=1):
        yield
