"""Every command is documented, does what it says, and ends as it should."""

import json
import re
import subprocess
import sys
from inspect import signature

import pytest
from PIL import Image

from invariance import __version__
from invariance.cli import main
from invariance.cli.commands import COMMANDS as MODULES
from invariance.cli.commands import build_command
from invariance.methods import advise_pixels
from invariance.segmentation import JungleSegmenter

COMMANDS = {name: build_command(name) for name in MODULES}


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"invariance {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command(arguments, capsys):
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "Examples:" in text
    assert all(name in text for name in COMMANDS)


def test_help_shows_the_first_sentence_of_every_command_in_one_line(capsys):
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    for line, command in zip(listed, COMMANDS.values(), strict=True):
        assert " ".join(command.help.split()).startswith(line.split(maxsplit=1)[1].removesuffix("..."))


def test_a_file_without_a_function_run_is_no_command(capsys):
    assert "console" not in MODULES
    for name in ("console", "fit_pixels", "--fit"):
        assert main([name]) == 2
        assert name in capsys.readouterr().err


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A command of another package, and one of the name of our own."""
    (tmp_path / "greeting.py").write_text(
        "EXAMPLES = 'Examples:\\n\\n  invariance greet'\n\n\ndef run():\n    'Greet.'\n    print('Hello.')\n"
    )
    metadata = tmp_path / "greeting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[invariance.commands]\ngreet = greeting\ncache = greeting\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("plugin")
def test_a_command_of_another_package_is_listed_and_run(capsys):
    assert main(["--help"]) == 0
    assert re.search(r"^  greet +Greet\.$", capsys.readouterr().out, flags=re.MULTILINE)
    assert main(["greet"]) == 0
    assert capsys.readouterr().out == "Hello.\n"


@pytest.mark.usefixtures("plugin")
def test_a_command_of_another_package_replaces_none_of_ours():
    assert MODULES["cache"].__name__ == "invariance.cli.cache"
    assert len(MODULES) == len(COMMANDS) + 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_examples_and_every_option_is_explained(name, capsys):
    command = COMMANDS[name]
    assert command.help.endswith(".")
    assert f"invariance {name}" in command.epilog.partition("Examples:")[2]
    assert all(parameter.help for parameter in command.params)
    assert main([name, "--help"]) == 0
    assert "Examples:" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_use_options_that_exist(name):
    command = COMMANDS[name]
    known = {"--help", *(option for parameter in command.params for option in parameter.opts)}
    used = set(re.findall(r"(?<=\s)--?[a-z-]+", command.epilog))
    assert used <= known


def test_the_help_of_fit_pixels_states_the_defaults_of_the_segmenter():
    stated = {option.name: re.findall(r"Default: ([\w:]+)\.", option.help) for option in COMMANDS["fit-pixels"].params}
    defaults = JungleSegmenter().get_params()
    for option, parameter in {"patch_size": "patch_size", "pixels": "max_pixels", "rounds": "n_rounds"}.items():
        assert stated[option] == [str(defaults[parameter])]
    assert defaults["transformations"] is None
    assert stated["invariant_to"] == ["rotations:16"]  # what None means: see test_segmenter


def test_the_help_of_advise_pixels_states_the_defaults():
    stated = {
        option.name: re.findall(r"Default: ([\w:]+)\.", option.help) for option in COMMANDS["advise-pixels"].params
    }
    defaults = {name: parameter.default for name, parameter in signature(advise_pixels).parameters.items()}
    for option, parameter in {"patch_size": "patch_size", "pixels": "max_pixels", "max_classes": "max_classes"}.items():
        assert stated[option] == [str(defaults[parameter])]


@pytest.mark.parametrize(
    ("given", "passed"), [(["--patch-size", "auto"], {"patch_size": None}), (["--patch-size", "9"], {"patch_size": 9})]
)
def test_the_patch_size_is_a_number_or_auto(given, passed, tmp_path, monkeypatch):
    made = []

    def make(**settings):
        made.append(settings)
        raise ValueError("enough")

    monkeypatch.setattr("invariance.segmentation.JungleSegmenter", make)
    assert main(["fit-pixels", "a.png", "b.png", "-o", str(tmp_path / "model.inv"), *given]) == 2
    assert made == [{"random_state": 0} | passed]


@pytest.mark.parametrize("size", ["large", "", "9.5", "Auto"])
def test_another_patch_size_is_refused_in_one_line(size, tmp_path, capsys):
    assert main(["fit-pixels", "a.png", "b.png", "-o", str(tmp_path / "model.inv"), "--patch-size", size]) == 2
    expected = f"Error: --patch-size must be an odd whole number or auto; got {size!r}. Try 31.\n"
    assert capsys.readouterr().err == expected


def test_datasets_lists_what_is_there_and_how_to_get_the_rest(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("INVARIANCE_DATA", str(tmp_path))
    assert main(["datasets"]) == 0
    text = capsys.readouterr().out
    assert "load_textures()" in text
    assert "Missing" in text
    assert main(["datasets", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert {"name", "what", "present", "where", "how"} == set(entries[0])
    assert all(entry["how"] for entry in entries)
    assert {entry["present"] for entry in entries} == {True, False}


def test_transformations_alone_lists_the_sets_and_writes_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["transformations"]) == 0
    text = capsys.readouterr().out
    assert "rotations:24" in text
    assert "illumination:4 " in text
    assert "illumination-corrections:8:16" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_transformations_draws_an_orbit(ending, capsys, tmp_path):
    image = tmp_path / f"orbit.{ending}"
    assert main(["transformations", "--invariant-to", "rotations:4", "--size", "24", "-o", str(image)]) == 0
    text = capsys.readouterr().out
    assert "4 members" in text
    assert "form a group" in text
    assert str(image) in text
    assert list(tmp_path.iterdir()) == [image]


def test_transformations_says_that_images_are_normalized(capsys, tmp_path):
    arguments = ["transformations", "--size", "24", "-o", str(tmp_path / "orbit.png"), "--invariant-to"]
    assert main([*arguments, "reflections,illumination:4"]) == 0
    text = capsys.readouterr().out
    assert "2 members" in text
    assert "Images are normalized first" in text
    assert main([*arguments, "reflections"]) == 0
    assert "normalized" not in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "1"])
def test_transformations_takes_grey_and_colour_with_and_without_alpha(mode, tmp_path):
    Image.new(mode, (40, 30)).save(tmp_path / "image.png")
    image = tmp_path / "orbit.png"
    source = str(tmp_path / "image.png")
    assert main(["transformations", source, "--invariant-to", "reflections", "-o", str(image)]) == 0
    assert Image.open(image).width > 100


def test_of_a_large_set_only_some_are_drawn(capsys, tmp_path):
    arguments = ["transformations", "--invariant-to", "shifts:10", "--size", "16", "-o", str(tmp_path / "orbit.png")]
    assert main(arguments) == 0
    assert "441 members, 64 shown." in capsys.readouterr().out


def test_debug_shows_where_an_error_comes_from(monkeypatch):
    monkeypatch.setenv("INVARIANCE_DEBUG", "1")
    with pytest.raises(ValueError, match="rotatoin"):
        main(["transformations", "--invariant-to", "rotatoin:3"])


def test_a_defect_of_ours_is_not_disguised_as_a_mistake_of_the_user(monkeypatch):
    def fail():
        raise TypeError("a defect")

    monkeypatch.setattr("invariance.datasets.list_datasets", fail)
    with pytest.raises(TypeError):
        main(["datasets"])


def test_interruption_ends_quietly(monkeypatch, capsys):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("invariance.datasets.list_datasets", interrupt)
    assert main(["datasets"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_the_installed_command_exits_with_the_code():
    code = "import sys; from invariance.cli import main; sys.exit(main(['transformations', '--invariant-to', 'x']))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert re.fullmatch(r"Error: 'x' is not a known set .*\n", ended.stderr)
