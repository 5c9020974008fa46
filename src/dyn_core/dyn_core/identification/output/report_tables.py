# SPDX-License-Identifier: Apache-2.0
"""The tables of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dyn_core.identification.estimators.identification_settings import IN_SHORT, IN_WORDS
from dyn_core.identification.friction.friction_model import FrictionModel, friction_formula
from dyn_core.identification.output.identification_result import Result
from dyn_core.identification.output.identified_parameters import (
    Identified,
    IdentifiedParameter,
    JointFriction,
    TorqueError,
)
from dyn_core.identification.regressor.base_columns import unit_of
from dyn_core.report.page import Table
from dyn_core.robot.robot import Robot

UNKNOWN = "\N{EN DASH}"


def percent(value: float) -> str:
    """Return a part as percent."""
    return UNKNOWN if not math.isfinite(value) else f"{100 * value:.2f} %"


def error_table(result: Result) -> Table:
    """Return relative errors by joint, and the RMS of the residuals in N m or N."""
    identified = result.identified
    held = result.comparison.is_held_out
    groups = {
        "physically consistent": identified.consistent_errors,
        IN_SHORT[identified.procedure.estimator]: identified.errors,
        "as the nodes have it": result.standard_errors,
        "description": result.description_errors,
    }
    columns: list[TorqueError] = []
    head = ["joint"]
    for errors in groups.values():
        columns.append(errors.fitted)
        head.append("fitted")
        if errors.held_out is not None:
            columns.append(errors.held_out)
            head.append("held out")
    last = identified.consistent_errors.held_out or identified.consistent_errors.fitted
    rows = [
        [joint.name, *(percent(one.by_joint[i]) for one in columns), number(last.rms[i], joint.effort_unit)]
        for i, joint in enumerate(result.loaded.robot.independent_joints)
        if joint.name not in identified.fixed
    ]
    rows.append(["all", *(percent(column.relative) for column in columns), ""])
    above = [("", 1), *((name, 2 if held else 1) for name in groups), ("", 1)]
    return Table([*head, "RMS of what remains"], rows, groups=above)


def number(value: float | None, unit: str = "") -> str:
    """Return a number with four digits, and its unit."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
    return f"{text} {unit}".rstrip()


def base_rows(result: Result) -> Iterator[Sequence[str]]:
    """Yield base parameters, and friction, by least squares."""
    identified = result.identified
    plain, physical = (
        [*base, *(p for friction in friction_of_moving(identified, of_joints) for p in friction.parameters)]
        for base, of_joints in (
            (identified.base, identified.friction),
            (identified.consistent_base, identified.consistent_friction),
        )
    )
    for parameter, consistent in zip(plain, physical, strict=True):
        yield (
            parameter.name,
            number(parameter.value) if parameter.identifiable else UNKNOWN,
            number(parameter.deviation),
            _relative(parameter),
            number(consistent.value),
            number(parameter.prior),
            parameter.unit,
            _kind(parameter),
        )


def friction_of_moving(identified: Identified, friction: Sequence[JointFriction]) -> list[JointFriction]:
    """Return the friction of the joints that were not taken as fixed."""
    pairs = zip(identified.joint_names, friction, strict=True)
    return [of_joint for name, of_joint in pairs if name not in identified.fixed]


def _kind(parameter: IdentifiedParameter) -> str:
    if not parameter.identifiable:
        return "not shown by the log"
    return "essential" if parameter.essential else ""


def _relative(parameter: IdentifiedParameter) -> str:
    value = parameter.relative_deviation
    if value < 1.0:
        return f"{100 * value:.2g} %"
    return f"{100 * value:.0f} %" if value < 10.0 else ">1000 %" if math.isfinite(value) else UNKNOWN


def standard_table(result: Result) -> Table:
    """Return all standard parameters, a row for each joint."""
    robot = result.loaded.robot
    names = [name.rstrip("0123456789") for name in robot.parameter_names[:14]]
    rows = []
    for j, joint in enumerate(robot.joints):
        own = result.identified.standard[14 * j : 14 * (j + 1)]
        rows.append([joint.name, *(number(p.value) for p in own)])
        rows.append(["deviation", *(number(p.deviation) if p.identifiable else UNKNOWN for p in own)])
        rows.append(["description", *(number(p.prior) for p in own)])
    return Table(["joint", *(_with_unit(k, name, robot) for k, name in enumerate(names))], rows, "small")


def _with_unit(k: int, letters: str, robot: Robot) -> str:
    """Return letters of a parameter with its unit, or units where joints turn and slide."""
    units = dict.fromkeys(unit_of(name, robot) for name in robot.parameter_names[k::14])
    return f"{letters} ({', '.join(units)})"


