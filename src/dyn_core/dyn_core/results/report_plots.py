# SPDX-License-Identifier: Apache-2.0
"""The plots of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyn_core.report.curve import Curve
from dyn_core.report.line_plot import line_plot
from dyn_core.report.page import legend
from dyn_core.results.result import Result
from dyn_core.robot.joints import Joint

MEASURED, PREDICTED, RESIDUAL, STANDARD = 0, 1, 5, 2
"""Numbers of their colours."""


def torque_plots(result: Result) -> Iterator[str]:
    """Answer measured and predicted torque, and residual, of each joint."""
    compared = result.comparison
    part = "held-out data" if compared.is_held_out else "fitted data"
    yield f'<p>On {part}, behind the filter of the equations.</p><div class="plots">'
    for i, joint in enumerate(result.loaded.robot.independent_joints):
        if not result.signals.has_effort[i]:
            continue
        measured, predicted = compared.measured[:, i], compared.predicted[:, i]
        torques = (
            Curve("measured", compared.time, measured, MEASURED),
            Curve("predicted", compared.time, predicted, PREDICTED),
        )
        residual = (Curve("measured less predicted", compared.time, measured - predicted, RESIDUAL),)
        yield _figure(
            f"{joint.name}: {_effort(joint)}", "time (s)", f"{_effort(joint)} ({joint.effort_unit})", torques
        )
        yield _figure(f"{joint.name}: residual", "time (s)", f"residual ({joint.effort_unit})", residual)
    yield "</div>"


def friction_plots(result: Result) -> Iterator[str]:
    """Answer the friction of each joint over its velocity."""
    for joint, curves in zip(result.loaded.robot.independent_joints, result.friction, strict=True):
        if joint.name in result.identified.fixed:
            continue
        load = "" if curves.load is None else f", at a load of {curves.load:.3g} {joint.effort_unit}"
        drawn = (
            Curve("measured less bodies and rotors (mean)", curves.velocity, curves.measured, MEASURED),
            Curve("viscous, Coulomb, offset", curves.velocity, curves.standard, STANDARD, dashed=True),
            Curve(f"identified{load}", curves.velocity, curves.chosen, PREDICTED),
        )
        x_label = f"velocity ({joint.position_unit}/s)"
        yield _figure(f"{joint.name}: friction", x_label, f"{_effort(joint)} ({joint.effort_unit})", drawn)


def _effort(joint: Joint) -> str:
    return "force" if joint.position_unit == "m" else "torque"


def _figure(title: str, x_label: str, y_label: str, curves: Sequence[Curve]) -> str:
    entries = ((curve.label, curve.colour, curve.dashed) for curve in curves)
    return f"<figure>{line_plot(title, x_label, y_label, curves)}{legend(entries)}</figure>"
