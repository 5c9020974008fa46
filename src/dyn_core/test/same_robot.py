# SPDX-License-Identifier: Apache-2.0
"""Compare two robots in all that users can observe."""

from __future__ import annotations

import numpy as np

import dyn_core
from dyn_core.algorithms.link_motion import jacobian
from dyn_core.model.fixed_base.dynamics_programs import kinds
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions
from dyn_core.robot.mdh.direct_geometry import link_placements


def assert_same_robot(a: dyn_core.Robot, b: dyn_core.Robot, seed: int = 0) -> None:
    """Compare names, placements and Jacobians of links, and all dynamics with friction and rotors."""
    assert (a.name, a.joint_names, sorted(a.link_names)) == (b.name, b.joint_names, sorted(b.link_names))
    assert a.dof == 0 or a.limits == b.limits
    q, qd, qdd = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, 3, a.dof))
    pushed = {a.link_names[-1]: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    models = [dyn_core.compile_model(robot, backend="python") for robot in (a, b)]
    one, other = (model.inverse_dynamics(q, qd, qdd, pushed) for model in models)
    assert_close(one, other, 1e-10)
    assert_same_dynamics(a, b, *(vector[0].tolist() for vector in (q, qd, qdd)))
    here, there = (joint_positions(robot, q[0].tolist()) for robot in (a, b))
    placed, placed_there = link_placements(a, here), link_placements(b, there)
    for link, T in placed.items():
        np.testing.assert_allclose(T.R, placed_there[link].R, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(T.p, placed_there[link].p, rtol=0.0, atol=1e-12 * 60)
    for link in a.link_names:
        frames = [(robot.link_frame(link), robot.link_frames[0]) for robot in (a, b)]
        J, J_there = jacobian(a, here, *frames[0]), jacobian(b, there, *frames[1])
        # Jacobians by coordinates: a joint that cannot move may have been written as a fixed one.
        assert_close(*([coordinate_torques(r, row) for row in m] for r, m in ((a, J), (b, J_there))), 1e-11)


def assert_same_dynamics(
    a: dyn_core.Robot, b: dyn_core.Robot, q: list[float], qd: list[float], qdd: list[float]
) -> None:
    """Compare each function, by its algorithm on floats; the regressors with their parameters."""

    def both(name: str, *vectors: list[float]) -> list[np.ndarray]:
        return [np.array(kinds(robot)[name].algorithms[0](robot, *vectors)) for robot in (a, b)]

    assert_close(*both("gravity_torques", q), 1e-10)
    assert_close(*both("bias_torques", q, qd), 1e-10)
    Y = both("regressor", q, qd, qdd)
    parameters = [np.array(robot.parameters) for robot in (a, b)]
    assert_close(*(y.reshape(a.dof, len(p)) @ p for y, p in zip(Y, parameters, strict=True)), 1e-10)
    A, A_there = (matrix.reshape(a.dof, a.dof) for matrix in both("inertia_matrix", q))
    assert_close(A, A_there, 1e-10)
    condition = np.linalg.cond(A) if a.dof else 1.0
    if condition < 1e8:  # beyond this condition number, the accelerations have too few correct digits
        tau = both("inverse_dynamics", q, qd, qdd)[0].tolist()
        assert_close(*both("forward_dynamics", q, qd, tau), 1e-13 * (condition + 1e3))


def assert_close(one, other, tolerance: float) -> None:
    """Compare relative to the greatest entry."""
    scale = max(np.abs(one).max(initial=0.0), 1e-3)
    np.testing.assert_allclose(one, other, rtol=0.0, atol=tolerance * scale)
