# SPDX-License-Identifier: Apache-2.0
"""Gains of PD controllers: what a simulated joint does with them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.control.joint_gains import fastest_rate, joint_gains
from dyn_core.control.tracking_error import together, tracking_error

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"

WHEEL = """
<robot name="wheel"><link name="base"/>
  <link name="disc"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="axle" type="continuous"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
    <dynamics damping="{damping}" friction="0"/></joint></robot>
"""


def wheel(inertia: float, damping: float = 0.0) -> dyn_core.Model:
    robot = dyn_core.load_robot(WHEEL.format(inertia=inertia, damping=damping))
    return dyn_core.compile_model(robot, backend="python")


def test_gains_by_hand() -> None:
    gains = joint_gains(wheel(2.0, damping=3.0), np.zeros((1, 1)), 0.5, 0.7)
    assert gains.kp[0] == pytest.approx(2.0 * math.pi**2)
    assert gains.kd[0] == pytest.approx(2.0 * 0.7 * math.pi * 2.0 - 3.0)
    assert gains.inertia[0] == pytest.approx(2.0)


@pytest.mark.parametrize("damping", [0.3, 1.0])
def test_the_error_goes_as_was_asked_for(damping: float) -> None:
    """The simulated wheel against the solution of the equation of second order."""
    model = wheel(0.5, damping=0.2)
    gains = joint_gains(model, np.zeros((1, 1)), 1.0, damping)
    step = 1e-4
    simulator = dyn_core.Simulator(model.robot, dyn_core.SimulationSettings(step=step), q=[0.1])
    w = 2.0 * math.pi
    for k in range(1, 10001):
        simulator.set_effort(-gains.kp * simulator.state.q - gains.kd * simulator.state.qd)
        simulator.step()
        t = k * step
        if damping == 1.0:
            expected = 0.1 * (1.0 + w * t) * math.exp(-w * t)
        else:
            wd = w * math.sqrt(1.0 - damping**2)
            decay = math.exp(-damping * w * t)
            expected = 0.1 * decay * (math.cos(wd * t) + damping * w / wd * math.sin(wd * t))
        # The torque is constant during a step: half a step of delay.
        assert simulator.state.q[0] == pytest.approx(expected, abs=1e-4)


def test_friction_that_damps_more_than_enough_asks_for_no_damping() -> None:
    light, heavy = (joint_gains(wheel(a, damping=5.0), np.zeros((1, 1)), 1.0) for a in (1e-3, 1.0))
    w = 2.0 * math.pi
    assert light.kd[0] == 0.0
    assert light.kp[0] == pytest.approx(5.0 * w / 2.0)
    assert heavy.kd[0] == pytest.approx(2.0 * w - 5.0)


def test_the_greatest_inertia_counts() -> None:
    robot = dyn_core.load_robot(str(ROBOTS / "rx90.urdf"))
    model = dyn_core.compile_model(robot)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 6))
    greatest = np.diagonal(model.inertia_matrix(q), axis1=1, axis2=2).max(0)
    gains = joint_gains(model, q, 500.0)  # so fast that friction does not count
    np.testing.assert_allclose(gains.inertia, greatest)
    assert joint_gains(model, q[:1], 500.0).inertia[1] < gains.inertia[1]


def test_the_fastest_rate_is_that_of_an_eigenvalue() -> None:
    model = dyn_core.compile_model(dyn_core.load_robot(str(ROBOTS / "rx90.urdf")))
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (7, 6))
    kd = np.array([500.0, 600.0, 0.0, 20.0, 1.0, 0.1])
    expected = max(
        np.linalg.eigvals(np.linalg.inv(A) @ np.diag(kd)).real.max() for A in model.inertia_matrix(q)
    )
    assert fastest_rate(model, q, kd) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("frequency", "damping"), [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (1.0, 0.0)])
def test_gains_of_no_frequency_are_refused(frequency: float, damping: float) -> None:
    with pytest.raises(dyn_core.DynError, match="give a finite number > 0"):
        joint_gains(wheel(1.0), np.zeros((1, 1)), frequency, damping)


def test_tracking_errors_by_hand() -> None:
    desired = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    measured = np.array([[1.0, 0.0], [2.0, 0.5], [3.0, 0.0], [8.0, 0.0]])
    error = tracking_error(desired, measured)
    assert error.rms.tolist() == [2.0, 0.25]
    assert error.greatest.tolist() == [4.0, 0.5]
    assert together(np.array([3.0, 4.0])) == pytest.approx(math.sqrt(12.5))


@pytest.mark.parametrize(("a", "b"), [((3, 2), (3, 3)), ((0, 2), (0, 2)), ((3,), (3,))])
def test_errors_of_nothing_are_refused(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected two shapes"):
        tracking_error(np.zeros(a), np.zeros(b))
