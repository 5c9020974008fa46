# SPDX-License-Identifier: Apache-2.0
"""From drive signals to joint signals by a map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from log_case import Motion, arm, assert_same, log_of, motion, write_csv
from refusals import refused

import dyn_core
from dyn_core import Log
from dyn_core.core.messages import Message
from dyn_core.logs.log import EFFORT, POSITION, TIME, VELOCITY, unit
from dyn_core.logs.recording import column_name

TURN = 2.0 * np.pi
M = motion()


def drives_csv(path: Path, m: Motion) -> Path:
    """Write signals of three drives: one in counts and A, and two that move a wrist together, in deg."""
    ratio, sign, C = np.array([101.0, -50.0, 80.0]), np.array([-1.0, 1.0, 1.0]), np.eye(3)
    C[2, 1], C[2, 2] = -1.0, 0.5
    q_a, qd_a, tau_a = m.q @ np.linalg.inv(C).T, m.qd @ np.linalg.inv(C).T, m.tau @ C
    # The power of the drives equals that of the joints.
    np.testing.assert_allclose((tau_a * qd_a).sum(axis=1), (m.tau * m.qd).sum(axis=1), atol=1e-9)
    q, qd, tau = sign * ratio * q_a, sign * ratio * qd_a, sign * tau_a / ratio
    positions = (q[:, 0] / TURN * 4096.0 + 1812.0, np.rad2deg(q[:, 1:]))
    efforts = (tau[:, 0] / 0.12, tau[:, 1] * 1e3, tau[:, 2] / 1.9 * 1000.0)
    table = np.column_stack([m.time * 1e3, *positions, *efforts, qd[:, 0] * 60.0 / TURN])
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
  elbow: {position: {column: enc 2, unit: deg}, effort: {column: m2, unit: mNm}, ratio: -50}
  wrist: {position: {column: enc 3, unit: deg}, effort: {column: load3, unit: permille, gain: 1.9}, ratio: 80}
coupling:
  - {joints: [elbow, wrist], matrix: [[1, 0], [-1, 0.5]]}
"""


def test_motor_side_to_joint_side(tmp_path: Path) -> None:
    path = drives_csv(tmp_path / "log.csv", M)
    (tmp_path / "map.yaml").write_text(MAP)
    log = dyn_core.read_log(path, tmp_path / "map.yaml")
    assert_same(log, M, 1e-10)
    assert log.qd is None
    coupled = ("elbow", "wrist")
    assert Message("motor-side-converted", joint="shoulder", ratio=-101.0) in log.done
    assert Message("drives-uncoupled", joints=coupled) in log.done
    assert Message("quantity-converted", quantity="position", joints=coupled, unit="deg") in log.done


def of(m: Motion, tau: np.ndarray | None = None, **mapping: object) -> Log:
    return log_of(m, mapping, qd=m.qd, tau=m.tau if tau is None else tau)


def test_joint_side_signals_are_not_divided_by_the_ratio() -> None:
    log = of(M, joints={"elbow": {"ratio": 50.0, "effort": {"side": "joint"}}})
    np.testing.assert_allclose(log.q[:, 1], M.q[:, 1] / 50.0)
    assert log.qd is not None
    np.testing.assert_allclose(log.qd[:, 1], M.qd[:, 1] / 50.0)
    np.testing.assert_array_equal(log.tau, M.tau)


def test_signs_and_zeros() -> None:
    effort = {"sign": -1, "zero": 2.0, "gain": 3.0}
    log = of(M, joints={"elbow": {"sign": -1, "position": {"zero": 0.5}, "effort": effort}})
    np.testing.assert_allclose(log.q[:, 1], -(M.q[:, 1] - 0.5))
    np.testing.assert_allclose(log.tau[:, 1], 3.0 * (M.tau[:, 1] - 2.0))


def test_a_screw_drives_a_prismatic_joint() -> None:
    text = '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/></inertial></link>'
    text += '<joint name="shoulder" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
    text += '<limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>'
    with pytest.warns(dyn_core.ModelWarning):
        robot = dyn_core.load_robot(text)
    ratio = TURN / 0.005
    mapping = {"joints": {"shoulder": {"ratio": ratio, "position": {"unit": "rad"}}}}
    one = replace(M, joints=M.joints[:1], q=M.q[:, :1], tau=M.tau[:, :1])
    log = log_of(one, mapping, robot, q=one.q * ratio, tau=one.tau / ratio)
    np.testing.assert_allclose(log.q, one.q)
    np.testing.assert_allclose(log.tau, one.tau)
    assert log.units == ("m",)


def test_units_of_positions_and_joints_that_are_ignored() -> None:
    for name, factor in {"rad": 1.0, "deg": TURN / 360.0, "rev": TURN, "mrad": 1e-3}.items():
        np.testing.assert_allclose(of(M, units={"position": name}).q, M.q * factor)
    log = of(M, ignore=["elbow"])
    assert log.joint_names == ("shoulder", "wrist")
    np.testing.assert_array_equal(log.q, M.q[:, [0, 2]])


