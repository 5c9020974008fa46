# SPDX-License-Identifier: Apache-2.0
"""What the names of columns say."""

from __future__ import annotations

import pytest

from dyn_core.logs.recording import column_name
from dyn_core.logs.units import EFFORT, POSITION, TIME, VELOCITY, unit

ACCELERATION = "acceleration"


@pytest.mark.parametrize(
    ("name", "quantity", "joint", "unit"),
    [
        ("position.elbow", POSITION, "elbow", None),
        ("elbow_pos [deg]", POSITION, "elbow", "deg"),
        ("leftElbow_pos", POSITION, "leftElbow", None),
        ("/joint_states/elbow/effort", EFFORT, "elbow", None),
        ("joint_states.position.elbow_joint", POSITION, "elbow_joint", None),
        ("q", POSITION, "", None),
        ("q1", POSITION, "1", None),
        ("TAU1", EFFORT, "1", None),
        ("tau[3]", EFFORT, "3", None),
        ("tau_J_0", EFFORT, "J_0", None),
        ("robot1.q.3", POSITION, "3", None),
        ("actual_qd_0", VELOCITY, "0", None),
        ("actual_current_0", EFFORT, "0", "A"),
        ("current_2_A", EFFORT, "2", "A"),
        ("current_position_2", POSITION, "2", None),
        ("motor_position_3", POSITION, "3", None),
        ("jointPosition1", POSITION, "1", None),
        ("MeasuredJointPos_A1 [rad]", POSITION, "A1", "rad"),
        ("Axis 1 Position (deg)", POSITION, "Axis 1", "deg"),
        ("J1 torque (Nm)", EFFORT, "J1", "N m"),
        ("measured torque J4 (N·m)", EFFORT, "J4", "N m"),
        ("torque_1_Nm", EFFORT, "1", "N m"),
        ("velocity of joint 3", VELOCITY, "joint 3", None),
        ("dq2 (rad/s)", VELOCITY, "2", "rad/s"),
        ("speed_3_rpm", VELOCITY, "3", "rev/min"),
        ("qdd3", ACCELERATION, "3", None),
        ("tau_cmd_2", EFFORT, "2", None),
        ("time", TIME, "", None),
        ("%time", TIME, "", None),
        ("__time", TIME, "", None),
        ("Time (s)", TIME, "", "s"),
        ("time_ms", TIME, "", "ms"),
        ("stamp_ns", TIME, "", "ns"),
        ("field.header.stamp", TIME, "", None),
    ],
)
def test_names_that_say_what_they_are(name: str, quantity: str, joint: str, unit: str | None) -> None:
    found = column_name(name)
    assert found is not None
    assert (found.quantity, found.joint) == (quantity, joint)
    assert (found.unit.name if found.unit else None) == unit


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "vir",
            "shoulder_pan_joint",
            "temperature_1",
            "pose.position.x",
            "wrench.force.z",
            "ee_force_x",
        ),
        *("actual_TCP_speed_0", "mode", "gain", "torque_z", "42", "[deg]"),
    ],
)
def test_names_that_say_nothing_of_joints(name: str) -> None:
    assert column_name(name) is None


@pytest.mark.parametrize(
    "name", ["target_q_0", "tau_cmd_2", "desired position 1", "position_error_3", "ref_vel_1"]
)
def test_names_of_what_nobody_measured(name: str) -> None:
    found = column_name(name)
    assert found is not None
    assert found.is_wanted


@pytest.mark.parametrize(
    ("quantity", "text", "name", "factor"),
    [
        (POSITION, "degrees", "deg", 0.017453292519943295),
        (POSITION, "°", "deg", 0.017453292519943295),
        (VELOCITY, "rpm", "rev/min", 0.10471975511965977),
        (VELOCITY, "rad s^-1", "rad/s", 1.0),
        (VELOCITY, "mm/s", "mm/s", 1e-3),
        (EFFORT, "Nm", "N m", 1.0),
        (EFFORT, "N.m", "N m", 1.0),
        (EFFORT, "mNm", "mN m", 1e-3),
        (EFFORT, "kN", "kN", 1e3),
        (EFFORT, "mA", "mA", 1e-3),
        (TIME, "µs", "us", 1e-6),
        (TIME, "seconds", "s", 1.0),
    ],
)
def test_units(quantity: str, text: str, name: str, factor: float) -> None:
    found = unit(quantity, text)
    assert found is not None
    assert found.name == name
    assert found.factor == pytest.approx(factor)


def test_units_of_other_quantities() -> None:
    assert unit(POSITION, "N m") is None
    assert unit(EFFORT, "deg") is None
    assert unit(TIME, "m") is None
