# SPDX-License-Identifier: Apache-2.0
"""The report of an identification, as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dyn_core.identification.estimators.estimators import IN_WORDS
from dyn_core.identification.output.report_page import notices, verdict
from dyn_core.identification.output.report_tables import (
    base_rows,
    error_table,
    friction_of_moving,
    friction_rows,
    how_rows,
    joint_numbers,
    motor_rows,
    percent,
    standard_table,
    tried_rows,
    unseen_rows,
)
from dyn_core.report.page import page, table
from dyn_core.results.report_plots import friction_plots, torque_plots
from dyn_core.results.result import Result


def report_page(result: Result) -> str:
    """Answer the page."""
    title = f"Identified dynamics of robot {result.loaded.robot.name}"
    return page(title, (f"<h1>{escape(title)}</h1>", *_body(result)))


def _body(result: Result) -> Iterator[str]:
    inputs = result.inputs
    yield (
        f'<p class="quiet">From {escape(inputs.files["log"])}, {escape(inputs.files["description"])}; '
        f"{escape(inputs.made_by)}, {escape(inputs.date)}</p>"
    )
    yield f"<p>{escape(verdict(result))}</p>"
    yield from _cards(result)
    yield _section("What to know before using it", notices(result))
    yield _section("Torque errors", _errors(result))
    yield _section("Measured and predicted torques", torque_plots(result))
    yield _section("Friction", _friction(result))
    yield _section("Parameters", _parameters(result))
    yield _section("What could not be identified, and why", _unseen(result))
    yield _section("How it was done", (table((), how_rows(result), "prose"),))
    yield _section("How to use it", _use(result))


def _section(title: str, body: Iterator[str] | tuple[str, ...]) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(body)}</section>"


def _cards(result: Result) -> Iterator[str]:
    which = "held_out" if result.comparison.is_held_out else "fitted"
    identified = result.identified
    seen = "of the torque is unexplained, on data that no fit has seen"
    if which == "fitted":
        seen = "of the torque is unexplained, on the data that was fitted"
    error = getattr(identified.consistent_errors, which).relative
    standard = getattr(result.standard_errors, which).relative
    described = getattr(result.description_errors, which).relative
    moving = friction_of_moving(identified, identified.friction)
    parameters = [*identified.base, *(p for friction in moving for p in friction.parameters)]
    essential = sum(parameter.essential for parameter in parameters)
    at_once = getattr(result.at_once_errors, which).relative
    nodes = "viscous, Coulomb and offset alone"
    if any(result.identified.coulomb_velocity):
        nodes += f"; {percent(at_once)} where Coulomb friction changes its sign at once"
    cards = (
        (percent(error), seen, "physically consistent parameters with the friction models"),
        (percent(standard), "with the friction that the nodes know", nodes),
        (percent(described), "with the description as it was", "before identification"),
        (
            f"{essential} of {len(parameters)}",
            "parameters are essential",
            f"condition number {identified.condition:.3g}",
        ),
    )
    yield '<div class="cards">'
    for number, text, more in cards:
        yield (
            f'<div class="card"><b>{escape(number)}</b>{escape(text)}<br><span>{escape(more)}</span></div>'
        )
    yield "</div>"


def _errors(result: Result) -> Iterator[str]:
    yield (
        "<p>Relative errors |\N{GREEK SMALL LETTER TAU} \N{MINUS SIGN} \N{GREEK SMALL LETTER TAU}"
        "<sub>model</sub>| / |\N{GREEK SMALL LETTER TAU}|. A robot has the physically consistent parameters, "
        "which bodies can have; least squares alone only show what that costs. An error that is much larger "
        "on held-out data than on fitted data means too little motion for so many parameters.</p>"
    )
    yield error_table(result)


def _friction(result: Result) -> Iterator[str]:
    if result.settings.friction is None:
        yield (
            "<p>The model of each joint was chosen by cross-validation within the fitted part of the log. "
            "The nodes, simulation and identified.urdf know viscous friction, Coulomb friction and offset "
            "alone: they get what leaves least of the measured torques of that part. qd is the velocity, s "
            "its sign, which feedforward smooths as the last column says.</p>"
        )
    yield table(("joint", "friction", "fitted", "for the nodes"), friction_rows(result), "prose wide")
    yield f'<div class="plots">{"".join(friction_plots(result))}</div>'
    rows = list(tried_rows(result))
    if rows:
        yield (
            "<details><summary>What was tried, with the error in cross-validation, relative to the torque of "
            f"the joint</summary>{table(('joint', 'model', 'error'), rows, 'prose')}</details>"
        )


def _parameters(result: Result) -> Iterator[str]:
    estimator = escape(IN_WORDS[result.identified.procedure.estimator])
    yield (
        f"<p>Base parameters are the combinations that torques depend on, by {estimator}. "
        "Essential: the torques cannot do without it. Deviations are one standard deviation. Behind the name "
        "of a parameter is the number of its joint, with an R before it where others are grouped in it, as "
        f"<code>dyn base</code> says: {escape(joint_numbers(result))}.</p>"
    )
    head = (
        *("parameter", "value", "deviation", "relative deviation", "possible bodies", "description", "unit"),
        "",
    )
    yield table(head, base_rows(result))
    motors = list(motor_rows(result))
    if motors:
        yield (
            "<p>Motors that move several joints, with possible bodies, on the side of the joints. Their "
            "speed is the sum of the speeds of the joints, each times the number before it.</p>"
        )
        yield table(
            ("motor", "speed", "rotor inertia", "viscous friction", "Coulomb friction"), motors, "prose"
        )
    yield (
        "<details><summary>Standard parameters, physically consistent, as parameters.yaml has them"
        f"</summary>{standard_table(result)}</details>"
    )


def _unseen(result: Result) -> Iterator[str]:
    rows = list(unseen_rows(result))
    if not rows:
        yield "<p>The log shows every parameter that torques depend on.</p>"
        return
    yield table(("parameters", "why"), rows, "prose reasons")


def _use(result: Result) -> Iterator[str]:
    urdf = escape(result.inputs.files["description"])
    yield (
        "<pre>"
        f"dyn predict {urdf} --parameters parameters.yaml --log another.mcap --out tau.csv\n"
        f"ros2 launch dyn_nodes feedforward.launch.py description_file:={urdf} "
        "dynamic_parameters_file:=$PWD/parameters.yaml</pre>"
        "<p>Before torques act on a robot: try another log with dyn predict, and begin with low gains.</p>"
    )
