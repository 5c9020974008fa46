# SPDX-License-Identifier: Apache-2.0
"""The oracle of closed loops against published torques, differences, energy, and forces on the open tree."""

from __future__ import annotations

import numpy as np
import pytest
from loop_oracle import LoopOracle, OpenLoopError, example_oracle, example_side, refined_solution
from pinocchio_oracle import pin
from planar_loop_cases import NAMES, planar_case
from random_loops import PASSIVE, random_loop
from robots import ROBOTS as ROBOT_FILES

SEED = 0
ROBOTS = ("sr400", "akr3000", "five_bar", "palletizer")
ALL = (*ROBOTS, *PASSIVE)


def oracle_of(name: str) -> LoopOracle:
    return LoopOracle(*random_loop(name, SEED)) if name in PASSIVE else example_oracle(name)


def state_of(oracle: LoopOracle, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return oracle.random_state(np.random.default_rng(seed), condition=5.0)


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance * max(np.abs(b).max(initial=0.0), 1e-3))


@pytest.mark.parametrize("name", NAMES)
def test_torques_agree_with_published_cases(name: str) -> None:
    case = planar_case(name)
    for first in case.states:
        oracle = LoopOracle(case.urdf, {**case.side, "assembly": first.angles}, case.actuated, case.gravity)
        for state in case.states:
            closed = oracle.closed(state.q)
            for joint, angle in state.angles.items():
                assert abs(np.exp(1j * closed[joint]) - np.exp(1j * angle)) < 1e-13
            close(oracle.inverse_dynamics(state.q, state.qd, state.qdd), state.tau, 1e-12)


@pytest.mark.parametrize("kind", PASSIVE)
def test_the_jacobian_is_the_derivative_of_the_residuals(kind: str) -> None:
    """Where the loop is closed, in the directions of all joints; no row is zero."""
    oracle = oracle_of(kind)
    assert oracle.rank == PASSIVE[kind] == oracle.jacobian(oracle.assembly).shape[0]
    assert oracle.assembly_gap(random_loop(kind, SEED)[1]) < 1e-13
    q, h = oracle.positions(state_of(oracle)[0]), 1e-5
    ahead, behind = (
        [oracle._constraints(q + d).residual for d in sign * h * np.eye(oracle.n)] for sign in (1, -1)
    )
    close(np.subtract(ahead, behind).T / (2 * h), oracle._constraints(q).J, 1e-8)


@pytest.mark.parametrize("name", ALL)
def test_drift_is_the_derivative_of_the_jacobian(name: str) -> None:
    """At any state of the tree, closed or not."""
    oracle, random, h = oracle_of(name), np.random.default_rng(1), 1e-5
    q = oracle.positions(state_of(oracle)[0]) + 0.1 * random.normal(size=oracle.n)
    qd = random.normal(size=oracle.n)
    one, other = (oracle._constraints(q + sign * h * qd).J @ qd for sign in (1, -1))
    close((one - other) / (2 * h), oracle._constraints(q, qd).drift, 1e-7)


@pytest.mark.parametrize("name", ALL)
def test_passive_joints_follow_the_actuated_joints(name: str) -> None:
    """Velocities and accelerations are differences of closed positions along a motion."""
    oracle = oracle_of(name)
    q, qd, qdd = state_of(oracle)
    h = 3e-4
    at = {k: oracle.positions(q + k * h * qd + 0.5 * (k * h) ** 2 * qdd) for k in (-2, -1, 0, 1, 2)}
    velocity = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    acceleration = (16 * (at[1] + at[-1]) - (at[2] + at[-2]) - 30 * at[0]) / (12 * h * h)
    position, rate, change = oracle.passive(q, qd, qdd)
    assert dict(zip(oracle.passive_names, position, strict=True)).items() <= oracle.closed(q).items()
    close(velocity[oracle.dof :], rate, 1e-6)
    close(acceleration[oracle.dof :], change, 1e-5)


@pytest.mark.parametrize("name", ALL)
def test_actuator_power_is_the_change_of_energy_plus_friction(name: str) -> None:
    oracle = oracle_of(name)
    q, qd, qdd = state_of(oracle, 2)
    h = 1e-4
    t = h * np.array([[-2], [-1], [1], [2]])
    energy = [*map(oracle.energy, q + t * qd + 0.5 * t**2 * qdd, qd + t * qdd)]
    growth = (8 * (energy[2] - energy[1]) - (energy[3] - energy[0])) / (12 * h)
    _, qd_tree, _ = oracle.tree_motion(q, qd, qdd)
    lost = oracle.Fv @ qd_tree**2 + oracle.Fs @ np.abs(qd_tree)
    power = qd @ oracle.inverse_dynamics(q, qd, qdd)
    assert growth + lost == pytest.approx(power, abs=1e-6 * np.abs(qd * oracle.bias(q, qd)).sum() + 1e-6)


