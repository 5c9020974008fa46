# SPDX-License-Identifier: Apache-2.0
"""What the columns of a motion say of each other: rates of values, and followers of what they follow."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from measured import EMPS_MAP, EMPS_URDF, dataset, ur10

import dyn_core
from dyn_core.core.errors import DynError
from dyn_core.feasibility.sampled_motion import read_motion
from dyn_core.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
FINGERS = (
    "".join(
        f'<link name="l_{name}">{INERTIAL}</link><joint name="{name}" type="{kind}"><parent link="base"/>'
        f'<child link="l_{name}"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="9" velocity="99"/>'
        f"{rest}</joint>"
        for name, kind, rest in (
            ("lead", "revolute", ""),
            ("turn", "revolute", '<mimic joint="lead" multiplier="-2" offset="0.1"/>'),
            ("slide", "prismatic", '<mimic joint="turn" multiplier="0.05" offset="0"/>'),
            ("still", "revolute", '<mimic joint="lead" multiplier="0" offset="0.3"/>'),
        )
    )
).join(('<robot name="hand"><link name="base"/>', "</robot>"))

Columns = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def hand() -> Robot:
    return dyn_core.load_robot(FINGERS)


def written(path: Path, t: np.ndarray, columns: Columns) -> Path:
    rows = np.column_stack([t, *columns.values()]).tolist()
    path.write_text(
        "\n".join([",".join(["time", *columns]), *(",".join(map(repr, row)) for row in rows)]) + "\n"
    )
    return path


def led(t: np.ndarray) -> Columns:
    """All columns of the hand, of a swing of 0.5 rad at 2 rad/s of phase."""
    q, qd, qdd = 0.5 * np.sin(2.0 * t), np.cos(2.0 * t), -2.0 * np.sin(2.0 * t)
    of = {"lead": (1.0, 0.0), "turn": (-2.0, 0.1), "slide": (-0.1, 0.005), "still": (0.0, 0.3)}
    return {
        f"{what}.{joint}": m * values + (c if what == "position" else 0.0)
        for joint, (m, c) in of.items()
        for what, values in (("position", q), ("velocity", qd), ("acceleration", qdd), ("effort", 0.0 * q))
    }


TIMES = np.linspace(0.0, 5.0, 251)


def test_columns_of_followers_that_agree_are_taken(hand: Robot, tmp_path: Path) -> None:
    columns = led(TIMES)
    motion = read_motion(written(tmp_path / "m.csv", TIMES, columns), hand)
    assert motion.q.shape == (251, 1)
    assert motion.derived == ()
    np.testing.assert_array_equal(motion.q[:, 0], columns["position.lead"])
    # Some count turns, some do not; and what is measured is noisy.
    noise = np.random.default_rng(0)
    columns["position.turn"] = columns["position.turn"] + 2.0 * math.pi + 1e-3 * noise.normal(size=251)
    columns["velocity.turn"] = columns["velocity.turn"] + 0.2 * noise.normal(size=251)
    read_motion(written(tmp_path / "m.csv", TIMES, columns), hand)


@pytest.mark.parametrize(
    ("column", "place", "by", "sentence"),
    [
        (
            "position.turn",
            100,
            0.02,
            r"joint 'turn' has 0\.8768 rad at 2 s, but joint 'lead', which it follows, makes it 0\.8568 rad: "
            "leave the column out",
        ),
        ("position.slide", 100, 0.02, r"joint 'slide' has .* m at 2 s, but joint 'lead', which it follows"),
        (
            "position.still",
            0,
            0.2,
            r"'still' has 0\.5 rad at 0 s, but it follows nothing and stands still at 0\.3",
        ),
        ("velocity.turn", slice(None), 3.0, r"joint 'turn' has .* rad/s at .* s, but joint 'lead'"),
        ("velocity.still", slice(None), 1.0, r"'still' has 1 rad/s at 0 s, but .* stands still at 0 rad/s"),
        ("acceleration.turn", slice(None), 30.0, r"joint 'turn' has .* rad/s\^2 at .* s, but joint 'lead'"),
    ],
)
def test_columns_of_followers_that_do_something_else(
    column: str, place: int | slice, by: float, sentence: str, hand: Robot, tmp_path: Path
) -> None:
    columns = led(TIMES)
    columns[column] = columns[column].copy()
    columns[column][place] += by
    with pytest.raises(DynError, match=sentence) as refused:
        read_motion(written(tmp_path / "m.csv", TIMES, columns), hand)
    if isinstance(place, int):
        assert f"line {place + 2}, column '{column}': " in str(refused.value)


def test_passive_joints_of_loops_are_compared(tmp_path: Path) -> None:
    path = ROBOTS / "five_bar.urdf"
    robot = dyn_core.load_robot(path, loops=path.with_suffix(".yaml"))
    t = np.linspace(0.0, 1.0, 51)
    q = np.column_stack([-0.6 + 0.1 * np.sin(6.0 * t), 0.7 + 0.1 * np.cos(6.0 * t)])
    passive = dyn_core.compile_model(robot).solve_loops(q)
    columns = {f"position.{n}": x for n, x in zip(robot.coordinate_names, q.T, strict=True)}
    columns |= {f"position.{n}": x.copy() for n, x in zip(robot.passive_joint_names, passive.T, strict=True)}
    assert read_motion(written(tmp_path / "m.csv", t, columns), robot).q.shape == (51, 2)
    columns["position.right_elbow"][20] += 0.03
    with pytest.raises(
        DynError,
        match=r"line 22, column 'position.right_elbow': joint 'right_elbow' has .* rad at 0\.4 s, but the "
        r"loops, which it follows, make it",
    ):
        read_motion(written(tmp_path / "m.csv", t, columns), robot)


def sines(t: np.ndarray, amplitude: float, w: float, phase: float = 0.4) -> list[np.ndarray]:
    s, c = np.sin(w * t + phase), np.cos(w * t + phase)
    return [amplitude * s, amplitude * w * c, -amplitude * w * w * s]


def of_lead(t: np.ndarray, *values: np.ndarray) -> Columns:
    return dict(zip(("position.lead", "velocity.lead", "acceleration.lead"), values, strict=False))


@pytest.mark.parametrize("per_period", [4, 5, 6, 10, 40])
@pytest.mark.parametrize("samples", [5, 12, 80])
def test_sparse_samples_are_no_contradiction(
    per_period: int, samples: int, hand: Robot, tmp_path: Path
) -> None:
    t = 0.1 * np.arange(samples)
    for phase in np.linspace(0.0, 6.0, 7):
        values = sines(t, 0.7, 2.0 * math.pi / (0.1 * per_period), phase)
        read_motion(written(tmp_path / "m.csv", t, of_lead(t, *values)), hand)


def test_stops_at_sparse_points_are_no_contradiction(hand: Robot, tmp_path: Path) -> None:
    """From rest to rest between points: velocities are 0 at all of them."""
    t = np.arange(6.0)
    q = np.array([0.0, 1.0, 1.0, 0.2, 0.9, 0.0])
    read_motion(written(tmp_path / "m.csv", t, of_lead(t, q, 0.0 * q)), hand)


def test_accelerations_that_jump_are_no_contradiction(hand: Robot, tmp_path: Path) -> None:
    """There and back with two accelerations."""
    t = np.linspace(0.0, 4.0, 401)
    qdd = np.where((t < 1.0) | (t >= 3.0), 2.0, -2.0)
    qd = np.where(t < 1.0, 2.0 * t, np.where(t < 3.0, 4.0 - 2.0 * t, 2.0 * t - 8.0))
    q = np.concatenate(([0.0], np.cumsum(0.005 * (qd[1:] + qd[:-1]))))
    read_motion(written(tmp_path / "m.csv", t, of_lead(t, q, qd, qdd)), hand)


@pytest.mark.parametrize("samples", [40, 400, 4000])
def test_an_impact_is_no_contradiction(samples: int, hand: Robot, tmp_path: Path) -> None:
    """A fall into a stop, as the simulation has them: no sample has the acceleration of the impact."""
    t = np.linspace(0.0, 3.0, samples)
    falls = t < 0.9
    qdd = np.where(falls, -6.0, 0.0)
    qd = np.where(falls, -6.0 * t, 0.0)
    q = np.where(falls, -3.0 * t * t, -3.0 * 0.81)
    read_motion(written(tmp_path / "m.csv", t, of_lead(t, q, qd, qdd)), hand)


def test_speeds_that_jump_without_accelerations_are_a_contradiction(hand: Robot, tmp_path: Path) -> None:
    """Straight lines between points: what the jumps ask of the motors, the columns do not say."""
    t = np.linspace(0.0, 6.0, 601)
    phase = np.floor(t + 1e-9)
    qd = np.where(phase % 2 == 0, 0.8, -0.5)
    q = np.concatenate(([0.0], np.cumsum(0.005 * (qd[1:] + qd[:-1]))))
    with pytest.raises(DynError, match=r"column 'acceleration\.lead'"):
        read_motion(written(tmp_path / "m.csv", t, of_lead(t, q, qd, 0.0 * t)), hand)


@pytest.mark.parametrize("seed", range(30))
def test_noise_is_no_contradiction(seed: int, hand: Robot, tmp_path: Path) -> None:
    """Measured columns: noisy, with offsets, of a joint that moves, hardly moves, or stands."""
    random = np.random.default_rng(seed)
    m, rate = int(random.choice([30, 300, 3000])), float(random.choice([50.0, 250.0, 1000.0]))
    t = np.arange(m) / rate
    amplitude = float(random.choice([0.0, 1e-3, 0.5]))
    values = sines(t, amplitude, 2.0 * math.pi * float(random.uniform(0.3, 2.0)))
    for values_of, deviation, offset in zip(values, (1e-4, 0.05, 2.0), (0.5, 5e-3, 0.0), strict=True):
        values_of += deviation * random.normal(size=m) + offset
    read_motion(written(tmp_path / "m.csv", t, of_lead(t, *values)), hand)


@pytest.mark.parametrize("factor", [0.0, 1.0 / 57.3, 57.3, 60.0, -1.0, 1000.0])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_other_units_are_contradictions(factor: float, noise: float, hand: Robot, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    t = np.linspace(0.0, 6.0, 601)
    for which, column in ((1, "velocity"), (2, "acceleration")):
        values = sines(t, 0.5, 3.0)
        for k, deviation in enumerate((1e-4, 0.02, 0.3)):
            values[k] = (factor if k == which else 1.0) * (
                values[k] + noise * deviation * random.normal(size=601)
            )
        with pytest.raises(
            DynError, match=rf"column '{column}\.lead': from .* to .* s it gives joint 'lead'"
        ):
            read_motion(written(tmp_path / "m.csv", t, of_lead(t, *values)), hand)


def test_another_motion_is_a_contradiction(hand: Robot, tmp_path: Path) -> None:
    t = np.linspace(0.0, 6.0, 601)
    q, _, qdd = sines(t, 0.5, 3.0)
    _, other, _ = sines(t, 0.5, 4.7, 2.0)
    for values in ((q, other), (0.0 * q, other), (q, other, qdd)):
        with pytest.raises(DynError, match=r"column 'velocity\.lead'"):
            read_motion(written(tmp_path / "m.csv", t, of_lead(t, *values)), hand)


def test_both_values_are_said(hand: Robot, tmp_path: Path) -> None:
    """Of a constant speed they are known."""
    t = np.linspace(0.0, 4.0, 81)
    q, qd = 0.25 * t, np.full(81, 14.3)
    file = written(tmp_path / "m.csv", t, of_lead(t, q, qd))
    with pytest.raises(DynError) as refused:
        read_motion(file, hand)
    assert re.fullmatch(
        r".*line \d+, column 'velocity\.lead': from [\d.]+ to [\d.]+ s it gives joint 'lead' 14\.3 rad/s in "
        r"the mean, where its positions change at 0\.25 rad/s: give velocities of the same motion in rad/s, "
        r"or leave these columns out, then they are differences",
        str(refused.value),
    )
    del (columns := of_lead(t, q, qd))["velocity.lead"]
    assert read_motion(written(tmp_path / "m.csv", t, columns), hand).qd == pytest.approx(0.25)


def scaled(columns: list[np.ndarray], which: int, factor: float) -> list[np.ndarray]:
    return [factor * values if k == which else values for k, values in enumerate(columns)]


@pytest.mark.parametrize("factor", [0.5, 0.77, 0.85, 1.15, 1.3, 1.8, 2.0])
@pytest.mark.parametrize(("which", "column"), [(1, "velocity"), (2, "acceleration")])
@pytest.mark.parametrize("clean", [True, False])
def test_multiples_are_contradictions_and_the_wrong_column_is_named(
    factor: float, which: int, column: str, clean: bool, hand: Robot, tmp_path: Path
) -> None:
    """Of a swing, of one stroke from rest to rest, and, without noise, of a steady speed."""
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
        read_motion(written(tmp_path / "m.csv", t, of_lead(t, *values)), hand)
        with pytest.raises(DynError, match=rf"column '{column}\.lead': from "):
            read_motion(written(tmp_path / "m.csv", t, of_lead(t, *scaled(values, which, factor))), hand)


@pytest.mark.parametrize(
    ("per_period", "factor", "which"),
    [(7, 0.5, 1), (7, 2.0, 1), (7, 0.5, 2), (7, 2.0, 2), (10, 1.3, 1), (12, 1.3, 1), (12, 1.3, 2)],
)
def test_the_column_that_is_wrong_is_named_of_sparse_samples(
    per_period: int, factor: float, which: int, hand: Robot, tmp_path: Path
) -> None:
    """With ten in a period it is only the accelerations that say so, and the positions agree with these."""
    t = 0.1 * np.arange(80)
    values = scaled(sines(t, 0.7, 2.0 * math.pi / (0.1 * per_period)), which, factor)
    unit = "" if which == 1 else r"\^2"
    with pytest.raises(
        DynError,
        match=rf"column '{('velocity', 'acceleration')[which - 1]}\.lead': from .* of the same motion in "
        rf"rad/s{unit}, or",
    ) as refused:
        read_motion(written(tmp_path / "m.csv", t, of_lead(t, *values)), hand)
    assert ("and its positions agree with these: give velocities" in str(refused.value)) == (per_period == 10)


@pytest.mark.parametrize("factor", [0.55, 0.8, 1.3, 1.8])
@pytest.mark.parametrize("quantity", ["velocity", "acceleration"])
def test_multiples_of_followers_are_contradictions(
    factor: float, quantity: str, hand: Robot, tmp_path: Path
) -> None:
    columns = {
        name: 10.0 * x
        for name, x in led(TIMES).items()
        if name == "position.lead" or not name.startswith("position")
    }
    read_motion(written(tmp_path / "m.csv", TIMES, columns), hand)
    columns[f"{quantity}.turn"] = factor * columns[f"{quantity}.turn"]
    with pytest.raises(DynError, match=rf"column '{quantity}\.turn': joint 'turn' has .*, but joint 'lead'"):
        read_motion(written(tmp_path / "m.csv", TIMES, columns), hand)


@pytest.mark.parametrize("every", [1, 2, 5, 10, 25, 50, 125])
def test_a_measured_log_is_no_contradiction(every: int, tmp_path: Path) -> None:
    """All samples of the UR10 log, and few; and twice its velocities are."""
    robot = ur10()
    log = dyn_core.read_log(dataset("ur10_unisa") / "ur10_exciting_trajectory.db3", robot=robot)
    t, q, qd = (np.asarray(x)[::every] for x in (log.time, log.q, log.qd))
    columns = {f"position.{name}": x for name, x in zip(robot.coordinate_names, q.T, strict=True)}
    columns |= {f"velocity.{name}": x for name, x in zip(robot.coordinate_names, qd.T, strict=True)}
    read_motion(written(tmp_path / "m.csv", t, columns), robot)
    if every <= 50:
        columns["velocity.elbow_joint"] = 1.3 * columns["velocity.elbow_joint"]
        with pytest.raises(DynError, match=r"column 'velocity\.elbow_joint'"):
            read_motion(written(tmp_path / "m.csv", t, columns), robot)


@pytest.mark.parametrize("every", [1, 10, 100])
@pytest.mark.parametrize("file", ["DATA_EMPS.mat", "DATA_EMPS_PULSES.mat"])
def test_a_measured_axis_is_no_contradiction(every: int, file: str, tmp_path: Path) -> None:
    """With velocities and accelerations that are differences of all its samples."""
    log = dyn_core.read_log(dataset("emps") / file, EMPS_MAP)
    t, q = np.asarray(log.time), np.asarray(log.q)[:, 0]
    qd = np.gradient(q, t)
    values = [x[::every] for x in (q, qd, np.gradient(qd, t))]
    names = ("position.screw", "velocity.screw", "acceleration.screw")
    robot = dyn_core.load_robot(EMPS_URDF)
    read_motion(written(tmp_path / "m.csv", t[::every], dict(zip(names, values, strict=True))), robot)
    spoilt = dict(zip(names, scaled(values, 1, 1.3), strict=True))
    with pytest.raises(DynError, match=r"column 'velocity\.screw'"):
        read_motion(written(tmp_path / "m.csv", t[::every], spoilt), robot)
