# SPDX-License-Identifier: Apache-2.0
"""Whether two robots are the same for their users."""

from __future__ import annotations

import numpy as np

import dyn_core
from dyn_core.geometry.forward import link_placements
from dyn_core.model.coupling import joint_positions


def assert_same_robot(a: dyn_core.Robot, b: dyn_core.Robot, seed: int = 0) -> None:
    """Compare names, placements of links, and torques with wrenches, friction and rotors."""
    assert (a.name, a.joint_names, sorted(a.link_names)) == (b.name, b.joint_names, sorted(b.link_names))
    assert a.dof == 0 or a.limits == b.limits
    random = np.random.default_rng(seed)
    q, qd, qdd = random.uniform(-2.0, 2.0, (3, 3, a.dof))
    tip = a.link_names[-1]
    pushed = {tip: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    models = [dyn_core.compile_model(robot, backend="python") for robot in (a, b)]
    one, other = (model.inverse_dynamics(q, qd, qdd, pushed) for model in models)
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-10 * max(np.abs(one).max(initial=0.0), 1e-3))
    here, there = (link_placements(robot, joint_positions(robot, q[0].tolist())) for robot in (a, b))
    for link, T in here.items():
        np.testing.assert_allclose(T.R, there[link].R, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(T.p, there[link].p, rtol=0.0, atol=1e-12 * 60)
