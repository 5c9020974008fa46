# SPDX-License-Identifier: Apache-2.0
"""An assessment as one page of HTML that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimit
from dyn_core.feasibility.assessment import Assessment
from dyn_core.feasibility.assessment_tables import (
    BEARING_HEAD,
    MOTOR_GROUPS,
    MOTOR_HEAD,
    bearing_rows,
    motor_rows,
    repeated,
    unlimited,
    verdict,
)
from dyn_core.feasibility.excess import Excess
from dyn_core.report.curve import Curve
from dyn_core.report.line_plot import line_plot
from dyn_core.report.page import legend, page, table

NEEDED, LIMIT, SLOWER = 0, 1, 2
"""Numbers of their colours."""


def assessment_page(assessment: Assessment, source: str) -> str:
    """Answer the page; `source` says where the motion is from."""
    title = f"What a motion asks of robot {assessment.robot.name}"
    return page(title, (f"<h1>{escape(title)}</h1>", *_body(assessment, source)))


def _body(assessment: Assessment, source: str) -> Iterator[str]:
    motion = assessment.motion
    duration = motion.times[-1] - motion.times[0]
    yield f'<p class="quiet">{escape(source)}: {len(motion.times)} samples, {duration:.4g} s</p>'
    for sentence in (verdict(assessment), repeated(assessment), unlimited(assessment)):
        if sentence:
            yield f"<p>{escape(sentence)}</p>"
    if motion.derived:
        what = " and ".join(
            {"velocity": "velocities", "acceleration": "accelerations"}[d] for d in motion.derived
        )
        yield f"<p>The file has no {what}: they are differences of what it has.</p>"
    yield _section("Where it fails", _failures(assessment))
    yield _section("Motors", _motors(assessment))
    yield _section("Bearings", _bearings(assessment))
    yield _section("Torques and powers", _plots(assessment))


def _section(title: str, body: Iterator[str]) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(body)}</section>"


def _failures(assessment: Assessment) -> Iterator[str]:
    if assessment.feasible:
        yield "<p>At none of the samples.</p>"
        return
    yield table(
        ("joint", "quantity", "from (s)", "to (s)", "worst at (s)", "value", "limit", "beyond by", "unit"),
        (
            (
                _joint(failure.excess),
                failure.excess.quantity,
                *(f"{time:.4g}" for time in (failure.begin, failure.end, failure.time)),
                *(f"{x:.4g}" for x in (failure.excess.value, failure.excess.limit, failure.excess.amount)),
                failure.excess.unit,
            )
            for failure in assessment.failures
        ),
    )


def _joint(excess: Excess) -> str:
    return (
        f"{excess.joint} (limit of {excess.limit_of}, which mimics it)" if excess.limit_of else excess.joint
    )


def _motors(assessment: Assessment) -> Iterator[str]:
    yield (
        "<p>On the side of the joints, friction and rotors included. A torque is compared with what the "
        "motor has at its speed then; the root mean square over the time of the motion with what it bears "
        "for ever.</p>"
    )
    yield table(MOTOR_HEAD, motor_rows(assessment), groups=MOTOR_GROUPS)


def _bearings(assessment: Assessment) -> Iterator[str]:
    yield (
        "<p>The greatest parts of the wrench from the parent link on the child link, about the origin of the "
        "child link, without what the actuator takes.</p>"
    )
    yield table(BEARING_HEAD, bearing_rows(assessment))


def _plots(assessment: Assessment) -> Iterator[str]:
    times, slower = assessment.motion.times, assessment.slower
    yield '<div class="plots">'
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
        yield _figure(f"{name}: {kind}", "time (s)", f"{kind} ({unit})", over_time)
        yield _figure(f"{name}: {kind} over velocity", velocity, f"{kind} ({unit})", plane)
        yield _figure(f"{name}: power", "time (s)", "power (W)", powers)
    yield "</div>"


def _edges(limit: ActuatorLimit, fastest: float) -> list[Curve]:
    """Answer the edge of what the motor has in the plane of velocity and torque."""
    if not math.isfinite(limit.curve.efforts[0]):
        return []
    top = limit.velocity if math.isfinite(limit.velocity) else max(fastest, limit.curve.speeds[-1], 1e-6)
    corners: Array = np.unique([0.0, top, *(speed for speed in limit.curve.speeds if speed < top)])
    speeds = np.concatenate((-corners[::-1], corners))
    efforts = limit.curve.at(speeds)
    return [
        Curve(
            "limit",
            np.concatenate((speeds, speeds[::-1])),
            np.concatenate((efforts, -efforts[::-1])),
            LIMIT,
            dashed=True,
        )
    ]


def _figure(title: str, x_label: str, y_label: str, curves: Sequence[Curve]) -> str:
    entries = dict.fromkeys((curve.label, curve.colour, curve.dashed) for curve in curves)
    return f"<figure>{line_plot(title, x_label, y_label, curves)}{legend(entries)}</figure>"
