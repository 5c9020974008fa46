# SPDX-License-Identifier: Apache-2.0
"""The report of a demonstration, as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from dyn_core.model.joint import Joint
from dyn_core.report.curve import Curve
from dyn_core.report.line_plot import line_plot
from dyn_core.report.page import legend, page, table
from dyn_nodes.demonstration.recording import Efforts, Recording
from dyn_nodes.demonstration.results import SHOWN_UNITS, Result
from dyn_nodes.demonstration.scene import DAMPING, RATE_HZ, STEP_S, Scene

_REFERENCE = 5
"""Number of the colour of the reference."""
_PARTS = (
    ("inertial", "inertial", 0, False),
    ("coriolis", "Coriolis and centrifugal", 3, False),
    ("gravity", "gravity", 2, False),
    ("friction", "friction", 4, False),
    ("control", "PD", 1, False),
    ("total", "total sent", 5, False),
    ("measured", "effort of the robot", 6, True),
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


def report(scene: Scene, recordings: Sequence[Recording], found: Sequence[Result], facts: Facts) -> str:
    """Answer the page."""
    title = f"Feedforward for robot {scene.robot.name}"
    return page(title, _body(title, scene, recordings, found, facts))


def _body(
    title: str, scene: Scene, recordings: Sequence[Recording], found: Sequence[Result], facts: Facts
) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    yield (
        f'<p class="quiet">A simulated robot with {scene.robot.dof} joints followed one motion of '
        f"{scene.wish.duration:g} s {_count(len(recordings))}, over DDS, "
        f"with the nodes simulation, controller and feedforward in processes of their own. {escape(facts.date)}</p>"
    )
    yield '<div class="cards">'
    for result in found[1:]:
        worst = min(result.factors)
        yield (
            f'<div class="card"><b>{_factor(result.factor)}</b>smaller RMS tracking error: {escape(result.title)}'
            f"<br><span>against {escape(found[0].title)}; the least of a joint: {_factor(worst)}</span></div>"
        )
    yield "</div>"
    yield "<section><h2>Tracking errors</h2>"
    yield _errors_table(scene, found)
    yield "</section>"
    yield "<section><h2>What was run</h2>"
    yield table((), _facts(scene, recordings, facts), "prose")
    yield "</section><section><h2>Joints</h2>"
    yield _joints_table(scene)
    yield (
        f"<p>The gains are kp = a w², kd = 2 D w a \N{MINUS SIGN} Fv for a natural frequency "
        f"w/2π = {scene.frequency:.3g} Hz and a damping ratio D = {DAMPING:g}, where a is the greatest inertia "
        "that the joint feels during the motion, by the inertia matrix of the described robot. Friction and "
        "rotor inertia are those of the described robot, and in brackets of the simulated one.</p></section>"
    )
    for j, joint in enumerate(scene.robot.independent_joints):
        yield from _joint(j, joint, recordings)


def _count(runs: int) -> str:
    return {2: "twice", 3: "three times"}.get(runs, f"{runs} times")


def _factor(value: float) -> str:
    return f"{value:.3g}\N{MULTIPLICATION SIGN}"


def _errors_table(scene: Scene, found: Sequence[Result]) -> str:
    head = ["joint"]
    for number, result in enumerate(found):
        head += [f"{result.title}: RMS", "largest"] + (["smaller by"] if number else [])
    rows: list[list[str]] = []
    for j, joint in enumerate(scene.robot.independent_joints):
        unit = SHOWN_UNITS[joint.position_unit]
        row = [joint.name]
        for number, result in enumerate(found):
            row += [f"{1e3 * e[j]:.3f} {unit}" for e in result.error]
            row += [_factor(result.factors[j])] if number else []
        rows.append(row)
    for unit in found[0].overall:
        row = [f"all joints, {SHOWN_UNITS[unit]}"]
        for number, result in enumerate(found):
            row += [f"{1e3 * result.overall[unit]:.3f} {SHOWN_UNITS[unit]}", ""]
            row += [_factor(result.overall_factors[unit])] if number else []
        rows.append(row)
    return table(head, rows)


def _facts(scene: Scene, recordings: Sequence[Recording], facts: Facts) -> Iterator[tuple[str, str]]:
    wish = scene.wish
    yield "robot", f"{scene.robot.name}, {scene.path}" + (f" with {scene.side_file}" if scene.side_file else "")
    if wish.model_error:
        yield (
            "model error",
            f"The parameters of the simulated robot are not those of its description: masses, rotor inertias and "
            f"friction are off by up to {100 * wish.model_error:g} %, bodies are stretched by up to half of that "
            f"and moved accordingly (seed {wish.seed}). The feedforward knows the description; in the last run "
            "it was told the true parameters by the service set_dynamic_parameters.",
        )
    else:
        yield "model error", "none: the simulated robot is as its description says"
    yield "friction", "viscous and Coulomb, with stiction, in the simulated robot; in the model as described"
    yield (
        "rate",
        f"{RATE_HZ:g} Hz for joint states, references and torques, in simulated time; steps of the integrator "
        f"{1e3 * STEP_S:g} ms; real-time factor {facts.real_time_factor:.2f}",
    )
    yield (
        "messages",
        ", ".join(f"{r.title}: {len(r.t)} joint states recorded, {r.missed} missed" for r in recordings),
    )
    yield "versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    for remark in scene.remarks:
        yield "remark", remark


def _joints_table(scene: Scene) -> str:
    head = ("joint", "kp", "kd", "inertia a", "viscous Fv", "Coulomb Fs", "rotor inertia", "effort limit")
    rows = []
    real = {joint.name: joint for joint in scene.real.joints}
    for joint, kp, kd, a in zip(scene.robot.independent_joints, *scene.gains, strict=True):
        effort, length = joint.effort_unit, joint.position_unit
        other = real[joint.name]
        limit = joint.limits.effort
        inertia = "kg" if length == "m" else "kg m²"
        rows.append(
            (
                joint.name,
                f"{kp:.4g} {effort}/{length}",
                f"{kd:.4g} {effort} s/{length}",
                f"{a:.3g} {inertia}",
                f"{joint.friction.Fv:.3g} ({other.friction.Fv:.3g}) {effort} s/{length}",
                f"{joint.friction.Fs:.3g} ({other.friction.Fs:.3g}) {effort}",
                f"{joint.Ia:.3g} ({other.Ia:.3g}) {inertia}",
                "unknown" if limit is None else f"{limit:g} {effort}",
            )
        )
    return table(head, rows)


def _joint(j: int, joint: Joint, recordings: Sequence[Recording]) -> Iterator[str]:
    unit, shown = joint.position_unit, SHOWN_UNITS[joint.position_unit]
    kind = "force" if unit == "m" else "torque"
    time = "time (s)"
    yield f'<section><h2>{escape(joint.name)}</h2><div class="plots">'
    last = recordings[-1]
    positions = [Curve(r.title, r.t, r.measured[:, j], k) for k, r in enumerate(recordings)]
    positions.append(Curve("reference", last.t, last.desired[:, j], _REFERENCE, dashed=True))
    yield _figure(f"{joint.name}: position", time, f"position ({unit})", positions)
    errors = [
        Curve(r.title, r.t, 1e3 * (r.desired[:, j] - r.measured[:, j]), k) for k, r in enumerate(recordings)
    ]
    yield _figure(f"{joint.name}: tracking error", time, f"error ({shown})", errors)
    for recording in recordings[1:]:
        yield _figure(
            f"{joint.name}: {kind}s, {recording.title}",
            time,
            f"{kind} ({joint.effort_unit})",
            _breakdown(recording, j),
        )
    yield "</div></section>"


def _breakdown(recording: Recording, j: int) -> list[Curve]:
    efforts: Efforts = recording.efforts
    return [
        Curve(label, recording.t, getattr(efforts, name)[:, j], colour, dashed)
        for name, label, colour, dashed in _PARTS
    ]


def _figure(title: str, x_label: str, y_label: str, curves: Sequence[Curve]) -> str:
    entries = ((curve.label, curve.colour, curve.dashed) for curve in curves)
    return f"<figure>{line_plot(title, x_label, y_label, curves)}{legend(entries)}</figure>"
