# SPDX-License-Identifier: Apache-2.0
"""All functions of random chains and trees agree with Pinocchio, and the backends agree with each other.

Any mix of joint types and axes, fixed joints, massless links and mimic joints, 1 to 20 joints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from agreement import findings
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_urdf import random_driven_urdf, random_urdf
from robots import ROBOTS

import dyn_core
from dyn_core.robot.mdh.direct_geometry import link_placements

seeds = st.integers(0, 2**32 - 1)
MOST = 600
"""Largest number of results of a program that is compiled here: that of regressors of 6 joints."""
TOLERANCE = 1e-12
"""Error of inverse dynamics, relative to the greatest torque."""


def missed(urdf: str, compiled: bool) -> list[str]:
    """Findings above their bars, as text."""
    robot = dyn_core.load_robot(urdf, snap=0)
    found = findings(urdf, robot, 2, lambda program: compiled and len(program.results) <= MOST, floor=1e-3)
    return [str(finding) for finding in found if finding.missed]


@pytest.mark.parametrize("urdf_of", [random_urdf, random_driven_urdf])
@examples(30, 12)
@given(seed=seeds, joints=st.integers(1, 20), chain=st.booleans())
def test_functions_agree_with_pinocchio(
    urdf_of: Callable[..., str], seed: int, joints: int, chain: bool
) -> None:
    assert missed(urdf_of(seed, joints, chain=chain), compiled=False) == []


@examples(4, 1)
@given(seed=seeds, joints=st.integers(1, 10))
def test_compiled_functions_agree_with_python(seed: int, joints: int) -> None:
    assert missed(random_driven_urdf(seed, joints), compiled=True) == []


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
    assert_agrees((ROBOTS / f"{name}.urdf").read_text(), seed=1, samples=20)


@examples(400)
@given(seed=seeds, joints=st.integers(1, 10))
def test_random_trees(seed: int, joints: int) -> None:
    """Any mix of joint types and axes, branches, links without mass, tilted gravity.

    Larger trees are in the tests of all functions.
    """
    assert_agrees(random_urdf(seed, joints), seed, samples=2)
