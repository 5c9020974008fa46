# SPDX-License-Identifier: Apache-2.0
"""From what drives measure to what joints do, as a map says it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from log_case import Motion, arm, motion, write_csv

import dyn_core
from dyn_core import DynError, Log

TURN = 2.0 * np.pi


@pytest.fixture(scope="module")
def m() -> Motion:
    return motion()


def drives_csv(path: Path, m: Motion) -> Path:
    """Write what three drives measure: one in counts and A, and two that move a wrist together, in deg."""
    ratio, sign, C = np.array([101.0, -50.0, 80.0]), np.array([-1.0, 1.0, 1.0]), np.eye(3)
    C[2, 1], C[2, 2] = -1.0, 0.5
    q_a = m.q @ np.linalg.inv(C).T
    qd_a = m.qd @ np.linalg.inv(C).T
    tau_a = m.tau @ C
    # The power of the drives is that of the joints.
    np.testing.assert_allclose((tau_a * qd_a).sum(axis=1), (m.tau * m.qd).sum(axis=1), atol=1e-9)
    motor = sign * ratio * q_a
    table = np.column_stack(
        [
            m.time * 1e3,
            motor[:, 0] / TURN * 4096.0 + 1812.0,
            np.rad2deg(motor[:, 1:]),
            (sign * tau_a / ratio)[:, 0] / 0.12,
            (sign * tau_a / ratio)[:, 1] * 1e3,
            tau_a[:, 2] / 80.0 / 1.9 * 1000.0,
            (sign * ratio * qd_a)[:, 0] * 60.0 / TURN,
        ]
    )
    return write_csv(path, table, ["ticks", "enc 1", "enc 2", "enc 3", "i1", "m2", "load3", "w1"], digits=15)


MAP = """
time: {column: ticks, unit: ms}
joints:
  shoulder:
    position: {column: enc 1, unit: counts, counts_per_revolution: 4096, zero: 1812}
    velocity: {column: w1, unit: rpm}
    effort: {column: i1, unit: A, gain: 0.12}
    ratio: 101
    sign: -1
  elbow:
    position: {column: enc 2, unit: deg}
    effort: {column: m2, unit: mNm}
    ratio: -50
  wrist:
    position: {column: enc 3, unit: deg}
    effort: {column: load3, unit: permille, gain: 1.9}
    ratio: 80
coupling:
  - {joints: [elbow, wrist], matrix: [[1, 0], [-1, 0.5]]}
