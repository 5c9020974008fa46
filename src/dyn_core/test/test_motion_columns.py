# SPDX-License-Identifier: Apache-2.0
"""Consistency of the columns of a motion: derivatives, and mimic joints with their leaders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from measured_data_sets import EMPS_MAP, EMPS_URDF, dataset, ur10
from refusals import refused
from robots import loop_robot

import dyn_core
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.feasibility.sampled_motion import SampledMotion, read_motion
from dyn_core.robot.robot import Robot

INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
MIMIC = '<mimic joint="{}" multiplier="{}" offset="{}"/>'
FINGERS = "".join(
    f'<link name="l_{name}">{INERTIAL}</link><joint name="{name}" type="{kind}"><parent link="base"/>'
    f'<child link="l_{name}"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="9" velocity="99"/>'
    f"{rest}</joint>"
    for name, kind, rest in (
        *(("lead", "revolute", ""), ("turn", "revolute", MIMIC.format("lead", -2, 0.1))),
        ("slide", "prismatic", MIMIC.format("turn", 0.05, 0)),
        ("still", "revolute", MIMIC.format("lead", 0, 0.3)),
    )
)

Columns = dict[str, np.ndarray]
Read = Callable[..., SampledMotion]
TIMES = np.linspace(0.0, 5.0, 251)


@pytest.fixture(scope="module")
def hand() -> Robot:
    return dyn_core.load_robot(f'<robot name="hand"><link name="base"/>{FINGERS}</robot>')


@pytest.fixture
def read(hand: Robot, tmp_path: Path) -> Read:
    """Return a function that writes columns to a file and reads the motion from it."""

    def motion(t: np.ndarray, columns: Columns, robot: Robot = hand) -> SampledMotion:
        rows = np.column_stack([t, *columns.values()]).tolist()
        lines = [",".join(["time", *columns]), *(",".join(map(repr, row)) for row in rows)]
        (tmp_path / "m.csv").write_text("\n".join(lines) + "\n")
        return read_motion(tmp_path / "m.csv", robot)

    return motion


@contextmanager
def contradiction(
    column: str, code: str = "motion-rates-contradict", line: int | None = None, **values: object
) -> Iterator[pytest.ExceptionInfo[DynError | ArgumentError]]:
    """Expect an error about a column, in this line if it is given."""
    with refused(code, **values) as caught:
        yield caught
    assert isinstance(caught.value, DynError)
    assert caught.value.element == f"column '{column}'"
    assert line in (None, caught.value.line)


def led(t: np.ndarray) -> Columns:
    """Return all columns of the hand for a swing of 0.5 rad at 2 rad/s with this phase."""
    q, qd, qdd = 0.5 * np.sin(2.0 * t), np.cos(2.0 * t), -2.0 * np.sin(2.0 * t)
    of = {"lead": (1.0, 0.0), "turn": (-2.0, 0.1), "slide": (-0.1, 0.005), "still": (0.0, 0.3)}
    return {
        f"{what}.{joint}": m * values + (c if what == "position" else 0.0)
        for joint, (m, c) in of.items()
        for what, values in (("position", q), ("velocity", qd), ("acceleration", qdd), ("effort", 0.0 * q))
    }


def test_consistent_columns_of_followers_are_accepted(read: Read) -> None:
    columns = led(TIMES)
    motion = read(TIMES, columns)
    assert (motion.q.shape, motion.derived) == ((251, 1), ())
    np.testing.assert_array_equal(motion.q[:, 0], columns["position.lead"])
    # Some sensors count turns, some do not; and measured values are noisy.
    noise = np.random.default_rng(0)
    columns["position.turn"] += 2.0 * math.pi + 1e-3 * noise.normal(size=251)
    columns["velocity.turn"] += 0.2 * noise.normal(size=251)
    read(TIMES, columns)


@pytest.mark.parametrize(
    ("column", "place", "by", "values"),
    [
        ("position.turn", 100, 0.02, {"given": 0.8768, "time": 2.0, "expected": 0.8568, "unit": "rad"}),
        ("position.slide", 100, 0.02, {"time": 2.0, "unit": "m"}),
        ("position.still", 0, 0.2, {"given": 0.5, "time": 0.0, "expected": 0.3, "unit": "rad"}),
        ("velocity.turn", slice(None), 3.0, {"unit": "rad/s"}),
        ("velocity.still", slice(None), 1.0, {"given": 1.0, "time": 0.0, "expected": 0.0, "unit": "rad/s"}),
        ("acceleration.turn", slice(None), 30.0, {"unit": "rad/s^2"}),
    ],
)
def test_inconsistent_columns_of_followers_are_refused(
    column: str, place: int | slice, by: float, values: dict[str, object], read: Read
) -> None:
    columns = led(TIMES)
    columns[column][place] += by
    joint = column.split(".")[1]
    code, leader = ("column-contradicts-leader", "lead")
    if joint == "still":
        code, leader = ("column-of-fixed-mimic", "")
    line = place + 2 if isinstance(place, int) else None
    with contradiction(column, code, joint=joint, leader=leader, line=line, **values):
        read(TIMES, columns)


def test_passive_joints_of_loops_are_compared(read: Read) -> None:
    robot = loop_robot("five_bar")
    t = np.linspace(0.0, 1.0, 51)
    q = np.column_stack([-0.6 + 0.1 * np.sin(6.0 * t), 0.7 + 0.1 * np.cos(6.0 * t)])
    passive = dyn_core.compile_model(robot).solve_loops(q)
    names = (*robot.coordinate_names, *robot.passive_joint_names)
    columns = {f"position.{n}": x for n, x in zip(names, np.hstack([q, passive]).T, strict=True)}
    assert read(t, columns, robot).q.shape == (51, 2)
    columns["position.right_elbow"][20] += 0.03
    values = {"joint": "right_elbow", "time": 0.4, "unit": "rad", "line": 22}
    with contradiction("position.right_elbow", "column-contradicts-loops", **values):
        read(t, columns, robot)


def sines(t: np.ndarray, amplitude: float, w: float, phase: float = 0.4) -> list[np.ndarray]:
    s, c = np.sin(w * t + phase), np.cos(w * t + phase)
    return [amplitude * s, amplitude * w * c, -amplitude * w * w * s]


def integral(qd: np.ndarray) -> np.ndarray:
    """Return positions by the trapezoidal rule, at steps of 0.01 s."""
    return np.concatenate(([0.0], np.cumsum(0.005 * (qd[1:] + qd[:-1]))))


def of_lead(*values: np.ndarray) -> Columns:
    return dict(zip(("position.lead", "velocity.lead", "acceleration.lead"), values, strict=False))


@pytest.mark.parametrize("per_period", [4, 5, 6, 10, 40])
@pytest.mark.parametrize("samples", [5, 12, 80])
def test_sparse_samples_are_accepted(per_period: int, samples: int, read: Read) -> None:
    t = 0.1 * np.arange(samples)
    for phase in np.linspace(0.0, 6.0, 7):
        read(t, of_lead(*sines(t, 0.7, 2.0 * math.pi / (0.1 * per_period), phase)))


def test_common_robot_motions_are_accepted(read: Read) -> None:
    # From rest to rest between sparse points: velocities are 0 at all of them.
    q = np.array([0.0, 1.0, 1.0, 0.2, 0.9, 0.0])
    read(np.arange(6.0), of_lead(q, 0.0 * q))
    # There and back with accelerations of 2 rad/s^2 in either direction.
    t = np.linspace(0.0, 4.0, 401)
    qdd = np.where((t < 1.0) | (t >= 3.0), 2.0, -2.0)
    qd = np.where(t < 1.0, 2.0 * t, np.where(t < 3.0, 4.0 - 2.0 * t, 2.0 * t - 8.0))
    read(t, of_lead(integral(qd), qd, qdd))
    # A fall onto a stop, as the simulation records it: no sample has the acceleration of the impact.
    for samples in (40, 400, 4000):
        t = np.linspace(0.0, 3.0, samples)
        falls = t < 0.9
        q = np.where(falls, -3.0 * t * t, -3.0 * 0.81)
        read(t, of_lead(q, np.where(falls, -6.0 * t, 0.0), np.where(falls, -6.0, 0.0)))


def test_inconsistent_derivatives_are_refused(read: Read) -> None:
    """Straight lines between points: the accelerations are 0, although the velocities change."""
    t = np.linspace(0.0, 6.0, 601)
    qd = np.where(np.floor(t + 1e-9) % 2 == 0, 0.8, -0.5)
    with contradiction("acceleration.lead"):
        read(t, of_lead(integral(qd), qd, 0.0 * t))
    q, _, qdd = sines(t, 0.5, 3.0)
    _, other, _ = sines(t, 0.5, 4.7, 2.0)
    for values in ((q, other), (0.0 * q, other), (q, other, qdd)):
        with contradiction("velocity.lead"):
            read(t, of_lead(*values))


@pytest.mark.parametrize("seed", range(30))
def test_noise_is_accepted(seed: int, read: Read) -> None:
    """Measured columns with noise and offsets, of a joint that moves, hardly moves, or rests."""
    random = np.random.default_rng(seed)
    m, rate = int(random.choice([30, 300, 3000])), float(random.choice([50.0, 250.0, 1000.0]))
    t = np.arange(m) / rate
    amplitude = float(random.choice([0.0, 1e-3, 0.5]))
    values = sines(t, amplitude, 2.0 * math.pi * float(random.uniform(0.3, 2.0)))
    for values_of, deviation, offset in zip(values, (1e-4, 0.05, 2.0), (0.5, 5e-3, 0.0), strict=True):
        values_of += deviation * random.normal(size=m) + offset
    read(t, of_lead(*values))


@pytest.mark.parametrize("factor", [0.0, 1.0 / 57.3, 57.3, 60.0, -1.0, 1000.0])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_derivatives_in_other_units_are_refused(factor: float, noise: float, read: Read) -> None:
    random = np.random.default_rng(1)
    t = np.linspace(0.0, 6.0, 601)
    for which, column in ((1, "velocity"), (2, "acceleration")):
        values = sines(t, 0.5, 3.0)
        for k, deviation in enumerate((1e-4, 0.02, 0.3)):
            values[k] += noise * deviation * random.normal(size=601)
        with contradiction(f"{column}.lead"):
            read(t, of_lead(*scaled(values, which, factor)))


def test_a_contradiction_reports_both_values(read: Read) -> None:
    """At constant speed both are known."""
    t = np.linspace(0.0, 4.0, 81)
    q, qd = 0.25 * t, np.full(81, 14.3)
    with contradiction("velocity.lead", rates="velocities", unit="rad/s") as caught:
        read(t, of_lead(q, qd))
    cause = {"joint": "lead", "given": 14.3, "made": 0.25, "unit": "rad/s", "changing": "positions"}
    assert caught.value.values["cause"].values == pytest.approx(cause)
    assert read(t, of_lead(q)).qd == pytest.approx(0.25)


def scaled(columns: list[np.ndarray], which: int, factor: float) -> list[np.ndarray]:
    return [factor * values if k == which else values for k, values in enumerate(columns)]


@pytest.mark.parametrize("factor", [0.5, 0.77, 0.85, 1.15, 1.3, 1.8, 2.0])
@pytest.mark.parametrize(("which", "column"), [(1, "velocity"), (2, "acceleration")])
@pytest.mark.parametrize("clean", [True, False])
def test_scaled_columns_are_refused_and_the_wrong_column_is_named(
    factor: float, which: int, column: str, clean: bool, read: Read
) -> None:
    """For a swing, for one stroke from rest to rest, and, without noise, for a constant speed."""
    random = np.random.default_rng(2)
    t = np.linspace(0.0, 2.0, 601)
    u = t / 2.0
    stroke = [
        8.0 * (10.0 * u**3 - 15.0 * u**4 + 6.0 * u**5),
        8.0 * (30.0 * u**2 - 60.0 * u**3 + 30.0 * u**4) / 2.0,
        8.0 * (60.0 * u - 180.0 * u**2 + 120.0 * u**3) / 4.0,
    ]
    steady = [0.6 * t, 0.6 + 0.0 * t, 0.0 * t]
    for values in (sines(t, 0.5, 9.0), stroke, *([steady] if clean and which == 1 else [])):
        if not clean:
            values = [x + d * random.normal(size=601) for x, d in zip(values, (1e-4, 0.02, 0.3), strict=True)]
        read(t, of_lead(*values))
        with contradiction(f"{column}.lead"):
            read(t, of_lead(*scaled(values, which, factor)))


@pytest.mark.parametrize(
    ("per_period", "factor", "which"),
    [(7, 0.5, 1), (7, 2.0, 1), (7, 0.5, 2), (7, 2.0, 2), (10, 1.3, 1), (12, 1.3, 1), (12, 1.3, 2)],
)
def test_with_sparse_samples_the_wrong_column_is_named(
    per_period: int, factor: float, which: int, read: Read
) -> None:
    """With ten samples per period, the velocities contradict the accelerations, but not the positions."""
    t = 0.1 * np.arange(80)
    values = scaled(sines(t, 0.7, 2.0 * math.pi / (0.1 * per_period)), which, factor)
    of_velocities = {"column": "velocity.lead", "rates": "velocities", "unit": "rad/s"}
    of_accelerations = {"column": "acceleration.lead", "rates": "accelerations", "unit": "rad/s^2"}
    with contradiction(**(of_velocities if which == 1 else of_accelerations)) as caught:
        read(t, of_lead(*values))
    agree = "velocities-unlike-accelerations" if per_period == 10 else "rates-unlike-changes"
    assert caught.value.values["cause"].code == agree


@pytest.mark.parametrize("factor", [0.55, 0.8, 1.3, 1.8])
@pytest.mark.parametrize("quantity", ["velocity", "acceleration"])
def test_scaled_columns_of_followers_are_refused(factor: float, quantity: str, read: Read) -> None:
    others = [f"position.{joint}" for joint in ("turn", "slide", "still")]
    columns = {name: 10.0 * x for name, x in led(TIMES).items() if name not in others}
    read(TIMES, columns)
    columns[f"{quantity}.turn"] *= factor
    with contradiction(f"{quantity}.turn", "column-contradicts-leader", joint="turn", leader="lead"):
        read(TIMES, columns)


@pytest.mark.parametrize("every", [1, 2, 5, 10, 25, 50, 125])
def test_a_measured_log_is_accepted(every: int, read: Read) -> None:
    """All samples of the UR10 log, and a few; 1.3 times the velocities of a joint is refused."""
    robot = ur10()
    log = dyn_core.read_log(dataset("ur10_unisa") / "ur10_exciting_trajectory.db3", robot=robot)
    t, q, qd = (np.asarray(x)[::every] for x in (log.time, log.q, log.qd))
    columns = {f"position.{name}": x for name, x in zip(robot.coordinate_names, q.T, strict=True)}
    columns |= {f"velocity.{name}": x for name, x in zip(robot.coordinate_names, qd.T, strict=True)}
    read(t, columns, robot)
    if every <= 50:
        columns["velocity.elbow_joint"] = 1.3 * columns["velocity.elbow_joint"]
        with contradiction("velocity.elbow_joint"):
            read(t, columns, robot)


@pytest.mark.parametrize("every", [1, 10, 100])
@pytest.mark.parametrize("file", ["DATA_EMPS.mat", "DATA_EMPS_PULSES.mat"])
def test_a_measured_axis_is_accepted(every: int, file: str, read: Read) -> None:
    """Velocities and accelerations are differences of all its samples."""
    log = dyn_core.read_log(dataset("emps") / file, EMPS_MAP)
    t, q = np.asarray(log.time), np.asarray(log.q)[:, 0]
    qd = np.gradient(q, t)
    values = [x[::every] for x in (q, qd, np.gradient(qd, t))]
    robot = dyn_core.load_robot(EMPS_URDF.replace("screw", "lead"))
    read(t[::every], of_lead(*values), robot)
    with contradiction("velocity.lead"):
        read(t[::every], of_lead(*scaled(values, 1, 1.3)), robot)