@pytest.mark.parametrize("name", ALL)
def test_multipliers_give_the_accelerations_back(name: str) -> None:
    """Direct dynamics does not use G; passive joints follow in its result, too."""
    oracle = oracle_of(name)
    for seed in range(3):
        q, qd, qdd = state_of(oracle, seed)
        tau = oracle.inverse_dynamics(q, qd, qdd)
        close(oracle.forward_dynamics(q, qd, tau), qdd, 1e-11)
        close(oracle.constrained_dynamics(q, qd, tau), oracle.tree_motion(q, qd, qdd)[2], 1e-10)
        close(oracle.inertia_matrix(q) @ qdd + oracle.bias(q, qd), tau, 1e-12)


@pytest.mark.parametrize("name", ALL)
def test_cut_wrenches_applied_to_the_open_tree_give_the_same_torques(name: str) -> None:
    """With these wrenches on its links, the open tree needs no torque in passive joints."""
    oracle = oracle_of(name)
    q, qd, qdd = state_of(oracle, 3)
    exerted = {}
    for loop in oracle.loops:
        wrench = oracle.cut_wrench(loop.name, q, qd, qdd).wrench
        for end, on_environment in ((loop.parent, wrench), (loop.child, -wrench)):
            to_root = placement(oracle, q, loop.parent)
            in_link = placement(oracle, q, end, cut=False).actInv(to_root * pin.Force(on_environment))
            exerted[end.link] = exerted.get(end.link, np.zeros(6)) + in_link.vector
    motion = oracle.tree_motion(q, qd, qdd)
    drives = oracle._tree_torques(*motion) - oracle.tree.inverse_dynamics(*motion, {})
    torques = oracle.tree.inverse_dynamics(*motion, exerted) + drives
    expected = np.concatenate((oracle.inverse_dynamics(q, qd, qdd), np.zeros(oracle.n - oracle.dof)))
    close(torques, expected, 1e-11)


def placement(oracle: LoopOracle, q: np.ndarray, end: object, cut: bool = True) -> pin.SE3:
    """Placement of a cut frame, or of its link, in the root."""
    of_link = pin.SE3(*oracle.tree.link_placement(oracle.positions(q), end.link))
    return of_link * pin.SE3(end.R, end.p) if cut else of_link


@pytest.mark.parametrize("name", ALL)
def test_determined_components_of_cut_wrenches(name: str) -> None:
    """Loops in the plane xz determine both forces in the plane, and the zero moment about the axis."""
    oracle = oracle_of(name)
    state = state_of(oracle)
    expected = [True, False, True, False, True, False] if name in ROBOTS else [True] * 6
    for loop in oracle.loops:
        assert oracle.cut_wrench(loop.name, *state).determined.tolist() == expected


def test_friction_and_rotors_are_counted_once() -> None:
    """Rotors enter with the square of G; friction and offsets of all joints with its transpose."""
    side = example_side("akr3000")
    side["friction"] = {"joint_3": {"coulomb": 7.0}, "joint_5": {"offset": 30.0}, "joint_7": {"viscous": 5.0}}
    plain = example_oracle("akr3000")
    full = LoopOracle((ROBOT_FILES / "akr3000.urdf").read_text(), side)
    without = example_oracle("akr3000", friction=False, rotor_inertia=False)
    q, qd, qdd = state_of(plain)
    G = full.projection(q)
    qd_tree, qdd_tree = full.tree_motion(q, qd, qdd)[1:]
    friction = plain.Fv * qd_tree + plain.Fs * np.sign(qd_tree)
    j3, j5, j7 = (full.joint_names.index(f"joint_{k}") for k in (3, 5, 7))
    friction[j3] += (7.0 - plain.Fs[j3]) * np.sign(qd_tree[j3])
    friction[j5] += 30.0
    friction[j7] += (5.0 - plain.Fv[j7]) * qd_tree[j7]
    Ia = np.array([side["rotor_inertia"].get(joint, 0.0) for joint in full.joint_names])
    added = full.inverse_dynamics(q, qd, qdd) - without.inverse_dynamics(q, qd, qdd)
    close(added, G.T @ (friction + Ia * qdd_tree), 1e-10)
    close(full.inertia_matrix(q) - without.inertia_matrix(q), G.T @ np.diag(Ia) @ G, 1e-10)


def test_positions_out_of_reach_are_refused() -> None:
    """The tail of the forearm is 0.3 m from the elbow, and the elbow 1.16 m from the foot of its jack."""
    oracle = example_oracle("akr3000")
    q = oracle.assembly
    q[oracle.actuated.index("joint_5")] = -0.2
    with pytest.raises(OpenLoopError, match=r"stay .* open|lose rank"):
        oracle.closed(q)


def test_refinement_recovers_digits() -> None:
    """A Hilbert matrix of condition 1e10 limits floats to 1e-6, and extended precision to 1e-9."""
    A = np.array([[360360.0 / (i + j + 1) for j in range(8)] for i in range(8)])  # integers
    vectors = np.random.default_rng(0).integers(1, 100, (5, 8)).astype(float)
    for x in vectors:
        close(refined_solution(A, A @ x), x, 1e-9)
    # A single right-hand side may lose nothing because of lucky rounding.
    assert max(np.abs(np.linalg.solve(A, A @ x) - x).max() for x in vectors) > 1e-7