def friction_rows(result: Result) -> Iterator[Sequence[str]]:
    """Yield the friction of each joint as a formula, with its numbers."""
    values = result.parameters.values
    robot = result.loaded.robot
    for joint, j, friction in zip(
        robot.independent_joints, robot.coordinates, result.identified.consistent_friction, strict=True
    ):
        if joint.name in result.identified.fixed:
            continue
        fitted = [f"{p.name} = {number(p.value, p.unit.removesuffix('1'))}" for p in friction.parameters]
        v0 = result.parameters.coulomb_velocity.get(joint.name, 0.0)
        names = FrictionModel().names(j)
        standard = [f"{name} = {number(values[name], unit_of(name, robot))}" for name in names]
        standard += [f"s = tanh(qd / {v0:.4g})"] if v0 else []
        yield joint.name, friction_formula(friction.model, j), ", ".join(fitted), ", ".join(standard)


def motor_rows(result: Result) -> Iterator[Sequence[str]]:
    """Yield the motors that move several joints."""
    for motor in result.identified.motors:
        speeds = ", ".join(f"{speed:.4g} of {joint}" for joint, speed in motor.joints.items())
        pairs = (
            (f"{number(p.value)} \N{PLUS-MINUS SIGN} {number(p.deviation)}", p) for p in motor.parameters
        )
        yield motor.name, speeds, *(f"({text}) {p.unit}" for text, p in pairs)


def joint_numbers(result: Result) -> str:
    """Return the joint of each parameter number."""
    joints = result.loaded.robot.joints
    return ", ".join(f"{j} {joint.name}" for j, joint in enumerate(joints, start=1))


def tried_rows(result: Result) -> Iterator[Sequence[str]]:
    """Yield the models that were tried for each joint."""
    for joint, friction in zip(result.identified.joint_names, result.identified.friction, strict=True):
        for k, (name, error) in enumerate(friction.tried):
            yield joint if k == 0 else "", name, percent(error)


def unseen_rows(result: Result) -> Iterator[Sequence[str]]:
    """Yield the parameters that the log does not show, and why."""
    identified = result.identified
    moving = friction_of_moving(identified, identified.friction)
    parameters = [*identified.base, *(p for friction in moving for p in friction.parameters)]
    offsets = identified.grouped_offsets
    missing = [p.name for p in parameters if not p.identifiable and p.name not in offsets]
    for name, parts in offsets.items():
        reason = f"No motion tells it from a weight: it is taken as 0, and is a part of {', '.join(parts)}."
        yield name, reason
    if missing:
        yield ", ".join(missing), "The motion of this log does not show it: excite the joints more."
    vague = [p.name for p in parameters if p.identifiable and not p.essential]
    if vague:
        reason = "Too small to be seen: the torques of this log are as well explained without it."
        yield ", ".join(vague), reason
    if identified.fixed:
        friction = f"friction and rotors of {', '.join(identified.fixed)}"
        yield friction, "These joints did not move: they are as described."
    if result.no_effect:
        reason = "No torque of this robot depends on it, whatever the motion: it is as described."
        yield ", ".join(result.no_effect), reason
    by_base: dict[tuple[str, ...], list[str]] = {}
    for name, into in result.grouped.items():
        by_base.setdefault(into, []).append(name)
    for into, names in by_base.items():
        yield ", ".join(names), f"Seen only as a part of {', '.join(into)}: the description says which part."


def how_rows(result: Result) -> Iterator[Sequence[str]]:
    """Yield the steps and settings of the identification."""
    signals, procedure = result.signals, result.identified.procedure
    log, name = result.log, result.inputs.files["log"]
    yield "log", f"{name}: {len(log.time)} samples, {log.duration:.4g} s, {log.rate:.5g} Hz"
    for k, step in enumerate(signals.done):
        yield "" if k else "conditioning", str(step)
    yield (
        "protocol",
        f"{len(signals)} samples at {1.0 / signals.period:.5g} Hz in {len(signals.segments)} segments; "
        f"cutoff {signals.cutoff:.4g} Hz; the first {100 * signals.train:.3g} % fitted, the rest held out",
    )
    yield (
        "equations",
        f"{procedure.equations} for each joint, one of {signals.decimate} samples; condition number "
        f"{result.identified.condition:.4g}",
    )
    if any(result.identified.stood):
        shares = zip(result.identified.joint_names, result.identified.stood, strict=True)
        stood = ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares if share)
        yield "standing", f"{stood} of the fitted time: no equations of the joint then"
    yield (
        "estimation",
        f"{IN_WORDS[procedure.estimator]}; then physically consistent, "
        f"with the weight {procedure.prior_weight:g} of the description",
    )
    whiteness = ", ".join(
        f"{name} {'too few to say' if math.isnan(value) else f'{value:.2g}'}"
        for name, value in zip(result.identified.joint_names, result.identified.whiteness, strict=True)
        if name not in result.identified.fixed
    )
    yield (
        "whiteness",
        f"{whiteness}: the probability that white noise, behind the same filter, looks less independent. "
        "Small ones say that the model does not explain everything; deviations take that into account",
    )
    for what, text in result.inputs.hashes.items():
        yield f"SHA-256 of {what}", text
