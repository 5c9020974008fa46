# SPDX-License-Identifier: Apache-2.0
"""Random chains and trees to URDF and back."""

from __future__ import annotations

from properties import examples, given, st
from random_drives import random_driven_urdf
from same_robot import assert_same_robot

import dyn_core


@examples(150)
@given(
    seed=st.integers(0, 2**32 - 1),
    joints=st.integers(1, 20),
    chain=st.booleans(),
    snap=st.sampled_from([0, "digits"]),
)
def test_random_robots(seed: int, joints: int, chain: bool, snap: float) -> None:
    """Any joints, fixed frames, mimics, limits, friction and rotors."""
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints, chain), snap=snap)
    text = dyn_core.write_urdf(robot)
    again = dyn_core.load_robot(text, snap=snap)
    assert all(abs(s.value - s.snapped_to) < 1e-11 for s in again.snapped)  # up to rounding
    assert robot.dof == 0 or [j.mimic for j in again.joints] == [j.mimic for j in robot.joints]
    assert_same_robot(robot, again, seed)
