# SPDX-License-Identifier: Apache-2.0
"""Measured positions that jump, or come out of order."""

from __future__ import annotations

import re

import numpy as np
import pytest
from robot_files import ROBOTS, urdf

import dyn_core
from dyn_nodes.common.torques.position_checks import BelievedPositions
from dyn_nodes.rejection import Rejection

SPEED = 2.0
"""Velocity limit of `lift` (rad/s) here."""


def positions(lift: float) -> np.ndarray:
    return np.array([0.0, lift, 0.0])


@pytest.fixture
def believed() -> BelievedPositions:
    text = re.sub(r'velocity="[^"]*"', f'velocity="{SPEED}"', urdf("rrp"))
    return BelievedPositions(dyn_core.load_robot(text))


def test_the_first_is_a_beginning_and_the_next_goes_on(believed: BelievedPositions) -> None:
    assert not believed.follows(1.0, positions(0.5))
    assert believed.follows(1.0, positions(0.5))
    # three times the velocity limit, and 0.1 rad
    assert believed.follows(1.01, positions(0.5 + 3 * SPEED * 0.01 + 0.1))


def test_one_that_jumps_is_refused_by_name_and_the_last_counts(believed: BelievedPositions) -> None:
    believed.follows(1.0, positions(0.0))
    with pytest.raises(Rejection, match=r"joint 'lift' is said to have moved by 0.301 in 0.01 s"):
        believed.follows(1.01, positions(0.301))
    assert believed.last is not None
    assert believed.last[0] == 1.0
    assert believed.follows(1.02, positions(0.0))
    with pytest.raises(Rejection, match="cannot do"):
        believed.follows(1.03, positions(0.401))


def test_two_that_agree_are_a_new_beginning(believed: BelievedPositions) -> None:
    believed.follows(1.0, positions(0.0))
    with pytest.raises(Rejection):
        believed.follows(1.01, positions(2.0))
    assert not believed.follows(1.02, positions(2.05))
    assert believed.follows(1.03, positions(2.05))


def test_a_doubt_gives_no_more_room(believed: BelievedPositions) -> None:
    """Of a robot that was moved by little more than it can, the second position is a beginning, too."""
    for step in (0.161, 0.2, 0.22, 0.3, 0.5):
        believed.forget()
        believed.follows(1.0, positions(0.0))
        with pytest.raises(Rejection):
            believed.follows(1.01, positions(step))
        assert not believed.follows(1.02, positions(step))
        assert believed.follows(1.03, positions(step))


def test_two_that_jump_apart_are_both_refused(believed: BelievedPositions) -> None:
    believed.follows(1.0, positions(0.0))
    for k, lift in enumerate((2.0, -2.0, 2.0, -2.0)):
        with pytest.raises(Rejection):
            believed.follows(1.01 + 0.01 * k, positions(lift))


def test_one_from_before_the_last_is_refused(believed: BelievedPositions) -> None:
    believed.follows(1.0, positions(0.0))
    with pytest.raises(Rejection, match=r"stamped 0.250 s before the last one"):
        believed.follows(0.75, positions(0.0))
    believed.forget()
    assert not believed.follows(0.75, positions(1.5))


def test_without_velocity_limits_every_jump_is_believed() -> None:
    text = re.sub(r' velocity="[^"]*"', ' velocity="0"', ROBOTS["rrp"].read_text())
    believed = BelievedPositions(dyn_core.load_robot(text))
    believed.follows(1.0, positions(0.0))
    assert believed.follows(1.001, positions(100.0))
