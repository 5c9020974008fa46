# SPDX-License-Identifier: Apache-2.0
"""The report of an identification as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dyn_core.identification.estimators.identification_settings import IN_WORDS
from dyn_core.identification.output.identification_result import Result, told
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
from dyn_core.report.line_plot import Curve
from dyn_core.report.page import Figure, Table, figure, rendered
from dyn_core.robot.joints import Joint


def report_page(result: Result) -> str:
    """Return the report of a result as HTML."""
    inputs = result.inputs
    return rendered(
        Path(__file__).with_suffix(".html"),
        title=f"Identified dynamics of robot {result.loaded.robot.name}",
        log=inputs.files["log"],
        urdf=inputs.files["description"],
        made_by=inputs.made_by,
        date=inputs.date,
        verdict=verdict(result),
        cards=_cards(result),
        notices=notices(result),
        errors=error_table(result),
        compared="held-out data" if result.comparison.is_held_out else "fitted data",
        torque_plots=torque_plots(result),
        chosen=result.settings.friction is None,
        friction=Table(("joint", "friction", "fitted", "for the nodes"), friction_rows(result), "prose wide"),
        friction_plots=friction_plots(result),
        tried=Table(("joint", "model", "error"), list(tried_rows(result)), "prose"),
        estimator=IN_WORDS[result.identified.procedure.estimator],
        joint_numbers=joint_numbers(result),
        base=Table(BASE_HEAD, base_rows(result)),
        motors=Table(MOTOR_HEAD, list(motor_rows(result)), "prose"),
        standard=standard_table(result),
        unseen=Table(("parameters", "why"), list(unseen_rows(result)), "prose reasons"),
        procedure=Table((), how_rows(result), "prose"),
    )


BASE_HEAD = (
    *("parameter", "value", "deviation", "relative deviation", "possible bodies", "description", "unit"),
    "",
)
MOTOR_HEAD = ("motor", "speed", "rotor inertia", "viscous friction", "Coulomb friction")


def _cards(result: Result) -> tuple[tuple[str, str, str], ...]:
    identified, is_held_out = result.identified, result.comparison.is_held_out
    data = "data that no fit has seen" if is_held_out else "the data that was fitted"
    error, standard, described, at_once = (
        getattr(errors, "held_out" if is_held_out else "fitted").relative
        for errors in (
            identified.consistent_errors,
            result.standard_errors,
            result.description_errors,
            result.at_once_errors,
        )
    )
    moving = friction_of_moving(identified, identified.friction)
    parameters = [*identified.base, *(p for friction in moving for p in friction.parameters)]
    essential = f"{sum(parameter.essential for parameter in parameters)} of {len(parameters)}"
    consistent = "physically consistent parameters with the friction models"
    nodes = "viscous, Coulomb and offset alone"
    if any(result.identified.coulomb_velocity):
        nodes += f"; {percent(at_once)} where Coulomb friction changes its sign at once"
    return (
        (percent(error), f"of the torque is unexplained, on {data}", consistent),
        (percent(standard), "with the friction that the nodes know", nodes),
        (percent(described), "with the description as it was", "before identification"),
        (essential, "parameters are essential", f"condition number {identified.condition:.3g}"),
    )


# relative torque errors up to which parameters are good, usable, and doubtful
GOOD, USABLE, POOR = 0.05, 0.10, 0.25


def verdict(result: Result) -> str:
    """Return the reliability of the result, in a sentence or two."""
    identified = result.identified
    errors = identified.consistent_errors
    shown = errors.held_out or errors.fitted
    if not result.verdict.is_usable:
        return (
            "Something is wrong, as is said below: do not use these parameters. Mend it, and identify again."
        )
    part = f"the last {100 * (1 - result.signals.train):.3g} % of the log, which no fit has seen"
    if errors.held_out is None:
        part = "the same data that was fitted, which says nothing of other motions"
    grades = ((GOOD, "a good"), (USABLE, "a usable"), (POOR, "a doubtful"))
    grade = next((text for limit, text in grades if shown.relative <= limit), "a poor")
    before = (result.description_errors.held_out or result.description_errors.fitted).relative
    size = f"{100 * shown.relative:.2g} %"
    sentence = f"These parameters predict the torques to within {size} on {part}: {grade} model."
    if before > 0.0:
        sentence += f" With the description as it was, the error is {100 * before:.3g} %."
    return sentence


def notices(result: Result) -> list[tuple[str, str]]:
    """Return findings, remarks and comments on the errors, with their severity, the worst first."""
    findings = sorted(told(result), key=lambda finding: finding.severity)
    items = [
        (str(one.severity), f"{one.element}: {one.message}" if one.names else _sentence(one.message))
        for one in findings
    ]
    remarks = (*result.identified.remarks, *result.urdf.remarks)
    items += [("note", _sentence(str(remark))) for remark in remarks]
    return sorted(items, key=lambda item: ("error", "warning", "note").index(item[0]))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


MEASURED, PREDICTED, RESIDUAL, STANDARD = 0, 1, 5, 2  # numbers of their colours


def torque_plots(result: Result) -> Iterator[Figure]:
    """Yield measured and predicted torque, and residual, of each joint."""
    compared = result.comparison
    for i, joint in enumerate(result.loaded.robot.independent_joints):
        if not result.signals.has_effort[i]:
            continue
        measured, predicted = compared.measured[:, i], compared.predicted[:, i]
        torques = (
            Curve("measured", compared.time, measured, MEASURED),
            Curve("predicted", compared.time, predicted, PREDICTED),
        )
        residual = (Curve("measured less predicted", compared.time, measured - predicted, RESIDUAL),)
        yield figure(
            f"{joint.name}: {_effort(joint)}", "time (s)", f"{_effort(joint)} ({joint.effort_unit})", torques
        )
        yield figure(f"{joint.name}: residual", "time (s)", f"residual ({joint.effort_unit})", residual)


def friction_plots(result: Result) -> Iterator[Figure]:
    """Yield the friction of each joint over its velocity."""
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
        yield figure(f"{joint.name}: friction", x_label, f"{_effort(joint)} ({joint.effort_unit})", drawn)


def _effort(joint: Joint) -> str:
    return "force" if joint.position_unit == "m" else "torque"
