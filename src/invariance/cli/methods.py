"""`invariance methods`: the available methods, and what each does with every part of Φ."""

import json
from typing import TYPE_CHECKING, Any

from invariance.cli.console import make_console, say
from invariance.cli.options import InvariantToOption, JsonOption, parse_invariance

if TYPE_CHECKING:
    from invariance.methods import Method, Plan

EXAMPLES = """Examples:

  invariance methods

  invariance methods --invariant-to rotations:5:15

  invariance methods --invariant-to shifts:2,illumination:4 --json"""


def run(invariant_to: InvariantToOption = None, as_json: JsonOption = False) -> None:
    """List the methods, what each is for, and how it ignores what does not matter."""
    from invariance.methods import get_methods

    phi = parse_invariance(invariant_to)
    plans = [(method, method.plan(phi)) for method in get_methods()]
    if as_json:
        say(json.dumps([_as_dict(method, plan) for method, plan in plans], indent=2))
    else:
        _print_plans(plans)


def _as_dict(method: "Method", plan: "Plan") -> dict[str, Any]:
    return {
        "name": method.name,
        "summary": method.summary,
        "purpose": method.purpose,
        "limits": {"max_learned": method.max_learned, "min_side": method.min_side, "grey": method.is_grey},
        "default": plan.is_default,
        "plan": [part.as_json() for part in plan.parts],
    }


def _print_plans(plans: "list[tuple[Method, Plan]]") -> None:
    from rich.markup import escape
    from rich.table import Table

    console = make_console()
    for method, plan in plans:
        console.print(f"[bold]{escape(method.name)}[/bold]: {escape(method.summary)}. For {escape(method.purpose)}.")
        table = Table(box=None, pad_edge=False, show_header=False)
        for width in (20, 10, None):
            table.add_column(min_width=width, overflow="fold")
        for part in plan.parts:
            entry = part.as_json()
            table.add_row(*(escape(f"  {entry['part']}"), entry["treatment"], escape(entry["sentence"])))
        console.print(table)
        console.print()
    if plans and plans[0][1].is_default:
        console.print("These are the defaults; --invariant-to shows what the methods do with another Φ.")