@pytest.mark.parametrize(("steps", "by"), [(2, "all"), (2.5, "all"), (-3, "all"), (2, "column")])
def test_delays_are_removed(steps: float, by: str) -> None:
    """Efforts that are recorded some periods late belong to earlier positions."""
    period = float(M.time[1] - M.time[0])
    late = np.column_stack([np.interp(M.time - steps * period, M.time, column) for column in M.tau.T])
    delay = steps * period
    joints = {joint: {"effort": {"delay": delay}} for joint in M.joints}
    log = of(M, late, **({"delays": {"effort": delay}} if by == "all" else {"joints": joints}))
    first = round(max(-steps, 0.0))  # efforts before the first position are dropped
    expected = M.tau[first : first + len(log.time)]
    # Linear interpolation, twice where the delay is not a multiple of the period, has an error of 0.3 N m for
    # efforts with an amplitude of 125 N m at 3 Hz.
    atol = 1e-9 if steps % 1 == 0 else 0.5
    np.testing.assert_allclose(log.tau[20:-20], expected[20:-20], atol=atol)
    (step,) = (step for step in log.done if step.code == "delay-removed")
    assert (step.values["quantity"], step.values["least_ms"]) == ("effort", pytest.approx(1e3 * delay))


COUNTS = "position, counts_per_revolution"
IN_A_JOINT = [
    ("ratio: 0", "ratio", "ratio-zero", {}),
    ("ratio: x", "ratio", "node-not-finite", {"given": "x"}),
    ("sign: 2", "sign", "sign-invalid", {"given": 2.0}),
    ("effort: {gain: 0}", "effort, gain", "gain-zero", {}),
    ("effort: {unit: bar}", "effort, unit", "unit-unknown", {"given": "bar", "quantity": "effort"}),
    ("effort: {side: left}", "effort, side", "side-unknown", {"given": "left"}),
    ("position: {counts_per_revolution: -1}", COUNTS, "counts-not-positive", {}),
    ("position: {counts_per_revolution: 5, gain: 1}", COUNTS, "counts-with-gain", {}),
]
COUPLING = "coupling[0] (line 1)"
TWICE = "{joints: [a], matrix: [[1]]}"


