# SPDX-License-Identifier: Apache-2.0
"""Joints held by friction and stops, and limited efforts, against results by hand and each joint's law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from extrapolation import integrated
from pinocchio_oracle import Oracle
from planar_chains import block, two_links
from properties import examples, given, st
from refusals import refused
from robots import ROBOTS, example
from simulated_motion import METHODS, run, simulator

import dyn_core
from dyn_core import Simulator
from dyn_core.simulation.integrators.complementarity import HoldPoints, resolve
from dyn_core.simulation.integrators.integration_step import stop_torques

Q = np.array([0.1, 0.7, 0.2, 0.3, 0.5, 0.1])
NO_GRAVITY = (0.0, 0.0, 0.0)
WIDE = '<limit lower="-9" upper="9" velocity="99" effort="999"/>'


@examples(150)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4))
def test_the_solution_obeys_the_law_of_each_joint(seed: int, n: int) -> None:
    """``M a = b + r`` has exactly one solution, as M is positive definite and each law is monotonic."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    M = root @ root.T + 10.0 ** random.uniform(-2, 0) * np.eye(n)
    b = random.normal(size=n) * random.choice([0.1, 1.0, 10.0])
    Fs = np.where(random.random(n) < 0.3, 0.0, random.uniform(0.0, 2.0, n))
    lower = np.where(random.random(n) < 0.5, -np.inf, -random.uniform(0.0, 2.0, n))
    upper = np.where(random.random(n) < 0.5, np.inf, random.uniform(0.0, 2.0, n))
    middle = random.choice([0.0, -0.5, 0.7, np.inf, -np.inf], n)
    middle = np.where(Fs > 0.0, np.clip(middle, lower, upper), lower)
    places = HoldPoints(lower.tolist(), middle.tolist(), upper.tolist(), Fs.tolist())

    def respond(free, given, friction):
        free, given, friction = np.array(free) > 0.0, np.array(given), np.array(friction)
        a = given.copy()
        a[free] = np.linalg.solve(M[np.ix_(free, free)], (b + friction - M @ given)[free])
        return a.tolist(), np.where(free, 0.0, M @ a - b).tolist()

    a, free, reaction = map(np.array, resolve(respond, places))
    close = 1e-8 * max(1.0, np.abs(b).max())
    np.testing.assert_allclose(M @ a, b + reaction, atol=close)
    least = np.where(a == upper, -np.inf, np.where(a >= middle, -Fs, Fs))
    most = np.where(a == lower, np.inf, np.where(a <= middle, Fs, -Fs))
    assert ((lower <= a) & (a <= upper) & (least - close <= reaction) & (reaction <= most + close)).all()
    assert ((free > 0.0) | (a == lower) | (a == middle) | (a == upper)).all()


@pytest.mark.parametrize("integrator", METHODS)
def test_a_block_at_rest_stays_exactly_where_it_is_up_to_its_friction(integrator: str) -> None:
    for effort in (0.0, 2.9, -3.0, 3.0):
        one = simulator(block(friction=3.0), integrator, q=[0.123456789])
        one.set_effort([effort])
        for _ in range(200):
            state = one.step()
            assert (state.q[0], state.qd[0]) == (0.123456789, 0.0)
        assert one.acceleration[0] == 0.0
    for effort, expected in ((3.01, 0.005), (-3.01, -0.005), (7.0, 2.0)):
        one = simulator(block(friction=3.0), integrator)
        one.set_effort([effort])
        assert one.acceleration[0] == pytest.approx(expected)
        assert run(one, 100).qd[0] == pytest.approx(0.1 * expected, rel=1e-9)
    robot = block(friction=3.0).with_parameters({"Fo1": 1.0})  # an offset acts like an effort
    for effort, moves in ((-2.0, False), (4.0, False), (-2.1, True), (4.1, True)):
        assert bool(run(simulator(robot, integrator), 1, [effort]).qd[0]) is moves, effort


def test_a_sliding_block_stops_at_the_right_time_and_place() -> None:
    """2 kg at 1 m/s against 3 N stop after 2/3 s, at 1/3 m, to within a step.

    With an effort of -5 N it stops after 0.25 s, then goes back with 1 m/s^2.
    """
    one = simulator(block(friction=3.0), "rk4", step=0.03, qd=[1.0])
    states = [one.step() for _ in range(40)]
    assert [state.qd[0] for state in states[22:]] == [0.0] * 18
    assert states[21].qd[0] == pytest.approx(1.0 - 1.5 * 0.66, abs=1e-12)
    assert states[-1].q[0] == pytest.approx(1.0 / 3.0, abs=1e-12)
    state = run(simulator(block(friction=3.0), "rk4", step=0.03, qd=[1.0]), 20, [-5.0])
    assert state.qd[0] == pytest.approx(-(0.6 - 0.25), abs=1e-12)
    assert state.q[0] == pytest.approx(0.125 - 0.5 * 0.35**2, abs=1e-12)


