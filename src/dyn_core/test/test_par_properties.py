# SPDX-License-Identifier: Apache-2.0
"""Random trees to .par and back; what is read from .par is what Pinocchio reads from URDF."""

from __future__ import annotations

import numpy as np
from par_robots import RRP, assert_same_dynamics, assert_same_parameters
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_drives import random_driven_urdf

import dyn_core


@examples(200)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 20), snap=st.sampled_from([0, "digits"]))
def test_random_trees(seed: int, joints: int, snap: float) -> None:
    """URDF to .par gives the same dynamics, also where axes are nearly parallel, and then is stable."""
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints), snap=snap)
    text = dyn_core.write_par(robot)
    again = dyn_core.load_robot(text, snap=0)
    assert (again.name, again.joint_names) == (robot.name, robot.joint_names)
    assert_same_dynamics(robot, again, seed)
    twice = dyn_core.load_robot(dyn_core.write_par(again), snap=0)
    assert_same_parameters(again, twice)


def test_par_to_urdf_to_pinocchio() -> None:
    robot = dyn_core.load_robot(RRP)
    urdf = dyn_core.write_urdf(robot)
    q, qd, qdd = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 3))
    expected = Oracle(urdf, robot.joint_names, robot.gravity).inverse_dynamics(q, qd, qdd, {})
    model = dyn_core.compile_model(robot, friction=False, backend="python")
    torques = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torques, expected, rtol=1e-12, atol=1e-12)
