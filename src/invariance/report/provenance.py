"""What a result was computed with."""

import platform
from importlib.metadata import PackageNotFoundError, version

from invariance._version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "scikit-image", "opencv-python-headless", "numba", "matplotlib")


def software_versions() -> dict[str, str]:
    """The versions of invariance, Python, the operating system and the packages that results depend on."""
    versions = {
        "invariance": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            # OpenCV comes in several packages; a conda or headful one is none of our business.
            versions[package] = "unknown"
    return versions
