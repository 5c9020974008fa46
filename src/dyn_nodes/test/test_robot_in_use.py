# SPDX-License-Identifier: Apache-2.0
"""The robot that a node uses: what its torques depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from robot_files import ROBOTS

import dyn_core
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot
from dyn_nodes.feedforward.compiled_source import made_source
from dyn_nodes.feedforward.parameters import FeedforwardSettings


@pytest.mark.parametrize(
    ("mode", "stands", "is_told"),
    [
        ("inverse_dynamics", True, True),
        ("inverse_dynamics", False, False),
        ("computed_torque", True, False),
        ("gravity", False, False),
    ],
)
def test_only_inverse_dynamics_along_a_motion_goes_on_without_joint_states(
    mode: Any, stands: bool, is_told: bool
) -> None:
    settings = FeedforwardSettings(mode=mode)
    timeout = settings.watch.timeout
    described = DescribedRobot(dyn_core.load_robot(ROBOTS["rrp"]), None, ())
    source = made_source(settings, described).maker
    source.measure(np.zeros(3), np.zeros(3), 0.0, 0.0)
    if stands:
        source.stand(0.0, 0.0)
    assert source.unmeasured(timeout) is None
    assert source.unmeasured(2.0 * timeout) == (2.0 * timeout if is_told else None)
