# SPDX-License-Identifier: Apache-2.0
"""Checks of measured positions that jump or arrive out of order."""

from __future__ import annotations

import re

import numpy as np
import pytest
from refusals import refused
from robot_files import urdf

import dyn_core
from dyn_nodes.common.torques.position_checks import BelievedPositions

SPEED = 2.0
"""Velocity limit of `lift` (rad/s) here."""


def positions(lift: float) -> np.ndarray:
    return np.array([0.0, lift, 0.0])


def believed_at(speed: float) -> BelievedPositions:
    text = re.sub(r'velocity="[^"]*"', f'velocity="{speed}"', urdf("rrp"))
    return BelievedPositions(dyn_core.load_robot(text))


@pytest.fixture
def believed() -> BelievedPositions:
    return believed_at(SPEED)


@pytest.mark.promise("joint-states-jump")
def test_a_single_jump_is_refused_and_the_last_position_is_kept(believed: BelievedPositions) -> None:
    # The first position is accepted as a start. Allowed is three times the velocity limit, plus 0.1 rad.
    assert not believed.follows(0.5, positions(0.5))
    assert believed.follows(0.5, positions(0.5))
    assert believed.follows(0.51, positions(0.5 + 3 * SPEED * 0.01 + 0.1))
    assert believed.follows(1.0, positions(0.0))
    with refused("position-jumps", joint="lift", distance=0.301, duration=0.01):
        believed.follows(1.01, positions(0.301))
    assert believed.last is not None
    assert believed.last[0] == 1.0
    assert believed.follows(1.02, positions(0.0))
    with refused("position-jumps", joint="lift", distance=0.401):
        believed.follows(1.03, positions(0.401))


@pytest.mark.parametrize("step", [0.161, 0.2, 0.22, 0.3, 0.5, 2.0])
def test_two_positions_that_agree_are_a_new_start(step: float, believed: BelievedPositions) -> None:
    """Also where the robot was moved only slightly too far: after a refusal the tolerance does not grow."""
    believed.follows(1.0, positions(0.0))
    with refused("position-jumps"):
        believed.follows(1.01, positions(step))
    second = 2.05 if step == 2.0 else step
    assert not believed.follows(1.02, positions(second))
    assert believed.follows(1.03, positions(second))


@pytest.mark.promise("joint-states-order")
def test_a_position_older_than_the_last_is_refused(believed: BelievedPositions) -> None:
    believed.follows(1.0, positions(0.0))
    with refused("message-out-of-order", time=0.25):
        believed.follows(0.75, positions(0.0))
    for k, lift in enumerate((2.0, -2.0, 2.0, -2.0)):  # positions that jump each time are refused, too
        with refused("position-jumps"):
            believed.follows(1.01 + 0.01 * k, positions(lift))
    believed.forget()
    assert not believed.follows(0.75, positions(1.5))


def test_without_velocity_limits_every_jump_is_accepted() -> None:
    unlimited = believed_at(0)
    unlimited.follows(1.0, positions(0.0))
    assert unlimited.follows(1.001, positions(100.0))
