"""What is done for every request of a page. Each answer runs in a thread, and returns the fields of the reply."""

from collections.abc import Callable
from typing import Any

from invariance.studio.messages import MAX_VIEW_SIDE
from invariance.studio.rasters import Box, PageKey
from invariance.studio.studio import Studio

Answer = Callable[[Studio, int, dict[str, Any]], dict[str, Any]]


def open_studio(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the state; what else was sent to pages before follows as events."""
    outbox = studio.outbox(connection)
    shown = (studio.pixels.status(), studio.pixels.scores(), studio.images.predictions())
    for event in [*studio.jobs.events(), *shown]:
        if event is not None:
            outbox.say(event)
    return {**studio.state(), "connection": connection}


def stroke(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Paint a stroke; one that came before, but whose reply was lost, is acknowledged only."""
    key = PageKey(fields["image"], fields["page"], fields["layer"])
    how = fields["tool"], fields["class"], fields["radius"], fields["points"], fields["stroke_id"]
    step = studio.pixels.stroke(key, *how, origin=connection)
    return {"action": step.seq, "is_repeated": step.is_repeated}


def travel(is_undo: bool) -> Answer:
    """Undo or redo."""

    def answer(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
        action = studio.pixels.travel(is_undo, connection)
        if action is None:
            return {"action": None, "image": None, "page": None, "layer": None}
        if action.mode == "images":
            studio.images.refresh()
        studio.send_state()
        return {"action": action.seq, "image": action.image, "page": action.page, "layer": action.layer}

    return answer


def labels(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Send the label tiles of a part of a page."""
    key = PageKey(fields["image"], fields["page"], fields["layer"])
    box = Box(fields["top"], fields["left"], fields["bottom"], fields["right"])
    studio.outbox(connection).show_labels(key, studio.pixels.label_tiles(key, box))
    return {}


def add_class(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Add a class."""
    added = studio.project.add_class(fields["mode"], fields["name"], fields["colour"])
    studio.send_state()
    return {"class": added.as_json()}


def change_class(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Change the name, the colour, or whether a class is hidden or locked."""
    names = ("name", "colour", "is_hidden", "is_locked")
    changes = {name: fields[name] for name in names if fields[name] is not None}
    studio.project.change_class(fields["mode"], fields["number"], **changes)
    studio.send_state()
    return {}


def remove_class(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Remove a class and its labels."""
    if fields["mode"] == "pixels":
        action = studio.pixels.remove_class(fields["number"], connection)
    else:
        studio.project.find_class("images", fields["number"])
        action = studio.project.add_action("images", "remove", number=fields["number"])
        studio.images.refresh()
    studio.send_state()
    return {"action": action}


def view(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Show predictions of what is visible."""
    step, box = fields["step"], Box(fields["top"], fields["left"], fields["bottom"], fields["right"])
    source = studio.sources.find(fields["image"], fields["page"])
    inside = Box(max(box.top, 0), max(box.left, 0), min(box.bottom, source.height), min(box.right, source.width))
    if inside.top >= inside.bottom or inside.left >= inside.right:
        raise ValueError("nothing of the image is visible. Move it into the window.")
    if max(inside.bottom - inside.top, inside.right - inside.left) > MAX_VIEW_SIDE * step:
        raise ValueError(f"a view can have {MAX_VIEW_SIDE} x {MAX_VIEW_SIDE} pixels. Use a larger step.")
    shown = (fields["image"], fields["page"], *inside, step)
    studio.pixels.show(connection, shown, studio.outbox(connection))
    return {}


def live(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Switch learning after every stroke on or off, for all pages."""
    studio.pixels.set_live(fields["on"])
    studio.send({"event": "live", "is_live": studio.pixels.is_live})
    return {}


def update(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Learn from all strokes once."""
    studio.pixels.update()
    return {}


def suggest(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Suggest places worth a stroke."""
    return {"places": studio.pixels.suggest(fields["image"], fields["page"])}


def settings(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Change settings; those that were left out stay."""
    known = ("invariant_to", "corrections", "image_invariant_to")
    changes = {key: value for key, value in fields.items() if value is not None or key not in known}
    studio.project.change_settings(changes)
    studio.pixels.refresh_settings()
    studio.send_state()
    return {}


def accept(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Make the segmentation of a page its final mask."""
    action = studio.pixels.accept(fields["image"], fields["page"], connection)
    studio.send_state()
    return {"action": action}


def start_job(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Start a job."""
    return {"job": studio.jobs.start(fields["kind"], {key: fields[key] for key in fields if key != "kind"})}


def cancel_job(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Cancel a job."""
    studio.jobs.cancel(fields["job"])
    return {}


def label_images(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Label whole images."""
    return {"action": studio.images.label(fields["images"], fields["class"])}


def accept_images(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Make predicted classes labels."""
    return {"action": studio.images.accept(fields["images"], fields["min_certainty"])}


def plans(studio: Studio, connection: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Say what every method does with what does not matter."""
    return {"plans": studio.images.plans(fields["invariant_to"])}


ANSWERS: dict[str, Answer] = {
    "open": open_studio,
    "stroke": stroke,
    "undo": travel(is_undo=True),
    "redo": travel(is_undo=False),
    "labels": labels,
    "class.add": add_class,
    "class.change": change_class,
    "class.remove": remove_class,
    "view": view,
    "live": live,
    "update": update,
    "suggest": suggest,
    "settings": settings,
    "accept": accept,
    "job.start": start_job,
    "job.cancel": cancel_job,
    "image.label": label_images,
    "image.accept": accept_images,
    "plans": plans,
}
# Answers that take long; a page may go on painting meanwhile.
SLOW = ("suggest", "accept", "plans")
