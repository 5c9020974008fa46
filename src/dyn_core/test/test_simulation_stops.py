# SPDX-License-Identifier: Apache-2.0
"""Joints at the limits of their positions, and efforts at theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sliders import block, two_links

import dyn_core
from dyn_core import SimulationSettings, Simulator

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
METHODS = ("rk4", "semi_implicit_euler")


def simulator(robot: dyn_core.Robot, integrator: str, step: float = 1e-3, **options) -> Simulator:
    state = {name: options.pop(name) for name in ("q", "qd") if name in options}
    return Simulator(robot, SimulationSettings(step=step, integrator=integrator, **options), **state)


@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("friction", [0.0, 1.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_block_stops_at_its_stop_and_leaves_it(integrator: str, friction: float, side: float) -> None:
    one = simulator(block(friction=friction, limits=(-0.5, 0.5)), integrator, qd=[3.0 * side])
    one.set_effort([10.0 * side])
    for _ in range(400):
        state = one.step()
        assert abs(state.q[0]) <= 0.5
    assert (state.q[0], state.qd[0]) == (0.5 * side, 0.0)
    assert one.at_stop == ("slide",)
    assert one.acceleration[0] == 0.0
    one.set_effort([-(friction + 1.0) * side])
    for _ in range(100):
        state = one.step()
    assert state.qd[0] == pytest.approx(-0.05 * side, rel=1e-9)
    assert one.at_stop == ()


def test_a_stop_is_met_at_its_time() -> None:
    """0.5 m at 3 m/s: the block is there after 1/6 s, then pulled back by 4 N from there on."""
    one = simulator(block(limits=(-1.0, 0.5)), "rk4", step=0.05, qd=[3.0])
    for _ in range(4):
        state = one.step()
    assert (state.q[0], state.qd[0]) == (0.5, 0.0)
    assert state.time == pytest.approx(0.2)


@pytest.mark.parametrize("integrator", METHODS)
def test_an_impact_takes_what_the_inertia_matrix_says(integrator: str) -> None:
    """The elbow runs into its stop: the shoulder gets an impulse, A (v+ - v) = (0, p)."""
    narrow = '<limit lower="-0.2" upper="0.2" velocity="99" effort="999"/>'
    robot = dyn_core.load_robot(dyn_core.write_urdf(two_links(second=narrow)), gravity=(0.0, 0.0, 0.0))
    start = {"q": [0.3, 0.2], "qd": [0.5, 2.0]}
    one = simulator(robot, integrator, step=1e-6, **start)
    A = dyn_core.compile_model(robot).inertia_matrix(start["q"])
    v = np.array(start["qd"])
    p = -v[1] / np.linalg.inv(A)[1, 1]
    expected = v + np.linalg.solve(A, [0.0, p])
    state = one.step()
    np.testing.assert_allclose(state.qd, expected, atol=1e-5)
    np.testing.assert_allclose(state.q, start["q"], atol=1e-5)


@pytest.mark.parametrize("integrator", METHODS)
def test_an_arm_that_falls_lies_on_its_stops_and_gains_no_energy(integrator: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    one = simulator(robot, integrator, q=[0.0, 1.0, 0.2, 0.3, 0.5, 0.1], friction=False)
    model = dyn_core.compile_model(robot, friction=False)
    lower, upper = (np.array([getattr(j.limits, name) for j in robot.joints]) for name in ("lower", "upper"))
    last = None
    for k in range(3000):
        state = one.step()
        assert (state.q >= lower).all()
        assert (state.q <= upper).all()
        if k % 100 == 0:
            # The potential by its gradient would need a path: its heights are those of the links.
            total = 0.5 * state.qd @ model.inertia_matrix(state.q) @ state.qd + potential(robot, state.q)
            assert last is None or total <= last + (1e-3 if integrator == "rk4" else 2.0)
            last = total
    assert one.at_stop


def potential(robot: dyn_core.Robot, q: np.ndarray) -> float:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML((ROBOTS / "rx90.urdf").read_text())
    ids = [model.getJointId(name) for name in robot.joint_names]
    assert [model.joints[i].idx_q for i in ids] == list(range(6))
    return float(pin.computePotentialEnergy(model, model.createData(), q))


def test_without_limits_a_block_goes_on() -> None:
    one = simulator(block(limits=(-0.5, 0.5)), "rk4", qd=[3.0], position_limits=False)
    for _ in range(1000):
        state = one.step()
    assert state.q[0] == pytest.approx(3.0)
    assert one.at_stop == ()


def test_efforts_are_cut_at_their_limits_only_if_this_is_wanted() -> None:
    robot = block(effort=4.0)
    one = simulator(robot, "rk4")
    one.set_effort([-10.0])
    assert (one.command[0], one.effort[0], one.acceleration[0]) == (-10.0, -4.0, -2.0)
    assert one.at_effort_limit == ("slide",)
    one.set_effort([4.0])
    assert one.at_effort_limit == ()
    free = simulator(robot, "rk4", effort_limits=False)
    free.set_effort([-10.0])
    assert free.acceleration[0] == -5.0
    assert free.at_effort_limit == ()


def test_speeds_beyond_the_limit_are_reported_and_not_enforced() -> None:
    one = simulator(dyn_core.load_robot(ROBOTS / "rrp.urdf"), "rk4", qd=[100.0, 0.0, -100.0])
    assert one.too_fast == ("turn", "stretch")
    assert one.state.qd[0] == 100.0


def test_initial_positions_are_between_the_limits() -> None:
    robot = block(limits=(0.2, 0.5))
    assert Simulator(robot).state.q[0] == 0.2
    for q in ([0.1], [0.6]):
        with pytest.raises(
            dyn_core.DynError, match=r"the position 0\.\d m of joint 'slide' is not between its"
        ):
            Simulator(robot, q=q)
    one = Simulator(robot, SimulationSettings(position_limits=False), q=[0.1])
    assert one.step().q[0] == 0.1
