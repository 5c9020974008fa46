# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics and link placements agree with Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_urdf import random_urdf

import dyn_core
from dyn_core.geometry.forward import link_placements

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
TOLERANCE = 1e-12  # relative to the greatest torque


def assert_agrees(urdf: str, seed: int, samples: int) -> None:
    """Compare torques, with wrenches on two links, and link placements in random states."""
    random = np.random.default_rng(seed)
    gravity = random.normal(size=3) * 6.0
    robot = dyn_core.load_robot(urdf, gravity=gravity, snap=0)
    model = dyn_core.compile_model(robot, friction=False, backend="python")
    oracle = Oracle(urdf, robot.joint_names, gravity)
    for _ in range(samples):
        q, qd, qdd = random.uniform(-3.0, 3.0, (3, robot.dof))
        loaded = random.choice(robot.link_names, 2)
        wrenches = {str(link): random.normal(size=6) for link in loaded}
        expected = oracle.inverse_dynamics(q, qd, qdd, wrenches)
        torques = model.inverse_dynamics(q, qd, qdd, wrenches)
        scale = max(np.abs(expected), default=1.0)
        np.testing.assert_allclose(torques, expected, rtol=0.0, atol=TOLERANCE * max(scale, 1e-3))

        for link, (R, p) in link_placements(robot, q.tolist()).items():
            R_expected, p_expected = oracle.link_placement(q, link)
            np.testing.assert_allclose(R, R_expected, rtol=0.0, atol=1e-13)
            np.testing.assert_allclose(p, p_expected, rtol=0.0, atol=1e-13 * 60)


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots(name: str) -> None:
    """The robots in config/robots."""
    assert_agrees((ROBOTS / f"{name}.urdf").read_text(), seed=1, samples=20)


@examples(400)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 10))
def test_random_trees(seed: int, joints: int) -> None:
    """Any mix of joint types and axes, branches, links without mass, tilted gravity.

    Larger trees are in the tests of all functions.
    """
    assert_agrees(random_urdf(seed, joints), seed, samples=2)