@pytest.mark.parametrize("integrator", METHODS)
def test_friction_does_not_chatter_under_a_varying_effort(integrator: str) -> None:
    """In each half period the block slides from the breakaway until its momentum is used up."""
    one = simulator(block(friction=3.0), integrator)
    flips, before = 0, 0.0
    for k in range(2100):
        now = float(np.sign(run(one, 1, [5.0 * np.sin(2.0 * np.pi * k * 1e-3)]).qd[0]))
        flips += now != before
        before = now
    assert flips == 8  # away, at rest, back, at rest; twice


@pytest.mark.parametrize("integrator", METHODS)
def test_an_arm_rests_while_friction_can_hold_it(integrator: str) -> None:
    robot = example("rx90")
    Fs = np.array([joint.friction.Fs for joint in robot.joints])
    held = dyn_core.compile_model(robot).gravity_torques(Q)
    one = simulator(robot, integrator, q=Q)
    random = np.random.default_rng(5)
    for _ in range(300):
        state = run(one, 1, held + Fs * random.uniform(-1.0, 1.0, 6))
        np.testing.assert_array_equal((state.q, state.qd), (Q, 0.0 * Q))
    assert run(one, 1, held + np.array([0.0, 0.0, 1.01, 0.0, 0.0, 0.0]) * Fs).qd[2] > 0.0


def test_a_moving_joint_pulls_at_a_resting_joint() -> None:
    """The elbow is driven; the shoulder rests only while the coupling torque is below its friction."""
    weightless = replace(two_links(first=f'{WIDE}<dynamics friction="30"/>'), gravity=NO_GRAVITY)
    A = dyn_core.compile_model(weightless).inertia_matrix([0.0, 0.0])
    for effort, moves in ((10.0, False), (20.0, True)):
        asked = A[0, 1] / A[1, 1] * effort  # holds the shoulder against the motion of the elbow
        assert bool(asked > 30.0) is moves
        one = simulator(weightless, "rk4")
        one.set_effort([0.0, effort])
        # The shoulder moves back, so friction acts forward.
        expected = np.linalg.solve(A, [30.0, effort]) if moves else [0.0, effort / A[1, 1]]
        np.testing.assert_allclose(one.acceleration, expected, rtol=1e-9)


@pytest.mark.parametrize("integrator", METHODS)
def test_sliding_friction_agrees_with_the_model(integrator: str) -> None:
    """Against an independent integration of the equations, while no joint comes to rest."""
    robot = example("rx90")
    robot = robot.with_rotor_inertias(dict.fromkeys(robot.joint_names, 0.1))
    model = dyn_core.compile_model(robot, backend="python")
    qd = np.array([1.0, -1.0, 1.5, 2.0, -2.0, 3.0])
    tau = model.inverse_dynamics(Q, qd, np.zeros(6))

    def derivative(x: np.ndarray) -> np.ndarray:
        return np.concatenate((x[6:], model.forward_dynamics(x[:6], x[6:], tau)))

    expected = integrated(derivative, np.concatenate((Q, qd)), 0.1, steps=20)
    state = run(simulator(robot, integrator, q=Q, qd=qd), 100, tau)
    assert (np.sign(expected[6:]) == np.sign(qd)).all()
    tolerance = 1e-9 if integrator == "rk4" else 5e-3
    np.testing.assert_allclose(np.concatenate((state.q, state.qd)), expected, atol=tolerance)


def test_both_integrators_agree_on_a_swing_that_comes_to_rest() -> None:
    """Stiction, stops and coupling by two independent methods; the first-order one converges."""
    ends = []
    for integrator, step in (("rk4", 1e-3), ("semi_implicit_euler", 1e-3), ("semi_implicit_euler", 1e-4)):
        state = run(simulator(example("rx90"), integrator, step=step, q=Q), round(2.0 / step))
        np.testing.assert_array_equal(state.qd, 0.0)
        ends.append(state.q)
    coarse, fine = (np.abs(end - ends[0]).max() for end in ends[1:])
    assert fine < min(2e-3, 0.2 * coarse)


def test_friction_of_a_mimic_joint_acts_through_its_multiplier() -> None:
    first, second = f'{WIDE}<dynamics friction="1"/>', f'{WIDE}<dynamics friction="2" damping="0.5"/>'
    robot = two_links(first, second, '<mimic joint="shoulder" multiplier="-3"/>')
    weightless = replace(robot, gravity=NO_GRAVITY)
    assert weightless.dof == 1
    for integrator in METHODS:
        for effort, moves in ((6.99, False), (7.01, True)):
            assert bool(run(simulator(weightless, integrator), 1, [effort]).qd[0]) is moves
    one = simulator(weightless, "rk4", qd=[0.8])
    model = dyn_core.compile_model(weightless)
    np.testing.assert_allclose(one.acceleration, model.forward_dynamics([0.0], [0.8], [0.0]), rtol=1e-12)


