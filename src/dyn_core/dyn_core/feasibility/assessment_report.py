# SPDX-License-Identifier: Apache-2.0
"""An assessment as text tables, as JSON data and as an HTML page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import counted, listed
from dyn_core.feasibility.actuator_limits import ActuatorLimit, TorqueSpeedCurve
from dyn_core.feasibility.assessment import Assessment
from dyn_core.feasibility.limit_violations import Excess
from dyn_core.feasibility.sampled_motion import PLURALS
from dyn_core.report.line_plot import Curve
from dyn_core.report.page import Figure, Table, figure, rendered

MOTOR_HEAD = (
    *("joint", "unit", "peak", "at (s)", "RMS", "of limit", "of continuous"),
    *("peak", "RMS", "of limit", "peak", "braking", "RMS", "mean driving", "of limit"),
)
MOTOR_GROUPS = (("", 2), ("torque or force", 5), ("speed (rad/s or m/s)", 3), ("power (W)", 5))
_MOTOR_VALUES = (
    *("peak_effort", "peak_effort_time", "rms_effort", "effort_use", "continuous_use"),
    *("peak_speed", "rms_speed", "speed_use"),
    *("peak_power", "peak_braking_power", "rms_power", "mean_power", "power_use"),
)
BEARING_HEAD = (
    *("joint", "axial force (N)", "radial force (N)", "RMS force (N)", "at (s)"),
    *("moment about (N m)", "tilting moment (N m)", "RMS moment (N m)"),
)
_BEARING_VALUES = (
    *("axial_force", "radial_force", "rms_force", "time"),
    *("axial_moment", "tilting_moment", "rms_moment"),
)

SHOWN = ("position", "velocity", "effort")
"""Quantities whose missing limits are reported. A URDF has no other limits: tables show a dash for those."""


def verdict(assessment: Assessment) -> str:
    """Return in a sentence whether the motion is feasible."""
    if assessment.feasible:
        samples = counted(len(assessment.motion.times), "sample")
        if unlimited(assessment):
            return f"The motion keeps all limits that are known at its {samples}."
        return f"The motion is feasible: it keeps all limits at its {samples}."
    if assessment.blocked:
        return f"The motion is not feasible, in no time whatever: {assessment.blocked}."
    joint = assessment.scaling.joint
    assert joint is not None
    assert assessment.factor is not None
    name = assessment.limits.joint_names[joint]
    at = assessment.motion.times[assessment.scaling.sample]
    return (
        f"The motion is not feasible in its time: it needs {assessment.factor:.6g} times as long, "
        f"because of joint '{name}' at {at:.4g} s."
    )


def unlimited(assessment: Assessment) -> str:
    """Return in a sentence which joints have no limit of position, velocity or effort; empty for none."""
    everyone = assessment.limits.joint_names
    missing = [
        f"{quantity} of {'all joints' if names == everyone and len(names) > 1 else listed(names)}"
        for quantity in SHOWN
        if (names := assessment.limits.unlimited.get(quantity, ()))
    ]
    return f"No limit is known of: {'; '.join(missing)}." if missing else ""


def repeated(assessment: Assessment) -> str:
    """Return in a sentence which motors overheat if the motion is repeated; empty for none."""
    hot = "; ".join(one.sentence for one in assessment.overheating)
    return f"It cannot be repeated for ever without pauses: {hot}." if hot else ""


def motor_rows(assessment: Assessment) -> list[tuple[str, ...]]:
    """Return the load of each motor, with the columns `MOTOR_HEAD`."""
    return [
        (load.joint, load.effort_unit, *(_cell(name, getattr(load, name)) for name in _MOTOR_VALUES))
        for load in assessment.motors
    ]


def bearing_rows(assessment: Assessment) -> list[tuple[str, ...]]:
    """Return the load of each bearing, with the columns `BEARING_HEAD`."""
    return [
        (load.joint, *(_cell(name, getattr(load, name)) for name in _BEARING_VALUES))
        for load in assessment.bearings
    ]


def _cell(name: str, value: float) -> str:
    return percent(value) if name.endswith("_use") else f"{value:.4g}"


def percent(part: float) -> str:
    """Return a fraction of a limit in percent; a dash if there is no limit."""
    return f"{100.0 * part:.0f} %" if part else "-"


def assessment_entries(assessment: Assessment) -> dict[str, Any]:
    """Return the assessment as data for JSON, with None for infinite values."""
    limits, motion = assessment.limits, assessment.motion
    return {
        "robot": assessment.robot.name,
        "joint_names": list(limits.joint_names),
        "feasible": assessment.feasible,
        "repeatable": assessment.repeatable,
        "time_scaling": assessment.factor,
        "verdict": verdict(assessment),
        "samples": len(motion.times),
        "duration": float(motion.times[-1] - motion.times[0]),
        "derived": list(motion.derived),
        "limits": [
            {
                "joint": name,
                "lower": _finite(limit.lower),
                "lower_of": limit.lower_of or name,
                "upper": _finite(limit.upper),
                "upper_of": limit.upper_of or name,
                "velocity": _finite(limit.velocity),
                "velocity_of": limit.velocity_of or name,
                "curve": _curve(limit.curve),
                "power": _finite(limit.power),
                "braking_power": _finite(limit.braking_power),
                "continuous_effort": _finite(limit.continuous_effort),
            }
            for name, limit in zip(limits.joint_names, limits.of_joints, strict=True)
        ],
        "unlimited": {quantity: list(names) for quantity, names in limits.unlimited.items()},
        "failures": [
            {
                "joint": failure.excess.joint,
                "quantity": failure.excess.quantity,
                "begin": failure.begin,
                "end": failure.end,
                "time": failure.time,
                "value": failure.excess.value,
                "limit": failure.excess.limit,
                "limit_of": failure.excess.limit_of or failure.excess.joint,
                "amount": failure.excess.amount,
                "unit": failure.excess.unit,
            }
            for failure in assessment.failures
        ],
        "overheating": [asdict(one) for one in assessment.overheating],
        "motors": [asdict(load) for load in assessment.motors],
        "bearings": [asdict(load) for load in assessment.bearings],
    }


def _curve(curve: TorqueSpeedCurve) -> Sequence[Sequence[float]] | None:
    points = list(zip(curve.speeds, curve.efforts, strict=True))
    return None if math.isinf(points[0][1]) else [list(point) for point in points]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


NEEDED, LIMIT, SLOWER = 0, 1, 2  # Colours of the curves in the report


def assessment_page(assessment: Assessment, source: str) -> str:
    """Return a self-contained HTML page; `source` names the origin of the motion."""
    motion = assessment.motion
    return rendered(
        Path(__file__).with_suffix(".html"),
        title=f"Actuator loads of a motion of robot {assessment.robot.name}",
        source=source,
        samples=len(motion.times),
        duration=motion.times[-1] - motion.times[0],
        sentences=(verdict(assessment), repeated(assessment), unlimited(assessment)),
        derived=" and ".join(PLURALS[d] for d in motion.derived),
        failures=None if assessment.feasible else _failures(assessment),
        motors=Table(MOTOR_HEAD, motor_rows(assessment), groups=MOTOR_GROUPS),
        bearings=Table(BEARING_HEAD, bearing_rows(assessment)),
        plots=_plots(assessment),
    )


def _failures(assessment: Assessment) -> Table:
    return Table(
        ("joint", "quantity", "from (s)", "to (s)", "worst at (s)", "value", "limit", "beyond by", "unit"),
        [
            (
                _joint(failure.excess),
                failure.excess.quantity,
                *(f"{time:.4g}" for time in (failure.begin, failure.end, failure.time)),
                *(f"{x:.4g}" for x in (failure.excess.value, failure.excess.limit, failure.excess.amount)),
                failure.excess.unit,
            )
            for failure in assessment.failures
        ],
    )


def _joint(excess: Excess) -> str:
    mimic = f" (limit of {excess.limit_of}, which mimics it)" if excess.limit_of else ""
    return f"{excess.joint}{mimic}"


def _plots(assessment: Assessment) -> Iterator[Figure]:
    times, slower = assessment.motion.times, assessment.slower
    for j, (name, limit) in enumerate(
        zip(assessment.limits.joint_names, assessment.limits.of_joints, strict=True)
    ):
        unit = assessment.limits.effort_units[j]
        kind = "force" if unit == "N" else "torque"
        speed, torque = assessment.motion.qd[:, j], assessment.torques[:, j]
        effort = assessment.limits.effort(assessment.motion.qd)[:, j]
        over_time = [Curve("needed", times, torque, NEEDED)]
        plane = [Curve("as it is", speed, torque, NEEDED)]
        powers = [Curve("needed", times, speed * torque, NEEDED)]
        if np.isfinite(effort).all():
            over_time += [Curve("limit", times, sign * effort, LIMIT, dashed=True) for sign in (1.0, -1.0)]
        if slower is not None and not assessment.feasible:
            assert assessment.slower_torques is not None
            torques = assessment.slower_torques[:, j]
            label = f"in {assessment.factor:.4g} times the time"
            plane.append(Curve(label, slower.qd[:, j], torques, SLOWER))
            powers.append(Curve(label, slower.times, slower.qd[:, j] * torques, SLOWER))
            over_time.append(Curve(label, slower.times, torques, SLOWER))
        plane += _edges(limit, float(np.abs(speed).max()))
        for sign, power in ((1.0, limit.power), (-1.0, limit.braking_power)):
            if math.isfinite(power):
                ends = np.array([times[0], times[-1]])
                powers.append(Curve("limit", ends, np.full(2, sign * power), LIMIT, dashed=True))
        velocity = f"velocity ({assessment.limits.position_units[j]}/s)"
        yield figure(f"{name}: {kind}", "time (s)", f"{kind} ({unit})", over_time)
        yield figure(f"{name}: {kind} over velocity", velocity, f"{kind} ({unit})", plane)
        yield figure(f"{name}: power", "time (s)", "power (W)", powers)


def _edges(limit: ActuatorLimit, fastest: float) -> list[Curve]:
    """Return the boundary of the motor's range in the plane of velocity and torque."""
    if not math.isfinite(limit.curve.efforts[0]):
        return []
    top = limit.velocity if math.isfinite(limit.velocity) else max(fastest, limit.curve.speeds[-1], 1e-6)
    corners: Array = np.unique([0.0, top, *(speed for speed in limit.curve.speeds if speed < top)])
    speeds = np.concatenate((-corners[::-1], corners))
    efforts = limit.curve.at(speeds)
    outline = np.concatenate((speeds, speeds[::-1])), np.concatenate((efforts, -efforts[::-1]))
    return [Curve("limit", *outline, LIMIT, dashed=True)]