"""


def test_motor_side_to_joint_side(m: Motion, tmp_path: Path) -> None:
    path = drives_csv(tmp_path / "log.csv", m)
    (tmp_path / "map.yaml").write_text(MAP)
    log = dyn_core.read_log(path, tmp_path / "map.yaml")
    assert log.joint_names == m.joints
    np.testing.assert_allclose(log.time, m.time, atol=1e-9)
    np.testing.assert_allclose(log.q, m.q, atol=1e-9)
    np.testing.assert_allclose(log.tau, m.tau, atol=1e-8)
    assert log.qd is None
    assert "joint 'shoulder': motor side to joint side, ratio -101" in log.done
    assert "drives of 'elbow', 'wrist' uncoupled" in log.done
    assert "position of 'elbow', 'wrist' converted from deg" in log.done


def of(m: Motion, tau: np.ndarray | None = None, **mapping: object) -> Log:
    return dyn_core.log_of_arrays(m.joints, m.time, m.q, m.tau if tau is None else tau, m.qd, mapping)


def test_signals_on_the_side_of_the_joint_skip_the_ratio(m: Motion) -> None:
    log = of(m, joints={"elbow": {"ratio": 50.0, "effort": {"side": "joint"}}})
    np.testing.assert_allclose(log.q[:, 1], m.q[:, 1] / 50.0)
    assert log.qd is not None
    np.testing.assert_allclose(log.qd[:, 1], m.qd[:, 1] / 50.0)
    np.testing.assert_array_equal(log.tau, m.tau)


def test_signs_and_zeros(m: Motion) -> None:
    joints = {
        "elbow": {"sign": -1, "position": {"zero": 0.5}, "effort": {"sign": -1, "zero": 2.0, "gain": 3.0}}
    }
    log = of(m, joints=joints)
    np.testing.assert_allclose(log.q[:, 1], -(m.q[:, 1] - 0.5))
    np.testing.assert_allclose(log.tau[:, 1], 3.0 * (m.tau[:, 1] - 2.0))


def test_a_screw_drives_a_prismatic_joint(m: Motion) -> None:
    text = '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/></inertial></link>'
    text += '<joint name="shoulder" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
    text += '<limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>'
    with pytest.warns(dyn_core.ModelWarning):
        robot = dyn_core.load_robot(text)
    ratio = TURN / 0.005
    log = dyn_core.log_of_arrays(
        m.joints[:1],
        m.time,
        m.q[:, :1] * ratio,
        m.tau[:, :1] / ratio,
        mapping={"joints": {"shoulder": {"ratio": ratio, "position": {"unit": "rad"}}}},
        robot=robot,
    )
    np.testing.assert_allclose(log.q, m.q[:, :1])
    np.testing.assert_allclose(log.tau, m.tau[:, :1])
    assert log.units == ("m",)


@pytest.mark.parametrize("unit", ["rad", "deg", "rev", "mrad", "counts"])
def test_raw_units_need_a_gain(m: Motion, unit: str) -> None:
    if unit != "counts":
        assert of(m, units={"position": unit}).q.shape == m.q.shape
        return
    with pytest.raises(
        DynError, match="joint 'shoulder': its position is in counts: give a map with counts_per"
    ):
        of(m, units={"position": unit})


def test_currents_need_a_gain(m: Motion) -> None:
    with pytest.raises(
        DynError,
        match=r"joint 'shoulder': its effort is in A: give a map with a gain: the torque of the motor",
    ):
        of(m, units={"effort": "A"})
    with pytest.raises(DynError, match=r"its effort is in %: give a map with a gain: the torque for 100 %"):
        of(m, units={"effort": "%"})


@pytest.mark.parametrize(("steps", "by"), [(2, "all"), (2.5, "all"), (-3, "all"), (2, "column")])
def test_delays(m: Motion, steps: float, by: str) -> None:
    """Efforts that are recorded some periods late belong to positions from before."""
    period = float(m.time[1] - m.time[0])
    late = np.column_stack([np.interp(m.time - steps * period, m.time, column) for column in m.tau.T])
    delay = steps * period
    joints = {joint: {"effort": {"delay": delay}} for joint in m.joints}
    log = of(m, late, **({"delays": {"effort": delay}} if by == "all" else {"joints": joints}))
    first = round(max(-steps, 0.0))  # what was recorded before belongs to positions that were not
    expected = m.tau[first : first + len(log.time)]
    # Straight lines between samples, twice where the delay is no multiple of the period, are off by 0.3 N m
    # where efforts go up and down by 125 N m three times a second.
    atol = 1e-9 if steps % 1 == 0 else 0.5
    np.testing.assert_allclose(log.tau[20:-20], expected[20:-20], atol=atol)
    assert any(f"taken as {1e3 * delay:g} ms earlier than recorded" in sentence for sentence in log.done)


def test_joints_that_are_ignored(m: Motion) -> None:
    log = of(m, ignore=["elbow"])
    assert log.joint_names == ("shoulder", "wrist")
    np.testing.assert_array_equal(log.q, m.q[:, [0, 2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("joints: [a]", "joints (line 1): it must be a mapping, as in 'name: value'"),
        ("joint: {}", "the map (line 1): it has no entry 'joint': use 'time', 'topic', 'units', 'delays'"),
        ("joints:\n  a: {ratio: 0}", "joint 'a', ratio (line 2): it is 0: give the turns of the motor"),
        ("joints:\n  a: {ratio: x}", "joint 'a', ratio (line 2): it is 'x': write a finite number"),
        ("joints:\n  a: {sign: 2}", "joint 'a', sign (line 2): it is 2: use 1 or -1"),
        (
            "joints:\n  a: {effort: {gain: 0}}",
            "joint 'a', effort, gain (line 2): it is 0: nothing would be left",
        ),
        (
            "joints:\n  a: {effort: {unit: bar}}",
            "joint 'a', effort, unit (line 2): 'bar' is no unit of effort: use",
        ),
        (
            "joints:\n  a: {effort: {side: left}}",
            "joint 'a', effort, side (line 2): it is 'left': use motor or joint",
        ),
        (
            "units: {position: N m}",
            "units, position (line 1): 'N m' is no unit of position: use 'rad', 'mrad'",
        ),
        ("coupling: [{joints: [a, b]}]", "coupling[0] (line 1): it has no matrix: add it"),
        (
            "coupling: [{joints: [a, b], matrix: [[1, 0]]}]",
            "coupling[0] (line 1): it must have 2 rows of 2 numbers, one a joint",
        ),
        (
            "coupling: [{joints: [a, b], matrix: [[1, 1], [1, 1]]}]",
            "coupling[0] (line 1): it is singular: some motion of the drives would not move the joints",
        ),
        (
            "coupling: [{joints: [a], matrix: [[1]]}, {joints: [a], matrix: [[1]]}]",
            "coupling: 'a' is there twice: give one matrix for all joints that move together",
        ),
        ("time: {column: [a]}", "time, column (line 1): it must be a name"),
        ("joints: {a: {position: {counts_per_revolution: -1}}}", "it is -1: give a number above 0"),
        ("joints: {a: {position: {counts_per_revolution: 5, gain: 1}}}", "give it or a gain, not both"),
        ("a: &x 1", "anchors and aliases"),
        ("joints: {", "malformed YAML"),
    ],
)
def test_maps_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(text)
    with pytest.raises(DynError) as caught:
        dyn_core.read_log(tmp_path / "log.csv", path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (
            {"joints": {"toe": {"ratio": 3.0}}},
            "the map names 'toe', but the joints of the log are 'shoulder', 'elbow'",
        ),
        (
            {"joints": {"elbow": {"position": "q", "effort": "effort.elbow"}}},
            "there is no column 'q': there are 'position.shoulder', 'position.elbow'",
        ),
        (
            {"joints": {"elbow": {"position": "position.elbow", "effort": {"unit": "A"}}}},
            "joint 'elbow', effort: the map names no column for it: add one",
        ),
        (
            {"coupling": [{"joints": ["elbow", "toe"], "matrix": [[1, 0], [0, 1]]}]},
            "coupling: the log has no joint 'toe': its joints are 'shoulder', 'elbow', 'wrist'",
        ),
        (
            {
                "coupling": [{"joints": ["elbow", "wrist"], "matrix": [[1, 0], [1, 1]]}],
                "joints": {"elbow": {"effort": {"side": "joint"}}},
            },
            "the effort of some is on the side of the joint and that of others is not: give all on one side",
        ),
    ],
)
def test_maps_that_do_not_fit_the_log(m: Motion, mapping: dict[str, object], message: str) -> None:
    with pytest.raises(DynError) as caught:
        of(m, **mapping)
    assert message in str(caught.value)


def test_maps_and_robots(m: Motion) -> None:
    robot = dyn_core.load_robot(arm(m.joints))
    mapping = {"joints": {"hip": {"position": "position.elbow", "effort": "effort.elbow"}}}
    with pytest.raises(
        DynError, match="the map names 'hip', but the joints of the robot are 'shoulder', 'elbow'"
    ):
        dyn_core.log_of_arrays(m.joints, m.time, m.q, m.tau, mapping=mapping, robot=robot)
