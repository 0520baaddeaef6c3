"""Build the wheel and the sdist into dist/, install both in a clean environment, and use them there.

    python .ci/dist.py [DIST]

The wheel is built from the sdist, so that the sdist is complete. What runs is run outside of the checkout, in an empty
home, so that nothing but the installed files is found.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAKE_IMAGES = """
from pathlib import Path
from invariance import datasets
from invariance.images import page_writer
glyphs = datasets.make_glyphs(6, random_state=0)
for number, (image, label) in enumerate(zip(glyphs.images, glyphs.labels)):
    folder = Path("new" if number % 6 == 5 else f"old/{glyphs.class_names[label]}")
    folder.mkdir(parents=True, exist_ok=True)
    with page_writer(folder / f"{glyphs.class_names[label]}-{number}.png") as write:
        write((255 * image).astype("uint8"))
"""


def main() -> None:
    """Build, install and use both files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as place:
        environment = Environment(Path(place))
        environment.pip(wheel)
        environment.use()
        environment.pip("--force-reinstall", "--no-deps", sdist)
        environment.use()
    print(f"Built, installed and used: {wheel.name}, {sdist.name}")


class Environment:
    """A clean environment, an empty home, and a folder to work in."""

    def __init__(self, place: Path):
        self.place = place
        venv.create(place / "venv", with_pip=True)
        self.programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        (place / "home").mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "INVARIANCE"))}
        self.variables = {**kept, "HOME": str(place / "home"), "USERPROFILE": str(place / "home")}

    def pip(self, *arguments: str | Path) -> None:
        """Install something."""
        run([self.programs / "python", "-m", "pip", "install", "--quiet", *arguments])

    def use(self) -> None:
        """Ask for help, learn from a few images, and classify others."""
        work = Path(tempfile.mkdtemp(dir=self.place))
        code = f"import invariance; assert not invariance.__file__.startswith({str(ROOT)!r}), invariance.__file__"
        self.run(work, "python", "-c", code)
        self.run(work, "invariance", "--version")
        self.run(work, "invariance", "--help")
        self.run(work, "python", "-c", MAKE_IMAGES)
        self.run(work, "invariance", "fit", "old", "-o", "glyphs.inv", "--method", "landmarks")
        self.run(work, "invariance", "predict", "glyphs.inv", "new", "-o", "labels.csv")
        assert len((work / "labels.csv").read_text(encoding="utf-8").splitlines()) == 7, "six images and a head"

    def run(self, work: Path, program: str, *arguments: str) -> None:
        """Run a program of the environment."""
        run([self.programs / program, *arguments], cwd=work, env=self.variables)


def run(command: list, **options) -> None:
    """Run a command and show what it prints only if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