@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("friction", [0.0, 1.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_block_is_held_by_its_stop_and_can_leave_it(integrator: str, friction: float, side: float) -> None:
    one = simulator(block(friction=friction, limits=(-0.5, 0.5)), integrator, qd=[3.0 * side])
    one.set_effort([10.0 * side])
    for _ in range(400):
        state = one.step()
        assert abs(state.q[0]) <= 0.5
    assert (state.q[0], state.qd[0], one.acceleration[0]) == (0.5 * side, 0.0, 0.0)
    assert one.at_stop == ("slide",)
    assert run(one, 100, [-(friction + 1.0) * side]).qd[0] == pytest.approx(-0.05 * side, rel=1e-9)
    assert one.at_stop == ()


def test_a_stop_is_reached_at_the_right_time() -> None:
    """0.5 m at 3 m/s take 1/6 s. Without limits the block goes on."""
    state = run(simulator(block(limits=(-1.0, 0.5)), "rk4", step=0.05, qd=[3.0]), 4)
    assert (state.q[0], state.qd[0], state.time) == (0.5, 0.0, pytest.approx(0.2))
    one = simulator(block(limits=(-0.5, 0.5)), "rk4", qd=[3.0], position_limits=False)
    assert (run(one, 1000).q[0], one.at_stop) == (pytest.approx(3.0), ())


@pytest.mark.parametrize("integrator", METHODS)
def test_the_impulse_of_an_impact_follows_the_inertia_matrix(integrator: str) -> None:
    """The elbow hits its stop, and the shoulder gets an impulse: A (v+ - v) = (0, p)."""
    narrow = '<limit lower="-0.2" upper="0.2" velocity="99" effort="999"/>'
    robot = replace(two_links(second=narrow), gravity=NO_GRAVITY)
    q, v = [0.3, 0.2], np.array([0.5, 2.0])
    A = dyn_core.compile_model(robot).inertia_matrix(q)
    p = -v[1] / np.linalg.inv(A)[1, 1]
    state = simulator(robot, integrator, step=1e-6, q=q, qd=v).step()
    np.testing.assert_allclose(state.qd, v + np.linalg.solve(A, [0.0, p]), atol=1e-5)
    np.testing.assert_allclose(state.q, q, atol=1e-5)


@pytest.mark.parametrize("integrator", METHODS)
def test_a_falling_arm_rests_on_its_stops_and_gains_no_energy(integrator: str) -> None:
    robot = example("rx90")
    one = simulator(robot, integrator, q=[0.0, 1.0, 0.2, 0.3, 0.5, 0.1], friction=False)
    lower, upper = np.array([(j.limits.lower, j.limits.upper) for j in robot.joints]).T
    oracle = Oracle((ROBOTS / "rx90.urdf").read_text(), robot.joint_names, robot.gravity)
    last = np.inf
    for k in range(3000):
        state = one.step()
        assert ((lower <= state.q) & (state.q <= upper)).all()
        if k % 100 == 0:
            total = oracle.energy(state.q, state.qd)
            assert total <= last + (1e-3 if integrator == "rk4" else 2.0)
            last = total
    assert one.at_stop


def test_efforts_are_limited_only_on_request() -> None:
    for limits, effort, expected in ((True, -4.0, -2.0), (False, -10.0, -5.0)):
        one = simulator(block(effort=4.0), "rk4", effort_limits=limits)
        one.set_effort([-10.0])
        assert (one.command[0], one.effort[0], one.acceleration[0]) == (-10.0, effort, expected)
        assert one.at_effort_limit == (("slide",) if limits else ())
        one.set_effort([4.0])
        assert one.at_effort_limit == ()


def test_initial_positions_and_speeds_beyond_limits() -> None:
    """Positions must be within limits; speeds beyond theirs are reported, not enforced."""
    robot = block(limits=(0.2, 0.5))
    assert Simulator(robot).state.q[0] == 0.2
    for q in ([0.1], [0.6]):
        with refused("position-beyond-limits", unit="m", joint="slide"):
            Simulator(robot, q=q)
    assert simulator(robot, "rk4", position_limits=False, q=[0.1]).step().q[0] == 0.1
    one = simulator(example("rrp"), "rk4", qd=[100.0, 0.0, -100.0])
    assert (one.too_fast, one.state.qd[0]) == (("turn", "stretch"), 100.0)


COMPLEMENTARITY = [
    ([-1.0], [[-2.0]], [0.0]),
    ([3.0], [[-2.0]], [1.5]),
    ([1.0, 2.0], [[-2.0, -1.0], [-1.0, -3.0]], [0.2, 0.6]),
    ([1.0, -2.0], [[-2.0, 1.0], [1.0, -2.0]], [0.5, 0.0]),
    ([1.0, 1.0], [[-2.0, -2.0], [-2.0, -2.0]], [0.5, 0.0]),  # one joint, listed twice: one stop is enough
    ([1.0, 2.0, 3.0], [[-4.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, -4.0]], None),
]


@pytest.mark.parametrize(("f", "slopes", "expected"), COMPLEMENTARITY)
def test_torques_of_stops_solve_the_complementarity_problem(f: list, slopes: list, expected: list) -> None:
    found = stop_torques(lambda s: np.array(f) + np.array(slopes) @ s, len(f))
    left = np.array(f) + np.array(slopes) @ found
    assert found.min() >= 0.0
    assert left.max() < 1e-9
    assert np.abs(left[found > 0.0]).max(initial=0.0) < 1e-9
    if expected is not None:
        np.testing.assert_allclose(found, expected, atol=1e-12)
