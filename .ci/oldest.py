"""Print the oldest allowed version of every dependency as constraints of pip, from the lower bounds in pyproject.toml.

python .ci/oldest.py > constraints.txt
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

EXTRAS = ("studio", "encoders", "volumes", "hdf5", "parquet")  # what is installed for users; tools may be newer
BOUND = re.compile(r"(?P<name>[\w.-]+)>=(?P<version>[\w.]+)")


def constraints(pyproject: Path) -> Iterator[str]:
    """Yield a line `name==version` for every dependency."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]:
        if (bound := BOUND.match(requirement)) is None:
            raise ValueError(f"{requirement!r} has no lower bound. Write it as name>=version.")
        yield f"{bound['name']}=={bound['version']}"


if __name__ == "__main__":
    print("\n".join(constraints(Path(__file__).parents[1] / "pyproject.toml")))