@pytest.mark.parametrize(
    ("text", "place", "code", "values"),
    [
        ("joints: [a]", "joints (line 1)", "node-not-mapping", {}),
        ("joint: {}", "the map (line 1)", "entry-unknown", {"given": "joint"}),
        ("units: {position: N m}", "units, position (line 1)", "unit-unknown", {"given": "N m"}),
        ("time: {column: [a]}", "time, column (line 1)", "node-not-name", {}),
        ("coupling: [{joints: [a, b]}]", COUPLING, "map-entry-missing", {"entry": "matrix"}),
        ("coupling: [{joints: [a, b], matrix: [[1, 0]]}]", COUPLING, "coupling-shape", {"count": 2}),
        ("coupling: [{joints: [a, b], matrix: [[1, 1], [1, 1]]}]", COUPLING, "coupling-singular", {}),
        (f"coupling: [{TWICE}, {TWICE}]", None, "coupling-joint-repeated", {}),
        ("a: &x 1", "line 1", "yaml-anchor", {}),
        ("joints: {", None, "yaml-malformed-in-line", {"line_number": 1}),
        *((f"joints:\n  a: {{{x}}}", f"joint 'a', {at} (line 2)", *more) for x, at, *more in IN_A_JOINT),
    ],
)
def test_unusable_maps_are_refused(
    text: str, place: str | None, code: str, values: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(text)
    with refused(code, **values) as caught:
        dyn_core.read_log(tmp_path / "log.csv", path)
    assert caught.value.file == str(path)
    assert str(caught.value.place) == str(place)


ELBOW = {"position": "position.elbow", "effort": {"unit": "A"}}
TOE = [{"joints": ["elbow", "toe"], "matrix": [[1, 0], [0, 1]]}]
COUPLED = [{"joints": ["elbow", "wrist"], "matrix": [[1, 0], [1, 1]]}]
MIXED = {"coupling": COUPLED, "joints": {"elbow": {"effort": {"side": "joint"}}}}


@pytest.mark.parametrize(
    ("mapping", "code", "values"),
    [
        ({"joints": {"toe": {"ratio": 3.0}}}, "map-joint-not-in-log", {"unknown": ["toe"]}),
        ({"joints": {"elbow": {"position": "q"}}}, "map-column-unknown", {"column": "q"}),
        ({"joints": {"elbow": ELBOW}}, "map-column-missing", {"joint": "elbow", "quantity": "effort"}),
        ({"coupling": TOE}, "log-joint-unknown", {"entry": "coupling", "unknown": ["toe"]}),
        (MIXED, "coupling-sides-mixed", {"quantity": "effort", "joints": ["elbow", "wrist"]}),
        ({"units": {"position": "counts"}}, "position-gain-missing", {"joint": "shoulder", "unit": "counts"}),
        ({"units": {"effort": "A"}}, "effort-gain-missing", {"joint": "shoulder", "unit": "A"}),
        ({"units": {"effort": "%"}}, "effort-gain-missing", {"quantity": "effort"}),
    ],
)
def test_maps_that_do_not_fit_the_log(
    mapping: dict[str, object], code: str, values: dict[str, object]
) -> None:
    with refused(code, **values):
        of(M, **mapping)


def test_maps_that_do_not_fit_the_robot() -> None:
    mapping = {"joints": {"hip": {"position": "position.elbow", "effort": "effort.elbow"}}}
    with refused("map-joint-unknown", unknown=["hip"]):
        log_of(M, mapping, dyn_core.load_robot(arm(M.joints)))


@pytest.mark.parametrize(
    ("name", "quantity", "joint", "unit"),
    [
        *(("position.elbow", POSITION, "elbow", None), ("elbow_pos [deg]", POSITION, "elbow", "deg")),
        ("leftElbow_pos", POSITION, "leftElbow", None),
        ("/joint_states/elbow/effort", EFFORT, "elbow", None),
        *(("joint_states.position.elbow_joint", POSITION, "elbow_joint", None), ("q", POSITION, "", None)),
        *(("q1", POSITION, "1", None), ("TAU1", EFFORT, "1", None), ("tau[3]", EFFORT, "3", None)),
        *(("tau_J_0", EFFORT, "J_0", None), ("robot1.q.3", POSITION, "3", None)),
        *(("actual_qd_0", VELOCITY, "0", None), ("actual_current_0", EFFORT, "0", "A")),
        *(("current_2_A", EFFORT, "2", "A"), ("current_position_2", POSITION, "2", None)),
        *(("motor_position_3", POSITION, "3", None), ("jointPosition1", POSITION, "1", None)),
        ("MeasuredJointPos_A1 [rad]", POSITION, "A1", "rad"),
        *(("Axis 1 Position (deg)", POSITION, "Axis 1", "deg"), ("J1 torque (Nm)", EFFORT, "J1", "N m")),
        *(("measured torque J4 (N·m)", EFFORT, "J4", "N m"), ("torque_1_Nm", EFFORT, "1", "N m")),
        *(("velocity of joint 3", VELOCITY, "joint 3", None), ("dq2 (rad/s)", VELOCITY, "2", "rad/s")),
        *(("speed_3_rpm", VELOCITY, "3", "rev/min"), ("qdd3", "acceleration", "3", None)),
        *(("tau_cmd_2", EFFORT, "2", None), ("time", TIME, "", None), ("%time", TIME, "", None)),
        *(("__time", TIME, "", None), ("Time (s)", TIME, "", "s"), ("time_ms", TIME, "", "ms")),
        *(("stamp_ns", TIME, "", "ns"), ("field.header.stamp", TIME, "", None)),
    ],
)
def test_names_with_a_quantity_are_recognised(name: str, quantity: str, joint: str, unit: str | None) -> None:
    found = column_name(name)
    assert found is not None
    assert (found.quantity, found.joint, found.unit.name if found.unit else None) == (quantity, joint, unit)


def test_names_without_a_joint_quantity_are_not_recognised() -> None:
    nothing = ("", "vir", "shoulder_pan_joint", "temperature_1", "pose.position.x", "wrench.force.z", "42")
    others = ("ee_force_x", "actual_TCP_speed_0", "mode", "gain", "torque_z", "[deg]")
    assert [name for name in (*nothing, *others) if column_name(name) is not None] == []
    commands = ("target_q_0", "tau_cmd_2", "desired position 1", "position_error_3", "ref_vel_1")
    assert all(column_name(name).is_command for name in commands)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("quantity", "text", "name", "factor"),
    [
        *((POSITION, "degrees", "deg", 0.017453292519943295), (POSITION, "°", "deg", 0.017453292519943295)),
        *((VELOCITY, "rpm", "rev/min", 0.10471975511965977), (VELOCITY, "rad s^-1", "rad/s", 1.0)),
        *((VELOCITY, "mm/s", "mm/s", 1e-3), (EFFORT, "Nm", "N m", 1.0), (EFFORT, "N.m", "N m", 1.0)),
        *((EFFORT, "mNm", "mN m", 1e-3), (EFFORT, "kN", "kN", 1e3), (EFFORT, "mA", "mA", 1e-3)),
        *((TIME, "µs", "us", 1e-6), (TIME, "seconds", "s", 1.0)),
    ],
)
def test_units_are_recognised(quantity: str, text: str, name: str, factor: float) -> None:
    found = unit(quantity, text)
    assert found is not None
    assert (found.name, found.factor) == (name, pytest.approx(factor))
    assert (unit(POSITION, "N m"), unit(EFFORT, "deg"), unit(TIME, "m")) == (None, None, None)
