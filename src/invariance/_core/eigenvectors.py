"""Eigenvectors of symmetric matrices, computed without holding up other threads.

`scipy.linalg.eigh` keeps Python's global lock while LAPACK works: for a second or more nothing else runs in the process,
such as a server that paints while a model is fitted. Here the same routine of the same library is called without it.
"""

import ctypes

import numpy as np
from scipy import linalg
from scipy.linalg import cython_lapack

# The parameters of `dsyevr`: s for characters, i for integers, d for numbers.
_PARAMETERS = "sssididdiididdiidiiii"
_TYPES = {"char *": "s", "int *": "i", "__pyx_t_5scipy_6linalg_13cython_lapack_d *": "d"}


def top_eigenvectors(matrix: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `rank` largest eigenvalues and their eigenvectors, as `scipy.linalg.eigh` does, bit for bit.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), float64
        Symmetric.
    rank : int
        From 1 to n.

    Returns
    -------
    values : ndarray of shape (rank,)
        In ascending order.
    vectors : ndarray of shape (n, rank)
    """
    n = len(matrix)
    first = n - rank + 1
    routine = _find_routine()
    if routine is None or not np.isfinite(matrix).all():
        return linalg.eigh(matrix, subset_by_index=(n - rank, n - 1))
    a = np.array(matrix, np.float64, order="F")
    values, vectors = np.empty(n), np.empty((n, rank), order="F")
    support, n_found = np.empty(2 * rank, np.intc), ctypes.c_int()
    lwork, liwork = (int(size) for size in linalg.lapack.dsyevr_lwork(n, lower=1)[:2])
    work, iwork = np.empty(lwork), np.empty(liwork, np.intc)
    info = ctypes.c_int()
    routine(
        b"V", b"I", b"L", _integer(n), _array(a), _integer(n), _number(0), _number(1), _integer(first), _integer(n),
        _number(0), ctypes.byref(n_found), _array(values), _array(vectors), _integer(n), _array(support), _array(work),
        _integer(lwork), _array(iwork), _integer(liwork), ctypes.byref(info),
    )  # fmt: skip
    if info.value != 0 or n_found.value != rank:
        raise linalg.LinAlgError(f"the eigenvectors of a matrix of {n} x {n} could not be computed ({info.value})")
    return values[:rank], vectors


def _integer(value: int):
    return ctypes.byref(ctypes.c_int(value))


def _number(value: float):
    return ctypes.byref(ctypes.c_double(value))


def _array(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _find_routine():
    """Return `dsyevr` of scipy's LAPACK as a function that ctypes calls without the lock; None if it is another one."""
    capsule = cython_lapack.__pyx_capi__.get("dsyevr")
    if capsule is None:
        return None
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = get_name(capsule)
    types = name.decode().removeprefix("void (").removesuffix(")").split(", ")
    if "".join(_TYPES.get(kind, "?") for kind in types) != _PARAMETERS:
        return None
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(_PARAMETERS))(get_pointer(capsule, name))
