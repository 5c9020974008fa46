# SPDX-License-Identifier: Apache-2.0
"""The report of a demonstration, as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from dyn_core.report.curve import Curve
from dyn_core.report.line_plot import line_plot
from dyn_core.report.page import legend, page, table
from dyn_core.robot.joints import Joint
from dyn_nodes.demonstration.passive import PassiveMotion, greatest, passive_joints
from dyn_nodes.demonstration.recording import Recording
from dyn_nodes.demonstration.scene import DAMPING, RATE_HZ, STEP_S, Scene
from dyn_nodes.demonstration.tracking_errors import SHOWN_UNITS, Result

_TIME = "time (s)"
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
"""Efforts that are drawn: name in the recording, label, number of the colour, dashed."""


def about_joints(scene: Scene) -> str:
    """Say how many joints the robot has."""
    passive = len(passive_joints(scene.model))
    return (
        f"{scene.robot.dof} actuated and {passive} passive joints" if passive else f"{scene.robot.dof} joints"
    )


@dataclass(frozen=True)
class Facts:
    """What is told beside the recordings.

    Attributes:
        date: when it was done.
        real_time_factor: simulated time for each second of the motions.
        versions: of what took part, by name.
    """

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
    """Answer the page."""
    title = f"What feedforward does for robot {scene.robot.name}"
    return page(title, (f"<h1>{escape(title)}</h1>", *_body(scene, recordings, passive, found, facts)))


def _body(
    scene: Scene,
    recordings: Sequence[Recording],
    passive: Sequence[PassiveMotion],
    found: Sequence[Result],
    facts: Facts,
) -> Iterator[str]:
    yield (
        f'<p class="quiet">A simulated robot with {about_joints(scene)} followed one motion of '
        f"{scene.wish.duration:g} s {_times(len(recordings))}, over DDS, with the nodes simulation, "
        f"controller and feedforward in a process each. {escape(facts.date)}</p>"
    )
    yield '<div class="cards">'
    for result in found[1:]:
        yield (
            f'<div class="card"><b>{_factor(result.factor)} smaller</b>RMS tracking error: '
            f"{escape(result.title)}<br><span>against {escape(found[0].title)}; "
            f"the joint with the least: {_factor(min(result.factors))}</span></div>"
        )
    yield f"</div><section><h2>Tracking errors</h2>{_errors(scene, found)}</section>"
    told = table((), _facts(scene, recordings, passive, facts), "prose")
    yield f"<section><h2>What was run</h2>{told}</section>"
    yield f"<section><h2>Joints</h2>{_joints(scene)}{_about_gains(scene)}</section>"
    for j, joint in enumerate(scene.robot.independent_joints):
        yield from _plots(j, joint, recordings)
    for k, joint in enumerate(passive_joints(scene.model)):
        yield from _passive_plots(k, joint, passive)


def _times(count: int) -> str:
    return {2: "twice", 3: "three times"}.get(count, f"{count} times")


def _factor(value: float) -> str:
    return f"{value:.0f}\N{MULTIPLICATION SIGN}" if value >= 100.0 else f"{value:.1f}\N{MULTIPLICATION SIGN}"


def _errors(scene: Scene, found: Sequence[Result]) -> str:
    """Answer the table of errors."""
    compared = found[1:]
    groups = [("", 1), (found[0].title, 2), *((result.title, 3) for result in compared)]
    head = ["joint", "RMS", "largest", *("RMS", "largest", "smaller by") * len(compared)]
    rows: list[list[str]] = []
    for j, joint in enumerate(scene.robot.independent_joints):
        unit = SHOWN_UNITS[joint.position_unit]
        rows.append([joint.name])
        for number, result in enumerate(found):
            rows[-1] += [f"{1e3 * values[j]:.3f} {unit}" for values in result.error]
            rows[-1] += [_factor(result.factors[j])] if number else []
    for kind, rms in found[0].overall.items():
        unit = SHOWN_UNITS[kind]
        rows.append([f"all joints, {unit}", f"{1e3 * rms:.3f} {unit}", ""])
        for result in compared:
            rows[-1] += [
                f"{1e3 * result.overall[kind]:.3f} {unit}",
                "",
                _factor(result.overall_factors[kind]),
            ]
    return table(head, rows, groups=groups)


def _facts(
    scene: Scene, recordings: Sequence[Recording], passive: Sequence[PassiveMotion], facts: Facts
) -> Iterator[tuple[str, str]]:
    side_file = f" with {scene.side_file}" if scene.side_file else ""
    yield "robot", f"{scene.robot.name}: {scene.path}{side_file}"
    yield "model error", _about_error(scene)
    yield (
        "friction",
        "viscous and Coulomb, with joints that stick, in the simulation; without sticking in the model",
    )
    yield (
        "rate",
        f"{RATE_HZ:g} Hz for joint states, references and torques, in simulated time, which goes on when all "
        f"have answered; integrator: {scene.integrator}, {1e3 * STEP_S:g} ms; "
        f"real-time factor {facts.real_time_factor:.2f}",
    )
    if scene.robot.loops:
        yield "passive joints", _about_passive(scene, passive)
    counts = (f"{r.title}: {len(r.t)} joint states, {r.lost} answers lost" for r in recordings)
    yield "messages", "; ".join(counts)
    yield "versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    for remark in scene.remarks:
        yield "remark", remark


def _about_passive(scene: Scene, passive: Sequence[PassiveMotion]) -> str:
    """Say which joints follow, and how exactly the simulation kept the loops closed."""
    joints = passive_joints(scene.model)
    apart = {
        unit: max(
            x for x, joint in zip(greatest(passive), joints, strict=True) if joint.position_unit == unit
        )
        for unit in dict.fromkeys(joint.position_unit for joint in joints)
    }
    return (
        f"{', '.join(joint.name for joint in joints)} follow through loops. As published by the simulation "
        "they were at the most "
        f"{' and '.join(f'{value:.2g} {unit}' for unit, value in apart.items())} from where the loops put "
        "them by the measured actuated joints."
    )


def _about_error(scene: Scene) -> str:
    wish = scene.wish
    if not wish.model_error:
        return "none: the simulated robot is as its description says"
    part = 100 * wish.model_error
    return (
        f"The simulated robot is not quite as described: masses, rotor inertias and friction are off by up "
        f"to {part:g} %; bodies are stretched, and moved by a part of their size, by up to {0.5 * part:g} % "
        f"(seed {wish.seed}). The feedforward knows the description. For the true model it was told the "
        "parameters of the simulated robot by the service set_dynamic_parameters."
    )


def _about_gains(scene: Scene) -> str:
    return (
        "<p>Gains: kp = a w², kd = 2 D w a \N{MINUS SIGN} Fv, for a natural frequency "
        f"w/2π = {scene.frequency:.3g} Hz and a damping ratio D = {DAMPING:g}, with the greatest inertia a "
        "that the joint feels during the motion. In brackets: the simulated robot, where it differs from "
        "the described one.</p>"
    )


def _joints(scene: Scene) -> str:
    """Answer the table of gains, friction and limits."""
    head = ("joint", "kp", "kd", "inertia a", "viscous Fv", "Coulomb Fs", "rotor inertia", "effort limit")
    rows = []
    for joint, kp, kd, a in zip(scene.robot.independent_joints, *scene.gains, strict=True):
        effort, length = joint.effort_unit, joint.position_unit
        real = scene.real.joint(joint.name)
        inertia = "kg" if length == "m" else "kg m²"
        rows.append(
            (
                joint.name,
                f"{_gain(kp)} {effort}/{length}",
                f"{_gain(kd)} {effort} s/{length}",
                f"{a:.3g} {inertia}",
                f"{_both(joint.friction.Fv, real.friction.Fv)} {effort} s/{length}",
                f"{_both(joint.friction.Fs, real.friction.Fs)} {effort}",
                f"{_both(joint.Ia, real.Ia)} {inertia}",
                f"{joint.limits.effort:g} {effort}" if joint.limits.effort else "unknown",
            )
        )
    for joint in passive_joints(scene.model):
        effort, length = joint.effort_unit, joint.position_unit
        real = scene.real.joint(joint.name)
        rows.append(
            (
                joint.name,
                "passive",
                "",
                "",
                f"{_both(joint.friction.Fv, real.friction.Fv)} {effort} s/{length}",
                f"{_both(joint.friction.Fs, real.friction.Fs)} {effort}",
                f"{_both(joint.Ia, real.Ia)} {'kg' if length == 'm' else 'kg m²'}",
                "none",
            )
        )
    return table(head, rows)


def _gain(value: float) -> str:
    return f"{value:.0f}" if value >= 1000.0 else f"{value:.4g}"


def _both(described: float, real: float) -> str:
    return f"{described:.3g}" if described == real else f"{described:.3g} ({real:.3g})"


def _plots(j: int, joint: Joint, recordings: Sequence[Recording]) -> Iterator[str]:
    """Answer the plots of one joint: positions, errors, and what the efforts were made of."""
    name, unit, shown = joint.name, joint.position_unit, SHOWN_UNITS[joint.position_unit]
    effort = "force" if unit == "m" else "torque"
    yield f'<section><h2>{escape(name)}</h2><div class="plots">'
    positions = [Curve(r.title, r.t, r.measured[:, j], k) for k, r in enumerate(recordings)]
    last = recordings[-1]
    positions.append(Curve("reference", last.t, last.desired[:, j], _REFERENCE, dashed=True))
    yield _figure(f"{name}: reference and measured position", f"position ({unit})", positions)
    errors = [
        Curve(r.title, r.t, 1e3 * (r.desired[:, j] - r.measured[:, j]), k) for k, r in enumerate(recordings)
    ]
    yield _figure(f"{name}: tracking error", f"error ({shown})", errors)
    yield _figure(f"{name}: tracking error with feedforward, enlarged", f"error ({shown})", errors[1:])
    for recording in recordings:
        yield _figure(
            f"{name}: {effort}, {recording.title}", f"{effort} ({joint.effort_unit})", _parts(recording, j)
        )
    yield "</div></section>"


def _passive_plots(k: int, joint: Joint, motions: Sequence[PassiveMotion]) -> Iterator[str]:
    """Answer the plots of one passive joint: positions, and how far they are from those of the reference."""
    name, unit, shown = joint.name, joint.position_unit, SHOWN_UNITS[joint.position_unit]
    yield f'<section><h2>{escape(name)} (passive)</h2><div class="plots">'
    positions = [Curve(m.title, m.t, m.measured[:, k], number) for number, m in enumerate(motions)]
    last = motions[-1]
    positions.append(Curve("reference", last.t, last.desired[:, k], _REFERENCE, dashed=True))
    yield _figure(f"{name}: position by the reference and measured", f"position ({unit})", positions)
    errors = [
        Curve(m.title, m.t, 1e3 * (m.desired[:, k] - m.measured[:, k]), number)
        for number, m in enumerate(motions)
    ]
    yield _figure(f"{name}: error", f"error ({shown})", errors)
    yield _figure(f"{name}: error with feedforward, enlarged", f"error ({shown})", errors[1:])
    yield "</div></section>"


def _parts(recording: Recording, j: int) -> list[Curve]:
    """Answer what the efforts of a joint were made of, without what was not sent."""
    parts = (
        Curve(label, recording.t, getattr(recording.efforts, part)[:, j], colour, dashed)
        for part, label, colour, dashed in _PARTS
    )
    return [curve for curve in parts if np.isfinite(curve.y).any()]


def _figure(title: str, y_label: str, curves: Sequence[Curve]) -> str:
    entries = ((curve.label, curve.colour, curve.dashed) for curve in curves)
    return f"<figure>{line_plot(title, _TIME, y_label, curves)}{legend(entries)}</figure>"
