"""The SQLite file: one history, on the disk before it is acknowledged, and nobody else's file is touched."""

import sqlite3

import numpy as np
import pytest

from invariance.studio.database import ProjectError
from invariance.studio.project import FILE, Project


@pytest.fixture
def project(folder):
    project = Project(folder)
    yield project
    project.close()


def numbers(project, mode="pixels"):
    return [found.number for found in project.classes(mode)]


def add(project, n):
    return [project.add_action("pixels", "brush", number=k, data=np.zeros(2).tobytes()) for k in range(1, n + 1)]


class TestHistory:
    def test_random_walks_equal_a_list_with_a_position(self, project):
        rng = np.random.default_rng(0)
        history, n_done = [], 0
        for _ in range(300):
            match rng.integers(4):
                case 0 | 1:
                    del history[n_done:]
                    history.append(project.add_action("pixels", "brush", number=1))
                    n_done += 1
                case 2:
                    undone = project.undo()
                    assert (None if undone is None else undone.seq) == (history[n_done - 1] if n_done else None)
                    n_done -= undone is not None
                case 3:
                    redone = project.redo()
                    assert (None if redone is None else redone.seq) == (
                        history[n_done] if n_done < len(history) else None
                    )
                    n_done += redone is not None
            assert [action.seq for action in project.actions("pixels")] == history[:n_done]
            assert project.can_undo_and_redo() == (n_done > 0, n_done < len(history))

    def test_it_survives_a_restart_with_what_was_undone(self, folder):
        project = Project(folder)
        add(project, 3)
        project.undo()
        project.close()
        project = Project(folder)
        assert [action.number for action in project.actions("pixels")] == [1, 2]
        assert project.redo().number == 3
        project.close()

    def test_numbers_of_actions_are_not_used_again(self, project):
        first = add(project, 2)
        project.undo()
        assert project.add_action("pixels", "brush") > first[-1]

    def test_the_id_of_a_stroke_is_known_after_its_action_was_replaced(self, folder):
        project = Project(folder)
        first = project.add_action("pixels", "brush", "first")
        project.undo()
        second = project.add_action("pixels", "brush", "second")
        project.close()
        project = Project(folder)
        assert [project.find_received(name) for name in ("first", "second", "third")] == [first, second, None]
        assert [action.seq for action in project.actions("pixels")] == [second]
        project.close()

    def test_a_project_from_before_strokes_had_ids(self, folder):
        Project(folder).close()
        with sqlite3.connect(folder / "invariance-studio" / FILE) as file:
            file.execute("DROP TABLE received")
        file.close()
        project = Project(folder)
        assert project.find_received("first") is None
        seq = project.add_action("pixels", "brush", "first")
        assert project.find_received("first") == seq
        project.close()

    def test_what_fails_changes_nothing(self, project):
        with pytest.raises(ProjectError):
            project.add_action("pixels", "brush", no_such_column=1)
        assert project.actions("pixels") == []
        assert add(project, 1)


class TestClasses:
    def test_a_removed_class_comes_back_with_undo_and_its_number_is_not_used_again(self, project):
        project.add_class("pixels", "cell")
        project.add_action("pixels", "remove", number=3)
        assert numbers(project) == [1, 2]
        assert project.add_class("pixels").number == 4
        project.undo()
        assert numbers(project) == [1, 2, 3, 4]
        project.redo()
        assert numbers(project) == [1, 2, 4]

    def test_there_are_at_most_as_many_as_the_engine_takes(self, project):
        for _ in range(30):
            project.add_class("pixels")
        with pytest.raises(ValueError, match="32 classes"):
            project.add_class("pixels")

    @pytest.mark.parametrize("changes", [{"name": ""}, {"name": "Class 2"}, {"name": "a\nb"}, {"colour": "red"}])
    def test_bad_names_and_colours_are_refused(self, project, changes):
        with pytest.raises(ValueError, match=r"name|colour"):
            project.change_class("pixels", 1, **changes)


class TestImageLabels:
    def test_they_follow_the_history(self, project):
        one, two = project.add_class("images", "cat").number, project.add_class("images", "dog").number
        project.label_images({1: one, 2: two})
        project.label_images({1: 0, 3: one})
        assert project.image_labels() == {2: two, 3: one}
        project.add_action("images", "remove", number=one)
        assert project.image_labels() == {2: two}
        project.undo()
        project.undo()
        assert project.image_labels() == {1: one, 2: two}

    def test_an_unknown_class_is_refused(self, project):
        with pytest.raises(ValueError, match="no class 7"):
            project.label_images({1: 7})


class TestForeignFiles:
    def test_a_second_studio_is_refused(self, project, folder):
        with pytest.raises(ProjectError, match="open in another studio"):
            Project(folder)
        add(project, 1)

    @pytest.mark.parametrize(
        ("content", "match"),
        [(b"no database at all" * 99, "cannot be opened"), (b"", None)],
    )
    def test_a_file_that_is_no_database(self, folder, content, match):
        place = folder / "invariance-studio"
        place.mkdir()
        (place / FILE).write_bytes(content)
        if match is None:
            Project(folder).close()
            return
        with pytest.raises(ProjectError, match=match):
            Project(folder)
        assert (place / FILE).read_bytes() == content

    @pytest.mark.parametrize("statement", ["CREATE TABLE mine(a)", "PRAGMA application_id = 5"])
    def test_a_database_of_another_program_is_left_alone(self, folder, statement):
        place = folder / "invariance-studio"
        place.mkdir()
        with sqlite3.connect(place / FILE) as other:
            other.execute(statement)
        other.close()
        before = (place / FILE).read_bytes()
        with pytest.raises(ProjectError, match="not a project"):
            Project(folder)
        assert (place / FILE).read_bytes() == before

    def test_a_project_of_a_later_version(self, folder):
        Project(folder).close()
        with sqlite3.connect(folder / "invariance-studio" / FILE) as file:
            file.execute("PRAGMA user_version = 99")
        file.close()
        with pytest.raises(ProjectError, match="later version"):
            Project(folder)

    def test_a_damaged_file(self, folder):
        project = Project(folder)
        add(project, 200)
        project.close()
        path = folder / "invariance-studio" / FILE
        content = bytearray(path.read_bytes())
        content[4096 * 2 :] = np.random.default_rng(0).bytes(len(content) - 4096 * 2)
        path.write_bytes(content)
        with pytest.raises(ProjectError, match="damaged|cannot be"):
            Project(folder)

    def test_a_folder_that_cannot_be_written(self, folder):
        (folder / "taken").write_text("a file")
        with pytest.raises(ProjectError, match="--project"):
            Project(folder, folder / "taken" / "project")
