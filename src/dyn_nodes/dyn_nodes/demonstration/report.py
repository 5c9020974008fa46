# SPDX-License-Identifier: Apache-2.0
"""The report of a demonstration, as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.report.line_plot import Curve
from dyn_core.report.page import Figure, Table, figure, rendered
from dyn_core.robot.joints import Joint
from dyn_nodes.demonstration.control_runs import BASELINE
from dyn_nodes.demonstration.recording import PassiveMotion, Recording, greatest, passive_joints
from dyn_nodes.demonstration.scene import DAMPING, STEP_S, Scene
from dyn_nodes.demonstration.tracking_errors import SHOWN_UNITS, Result, compared

_REFERENCE = 5
"""Number of the colour of the reference."""
_PARTS = (
    ("inertial", "inertial", 0, False),
    ("coriolis", "Coriolis and centrifugal", 3, False),
    ("gravity", "gravity", 2, False),
    ("friction", "friction", 4, False),
    ("control", "PD part", 1, False),
    ("total", "total sent", 5, False),
    ("measured", "measured effort", 6, True),
)
"""Efforts in the plots: name in the recording, label, number of the colour, dashed."""
_TITLES = ("reference and measured position", "tracking error", "tracking error with feedforward, enlarged")
_PASSIVE_TITLES = ("position by the reference and measured", "error", "error with feedforward, enlarged")


def about_joints(scene: Scene) -> str:
    """Return the number of joints of the robot as text."""
    dof, passive = scene.robot.dof, len(passive_joints(scene.model))
    return f"{dof} actuated and {passive} passive joints" if passive else f"{dof} joints"


def gain_margin_words(scene: Scene) -> str:
    """Return the gain margin as text."""
    margin = scene.feedback.margin
    assert margin is not None, "the rate is known"
    joint = scene.robot.coordinate_names[margin.joint]
    return f"gain margin {margin.decibel:.1f} dB at {scene.request.rate:g} Hz, least for joint '{joint}'"


def centre_gains(scene: Scene) -> tuple[Array, Array, Array]:
    """Return kp, kd and inertia of each joint by itself at the centre of the motion, (n,) each."""
    weight = scene.feedback.weight(scene.motion.centre)
    assert weight is not None, "the gains are weighted"
    inertia = np.diagonal(weight).copy()
    return scene.feedback.kp * inertia, scene.feedback.kd * inertia, inertia


@dataclass(frozen=True)
class Facts:
    """Facts beside the recordings: versions by name, and simulated time for each second of the motions."""

    date: str
    real_time_factor: float
    versions: dict[str, str]


def report(
    scene: Scene,
    recordings: Sequence[Recording],
    passive: Sequence[PassiveMotion],
    found: Sequence[Result],
    facts: Facts,
) -> str:
    """Return the page."""
    joints = enumerate(scene.robot.independent_joints)
    passive_ones = enumerate(passive_joints(scene.model))
    return rendered(
        Path(__file__).with_suffix(".html"),
        title=f"What feedforward does for robot {scene.robot.name}",
        joint_count=about_joints(scene),
        duration=f"{scene.request.duration:g}",
        times={2: "twice", 3: "three times", 4: "four times"}.get(
            len(recordings), f"{len(recordings)} times"
        ),
        date=facts.date,
        cards=[_card(found[BASELINE], result) for result in found[BASELINE + 1 :]],
        errors=_errors(scene, found),
        run=Table((), _facts(scene, recordings, passive, facts), "prose"),
        joints=_joints(scene),
        frequency=f"{scene.frequency:.3g}",
        damping=f"{DAMPING:g}",
        margin=gain_margin_words(scene),
        joint_plots=[
            *((joint.name, _plots(j, joint, recordings)) for j, joint in joints),
            *(
                (f"{j.name} (passive)", _position_plots(k, j, passive, _PASSIVE_TITLES))
                for k, j in passive_ones
            ),
        ],
    )


def _card(baseline: Result, result: Result) -> tuple[str, str, str]:
    """Return how the errors of a run compare with those of the baseline."""
    return (
        _compared(result.factor),
        f"RMS tracking error: {result.title}",
        f"against {baseline.title}; the joint with the least: {_compared(min(result.factors))}",
    )


def _compared(factor: float) -> str:
    return compared(factor, "\N{MULTIPLICATION SIGN}")


def _errors(scene: Scene, found: Sequence[Result]) -> Table:
    """Return the table of errors."""
    wide = [number > BASELINE for number in range(len(found))]
    groups = [("", 1), *((result.title, 2 + is_wide) for result, is_wide in zip(found, wide, strict=True))]
    words = f"against {found[BASELINE].title}"
    head = ["joint", *(x for is_wide in wide for x in ("RMS", "largest", *((words,) if is_wide else ())))]
    rows: list[list[str]] = []
    for j, joint in enumerate(scene.robot.independent_joints):
        unit = SHOWN_UNITS[joint.position_unit]
        rows.append([joint.name])
        for result, is_wide in zip(found, wide, strict=True):
            rows[-1] += [f"{1e3 * values[j]:.3f} {unit}" for values in result.error]
            rows[-1] += [_compared(result.factors[j])] if is_wide else []
    for kind in found[0].overall:
        unit = SHOWN_UNITS[kind]
        rows.append([f"all joints, {unit}"])
        for result, is_wide in zip(found, wide, strict=True):
            rows[-1] += [f"{1e3 * result.overall[kind]:.3f} {unit}", ""]
            rows[-1] += [_compared(result.overall_factors[kind])] if is_wide else []
    return Table(head, rows, groups=groups)


def _facts(
    scene: Scene, recordings: Sequence[Recording], passive: Sequence[PassiveMotion], facts: Facts
) -> Iterator[tuple[str, str]]:
    side_file = f" with {scene.side_file}" if scene.side_file else ""
    yield "robot", f"{scene.robot.name}: {scene.path}{side_file}"
    yield "model error", _about_error(scene)
    yield "stability", gain_margin_words(scene)
    yield (
        "friction",
        "viscous and Coulomb, with joints that stick, in the simulation; without sticking in the model",
    )
    yield (
        "rate",
        f"{scene.request.rate:g} Hz for joint states, references and torques, in simulated time, which "
        f"advances when all nodes have responded; integrator: {scene.integrator}, {1e3 * STEP_S:g} ms; "
        f"real-time factor {facts.real_time_factor:.2f}",
    )
    if scene.robot.loops:
        yield "passive joints", _about_passive(scene, passive)
    counts = (f"{r.title}: {len(r.t)} joint states, {r.lost} responses lost" for r in recordings)
    yield "messages", "; ".join(counts)
    yield "versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    for remark in scene.remarks:
        yield "remark", remark


def _about_passive(scene: Scene, passive: Sequence[PassiveMotion]) -> str:
    """Return text about the passive joints, and how exactly the simulation kept the loops closed."""
    joints = passive_joints(scene.model)
    apart: dict[str, float] = {}
    for joint, distance in zip(joints, greatest(passive), strict=True):
        apart[joint.position_unit] = max(distance, apart.get(joint.position_unit, 0.0))
    distances = " and ".join(f"{value:.2g} {unit}" for unit, value in apart.items())
    return (
        f"{', '.join(joint.name for joint in joints)} follow through loops. As published by the simulation "
        f"they were at most {distances} from their positions by the loops for the measured actuated joints."
    )


def _about_error(scene: Scene) -> str:
    request = scene.request
    if not request.model_error:
        return "none: the simulated robot is as its description says"
    part = 100 * request.model_error
    return (
        f"The simulated robot differs from its description: masses, rotor inertias and friction by up to "
        f"{part:g} %; bodies are stretched, and moved by a part of their size, by up to {0.5 * part:g} % "
        f"(seed {request.seed}). The feedforward knows the description. For the true model it got the "
        "parameters of the simulated robot by the service set_dynamic_parameters."
    )


def _joints(scene: Scene) -> Table:
    """Return the table of gains, friction and limits."""
    head = ("joint", "kp", "kd", "inertia a", "viscous Fv", "Coulomb Fs", "rotor inertia", "effort limit")
    rows = []
    gains = {
        joint.name: of_joint
        for joint, *of_joint in zip(scene.robot.independent_joints, *centre_gains(scene), strict=True)
    }
    for joint in (*scene.robot.independent_joints, *passive_joints(scene.model)):
        effort, length = joint.effort_unit, joint.position_unit
        real = scene.real.joint(joint.name)
        inertia = "kg" if length == "m" else "kg m²"
        cells, limit = ("passive", "", ""), "none"
        if joint.name in gains:
            kp, kd, a = gains[joint.name]
            cells = (
                f"{_gain(kp)} {effort}/{length}",
                f"{_gain(kd)} {effort} s/{length}",
                f"{a:.3g} {inertia}",
            )
            limit = f"{joint.limits.effort:g} {effort}" if joint.limits.effort else "unknown"
        rows.append(
            (
                joint.name,
                *cells,
                f"{_both(joint.friction.Fv, real.friction.Fv)} {effort} s/{length}",
                f"{_both(joint.friction.Fs, real.friction.Fs)} {effort}",
                f"{_both(joint.Ia, real.Ia)} {inertia}",
                limit,
            )
        )
    return Table(head, rows)


def _gain(value: float) -> str:
    return f"{value:.0f}" if value >= 1000.0 else f"{value:.4g}"


def _both(described: float, real: float) -> str:
    return f"{described:.3g}" if described == real else f"{described:.3g} ({real:.3g})"


def _plots(j: int, joint: Joint, recordings: Sequence[Recording]) -> Iterator[Figure]:
    """Yield the plots of one joint: positions, errors, and the terms of the efforts."""
    yield from _position_plots(j, joint, recordings, _TITLES)
    effort = "force" if joint.position_unit == "m" else "torque"
    for recording in recordings:
        title, y_label = f"{joint.name}: {effort}, {recording.title}", f"{effort} ({joint.effort_unit})"
        yield figure(title, "time (s)", y_label, _parts(recording, j))


def _position_plots(
    j: int, joint: Joint, motions: Sequence[Recording | PassiveMotion], titles: Sequence[str]
) -> Iterator[Figure]:
    """Yield the plots of positions, their differences from the reference, and these with feedforward."""
    unit, shown = joint.position_unit, SHOWN_UNITS[joint.position_unit]
    positions = [Curve(m.title, m.t, m.measured[:, j], k) for k, m in enumerate(motions)]
    last = motions[-1]
    positions.append(Curve("reference", last.t, last.desired[:, j], _REFERENCE, dashed=True))
    errors = [
        Curve(m.title, m.t, 1e3 * (m.desired[:, j] - m.measured[:, j]), k) for k, m in enumerate(motions)
    ]
    y_labels = (f"position ({unit})", f"error ({shown})", f"error ({shown})")
    for title, y_label, curves in zip(
        titles, y_labels, (positions, errors, errors[BASELINE + 1 :]), strict=True
    ):
        yield figure(f"{joint.name}: {title}", "time (s)", y_label, curves)


def _parts(recording: Recording, j: int) -> list[Curve]:
    """Return the terms of the efforts of a joint, without missing ones."""
    parts = (
        Curve(label, recording.t, getattr(recording.efforts, part)[:, j], colour, dashed)
        for part, label, colour, dashed in _PARTS
    )
    return [curve for curve in parts if np.isfinite(curve.y).any()]
