# SPDX-License-Identifier: Apache-2.0
"""Joints at rest stay there, and leave when more than friction acts; by hand and by trying all cases."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from extrapolation import integrated
from properties import examples, given, st
from sliders import block, two_links

import dyn_core
from dyn_core import SimulationSettings, Simulator
from dyn_core.simulation.integrators.complementarity import Places, resolve

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
METHODS = ("rk4", "semi_implicit_euler")


def simulator(robot: dyn_core.Robot, integrator: str, step: float = 1e-3, **options) -> Simulator:
    state = {name: options.pop(name) for name in ("q", "qd") if name in options}
    return Simulator(robot, SimulationSettings(step=step, integrator=integrator, **options), **state)


# ------------------------------------------------------------------ the problem of one moment


def cases(M: np.ndarray, b: np.ndarray, places: Places) -> list[np.ndarray]:
    """All solutions of ``M a = b + r``, by trying all cases of all joints: held somewhere, or in a piece."""
    n, found = len(b), []
    lower, middle, upper, Fs = (np.array(x) for x in places)
    for choice in itertools.product(("lower", "below", "middle", "above", "upper"), repeat=n):
        a, r, free = np.zeros(n), np.zeros(n), []
        for j, kind in enumerate(choice):
            if kind in ("below", "above"):
                free.append(j)
                r[j] = Fs[j] if kind == "below" else -Fs[j]
            else:
                a[j] = {"lower": lower, "middle": middle, "upper": upper}[kind][j]
        if not np.isfinite(a).all():
            continue
        held = [j for j in range(n) if j not in free]
        rest = b + r - M @ a
        a[free] = np.linalg.solve(M[np.ix_(free, free)], rest[free])
        r[held] = (M @ a - b)[held]
        if all(possible(choice[j], a[j], r[j], lower[j], middle[j], upper[j], Fs[j]) for j in range(n)):
            found.append(a)
    return found


def possible(kind: str, a: float, r: float, low: float, middle: float, high: float, Fs: float) -> bool:
    eps = 1e-9
    if kind == "below":
        return low < a < middle
    if kind == "above":
        return middle < a < high
    most = np.inf if a == low else (Fs if a <= middle else -Fs)
    least = -np.inf if a == high else (-Fs if a >= middle else Fs)
    return least - eps <= r <= most + eps


@examples(150)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 4))
def test_the_solution_is_the_one_found_by_trying_all_cases(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    M = root @ root.T + 10.0 ** random.uniform(-2, 0) * np.eye(n)
    b = random.normal(size=n) * random.choice([0.1, 1.0, 10.0])
    Fs = np.where(random.random(n) < 0.3, 0.0, random.uniform(0.0, 2.0, n))
    lower = np.where(random.random(n) < 0.5, -np.inf, -random.uniform(0.0, 2.0, n))
    upper = np.where(random.random(n) < 0.5, np.inf, random.uniform(0.0, 2.0, n))
    middle = random.choice([0.0, -0.5, 0.7, np.inf, -np.inf], n)
    middle = np.where(Fs > 0.0, np.clip(middle, lower, upper), lower)
    places = Places(lower.tolist(), middle.tolist(), upper.tolist(), Fs.tolist())

    def respond(free, given, friction):
        free, given, friction = np.array(free) > 0.0, np.array(given), np.array(friction)
        a = given.copy()
        rest = b + friction - M @ given
        a[free] = np.linalg.solve(M[np.ix_(free, free)], rest[free])
        return a.tolist(), np.where(free, 0.0, M @ a - b).tolist()

    a, free, reaction = resolve(respond, places)
    expected = cases(M, b, places)
    assert expected
    np.testing.assert_allclose(a, expected[0], atol=1e-8 * max(1.0, np.abs(expected[0]).max()))
    np.testing.assert_allclose(M @ a, b + reaction, atol=1e-8 * max(1.0, np.abs(b).max()))
    at_place = [x in (low, mid, high) for x, low, mid, high in zip(a, lower, middle, upper, strict=True)]
    assert all(is_free or there for is_free, there in zip(free, at_place, strict=True))


# ------------------------------------------------------------------ one joint


@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("effort", [0.0, 2.9, -3.0, 3.0])
def test_a_block_at_rest_stays_exactly_where_it_is(integrator: str, effort: float) -> None:
    one = simulator(block(friction=3.0), integrator, q=[0.123456789])
    one.set_effort([effort])
    for _ in range(200):
        state = one.step()
        assert (state.q[0], state.qd[0]) == (0.123456789, 0.0)
    assert one.acceleration[0] == 0.0


@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("effort", [3.01, -3.01, 7.0])
def test_a_block_breaks_away_above_its_friction(integrator: str, effort: float) -> None:
    one = simulator(block(friction=3.0), integrator)
    one.set_effort([effort])
    expected = (abs(effort) - 3.0) / 2.0 * np.sign(effort)
    assert one.acceleration[0] == pytest.approx(expected)
    for _ in range(100):
        state = one.step()
    assert state.qd[0] == pytest.approx(0.1 * expected, rel=1e-9)


@pytest.mark.parametrize("integrator", METHODS)
def test_an_offset_is_part_of_what_friction_holds(integrator: str) -> None:
    robot = block(friction=3.0).with_parameters({"Fo1": 1.0})
    for effort, moves in ((-2.0, False), (4.0, False), (-2.1, True), (4.1, True)):
        one = simulator(robot, integrator)
        one.set_effort([effort])
        assert bool(one.step().qd[0]) is moves, effort


def test_a_sliding_block_stops_when_and_where_it_must() -> None:
    """2 kg at 1 m/s against 3 N: after 2/3 s, at 1/3 m; within a step."""
    one = simulator(block(friction=3.0), "rk4", step=0.03, qd=[1.0])
    states = [one.step() for _ in range(40)]
    assert [state.qd[0] for state in states[22:]] == [0.0] * 18
    assert states[21].qd[0] == pytest.approx(1.0 - 1.5 * 0.66, abs=1e-12)
    assert states[-1].q[0] == pytest.approx(1.0 / 3.0, abs=1e-12)


def test_a_sliding_block_turns_round_where_more_than_friction_acts() -> None:
    """Against 3 N and an effort of -5 N it stops after 0.25 s, then goes back with 1 m/s^2."""
    one = simulator(block(friction=3.0), "rk4", step=0.03, qd=[1.0])
    one.set_effort([-5.0])
    for _ in range(20):
        state = one.step()
    assert state.qd[0] == pytest.approx(-(0.6 - 0.25), abs=1e-12)
    assert state.q[0] == pytest.approx(0.125 - 0.5 * 0.35**2, abs=1e-12)


@pytest.mark.parametrize("integrator", METHODS)
def test_no_sign_flips_under_an_effort_that_varies(integrator: str) -> None:
    """Slip from when the effort exceeds friction to when the impulse is used up, once each half period."""
    one = simulator(block(friction=3.0), integrator)
    flips, before = 0, 0.0
    for k in range(2100):
        one.set_effort([5.0 * np.sin(2.0 * np.pi * k * 1e-3)])
        now = float(np.sign(one.step().qd[0]))
        flips += now != before
        before = now
    assert flips == 8  # away, at rest, back, at rest; twice


# ------------------------------------------------------------------ joints that act on one another


@pytest.mark.parametrize("integrator", METHODS)
def test_an_arm_rests_while_friction_can_hold_it(integrator: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    model = dyn_core.compile_model(robot)
    Fs = np.array([joint.friction.Fs for joint in robot.joints])
    q = np.array([0.1, 0.7, 0.2, 0.3, 0.5, 0.1])
    held = model.gravity_torques(q)
    one = simulator(robot, integrator, q=q)
    random = np.random.default_rng(5)
    for _ in range(300):
        one.set_effort(held + Fs * random.uniform(-1.0, 1.0, 6))
        state = one.step()
        np.testing.assert_array_equal(state.q, q)
        np.testing.assert_array_equal(state.qd, 0.0)
    one.set_effort(held + np.array([0.0, 0.0, 1.01, 0.0, 0.0, 0.0]) * Fs)
    assert one.step().qd[2] > 0.0


def test_a_moving_joint_pulls_at_one_that_rests() -> None:
    """The elbow is driven; the shoulder rests only while the coupling asks less than its friction."""
    friction = '<limit lower="-9" upper="9" velocity="99" effort="999"/><dynamics friction="{}"/>'
    robot = two_links(first=friction.format(30.0))
    weightless = dyn_core.load_robot(dyn_core.write_urdf(robot), gravity=(0.0, 0.0, 0.0))
    A = dyn_core.compile_model(weightless).inertia_matrix([0.0, 0.0])
    for effort, moves in ((10.0, False), (20.0, True)):
        asked = A[0, 1] / A[1, 1] * effort  # to hold the shoulder against the motion of the elbow
        assert bool(asked > 30.0) is moves
        one = simulator(weightless, "rk4")
        one.set_effort([0.0, effort])
        shoulder, elbow = one.acceleration
        assert bool(shoulder) is moves
        if moves:
            expected = np.linalg.solve(A, [30.0, effort])  # the shoulder goes back: friction forward
            np.testing.assert_allclose([shoulder, elbow], expected, rtol=1e-9)
        else:
            assert elbow == pytest.approx(effort / A[1, 1])


@pytest.mark.parametrize("integrator", METHODS)
def test_friction_slides_as_the_model_says(integrator: str) -> None:
    """Beside an independent integration of the equations, as long as no joint comes to rest."""
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    robot = robot.with_rotor_inertias(dict.fromkeys(robot.joint_names, 0.1))
    model = dyn_core.compile_model(robot, backend="python")
    q, qd = np.array([0.1, 0.7, 0.2, 0.3, 0.5, 0.1]), np.array([1.0, -1.0, 1.5, 2.0, -2.0, 3.0])
    tau = model.inverse_dynamics(q, qd, np.zeros(6))

    def derivative(x: np.ndarray) -> np.ndarray:
        return np.concatenate((x[6:], model.forward_dynamics(x[:6], x[6:], tau)))

    expected = integrated(derivative, np.concatenate((q, qd)), 0.1, steps=20)
    one = simulator(robot, integrator, q=q, qd=qd)
    one.set_effort(tau)
    for _ in range(100):
        state = one.step()
    assert (np.sign(expected[6:]) == np.sign(qd)).all()
    tolerance = 1e-9 if integrator == "rk4" else 5e-3
    np.testing.assert_allclose(np.concatenate((state.q, state.qd)), expected, atol=tolerance)


def test_the_methods_agree_on_a_swing_that_comes_to_rest() -> None:
    """Stiction, stops and coupling by two ways that have little in common; the one of order 1 converges."""
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf")
    q = np.array([0.1, 0.7, 0.2, 0.3, 0.5, 0.1])
    ends = {}
    for name, integrator, step in (
        ("rk4", "rk4", 1e-3),
        ("coarse", "semi_implicit_euler", 1e-3),
        ("fine", "semi_implicit_euler", 1e-4),
    ):
        one = simulator(robot, integrator, step=step, q=q)
        for _ in range(round(2.0 / step)):
            state = one.step()
        np.testing.assert_array_equal(state.qd, 0.0)
        ends[name] = state.q
    coarse, fine = (np.abs(ends[name] - ends["rk4"]).max() for name in ("coarse", "fine"))
    assert fine < 2e-3
    assert fine < 0.2 * coarse


def test_friction_of_a_joint_that_mimics_another_acts_by_its_multiplier() -> None:
    wide = '<limit lower="-9" upper="9" velocity="99" effort="999"/>'
    robot = two_links(
        first=f'{wide}<dynamics friction="1.0"/>',
        second=f'{wide}<dynamics friction="2.0" damping="0.5"/>',
        mimic='<mimic joint="shoulder" multiplier="-3"/>',
    )
    weightless = dyn_core.load_robot(dyn_core.write_urdf(robot), gravity=(0.0, 0.0, 0.0))
    assert weightless.dof == 1
    for integrator in METHODS:
        for effort, moves in ((6.99, False), (7.01, True)):
            one = simulator(weightless, integrator)
            one.set_effort([effort])
            assert bool(one.step().qd[0]) is moves
    one = simulator(weightless, "rk4", qd=[0.8])
    model = dyn_core.compile_model(weightless)
    np.testing.assert_allclose(one.acceleration, model.forward_dynamics([0.0], [0.8], [0.0]), rtol=1e-12)
