# SPDX-License-Identifier: Apache-2.0
"""An assessment as rows of words, for the terminal and for the report, and as data for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dyn_core.core.errors import counted, listed
from dyn_core.feasibility.assessment import Assessment
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve

MOTOR_HEAD = (
    *("joint", "unit", "peak", "at (s)", "RMS", "of limit", "of continuous"),
    *("peak", "RMS", "of limit", "peak", "braking", "RMS", "mean driving", "of limit"),
)
MOTOR_GROUPS = (("", 2), ("torque or force", 5), ("speed (rad/s or m/s)", 3), ("power (W)", 5))
BEARING_HEAD = (
    *("joint", "axial force (N)", "radial force (N)", "RMS force (N)", "at (s)"),
    *("moment about (N m)", "tilting moment (N m)", "RMS moment (N m)"),
)


SHOWN = ("position", "velocity", "effort")
"""Quantities of which it is said where they have no limit. Others, no URDF has: tables have a dash there."""


def verdict(assessment: Assessment) -> str:
    """Answer in a sentence whether the motion can be made."""
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
    """Answer in a sentence which joints have no limit of position, velocity or effort; empty for none."""
    everyone = assessment.limits.joint_names
    missing = [
        f"{quantity} of {'all joints' if names == everyone and len(names) > 1 else listed(names)}"
        for quantity in SHOWN
        if (names := assessment.limits.unlimited.get(quantity, ()))
    ]
    return f"No limit is known of: {'; '.join(missing)}." if missing else ""


def repeated(assessment: Assessment) -> str:
    """Answer in a sentence what would get too hot if the motion were repeated; empty for nothing."""
    if not assessment.overheating:
        return ""
    hot = "; ".join(one.sentence for one in assessment.overheating)
    return f"It cannot be repeated for ever without pauses: {hot}."


def motor_rows(assessment: Assessment) -> list[tuple[str, ...]]:
    """Answer what each motor is asked for, with the columns `MOTOR_HEAD`."""
    return [
        (
            load.joint,
            load.effort_unit,
            f"{load.peak_effort:.4g}",
            f"{load.peak_effort_time:.4g}",
            f"{load.rms_effort:.4g}",
            percent(load.effort_use),
            percent(load.continuous_use),
            f"{load.peak_speed:.4g}",
            f"{load.rms_speed:.4g}",
            percent(load.speed_use),
            f"{load.peak_power:.4g}",
            f"{load.peak_braking_power:.4g}",
            f"{load.rms_power:.4g}",
            f"{load.mean_power:.4g}",
            percent(load.power_use),
        )
        for load in assessment.motors
    ]


def bearing_rows(assessment: Assessment) -> list[tuple[str, ...]]:
    """Answer what each bearing is asked for, with the columns `BEARING_HEAD`."""
    return [
        (
            load.joint,
            f"{load.axial_force:.4g}",
            f"{load.radial_force:.4g}",
            f"{load.rms_force:.4g}",
            f"{load.time:.4g}",
            f"{load.axial_moment:.4g}",
            f"{load.tilting_moment:.4g}",
            f"{load.rms_moment:.4g}",
        )
        for load in assessment.bearings
    ]


def percent(part: float) -> str:
    """Answer a part of a limit; a dash where there is no limit."""
    return f"{100.0 * part:.0f} %" if part else "-"


def assessment_entries(assessment: Assessment) -> dict[str, Any]:
    """Answer the assessment as data that JSON has; what is infinite is None."""
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
