# SPDX-License-Identifier: Apache-2.0
"""Trajectories for the example robots with loops: all have a finite condition number in a short search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core import ExcitationSettings, excite
from dyn_core.excitation.condition_number import HIDDEN, parameter_columns
from dyn_core.excitation.loop_limits import loop_limits, within_loops
from dyn_core.excitation.motion_limits import motion_limits
from dyn_core.identification.regressor.base_columns import base_columns

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
SHORT = ExcitationSettings(tries=1, iterations=12)
UNSHOWN = {
    "akr3000": {"MX9", "MX10", "Fv2", "Fs2"},
    "delta": set(),
    "five_bar": set(),
    "gough_stewart": set(),
    "palletizer": {"MY7"},
    "sr400": set(),
}
"""Some of what these robots cannot show: of the jacks of akr3000, which tilt by some degrees only, the weight
looks like an offset of their force."""


def loaded(name: str) -> dyn_core.Robot:
    path = ROBOTS / f"{name}.urdf"
    return dyn_core.load_robot(str(path), loops=str(path.with_suffix(".yaml")))


@pytest.mark.parametrize("name", UNSHOWN)
def test_a_short_search_finds_a_finite_condition_number(name: str) -> None:
    robot = loaded(name)
    excitation = excite(robot, SHORT)
    assert excitation.condition < 1e6
    assert excitation.condition < excitation.initial_condition
    assert UNSHOWN[name] <= set(excitation.unshown)
    assert bool(UNSHOWN[name]) == bool(excitation.unshown)
    names = [*excitation.parameter_names, *excitation.unshown, *excitation.left_out]
    friction = [f"{kind}{j}" for j in robot.coordinates for kind in ("Fv", "Fs", "Fo")]
    assert sorted(names) == sorted([*base_columns(robot).names, *friction])


def test_what_is_left_out_is_made_of_the_rest_wherever_the_robot_may_be() -> None:
    """With states of its own: each column but for a thousandth, and with it the smallest part vanishes."""
    robot, settings = loaded("akr3000"), ExcitationSettings()
    loops = loop_limits(robot, settings)
    assert loops is not None
    limits = within_loops(motion_limits(robot, settings), loops)
    columns = parameter_columns(robot, limits, loops)
    part = np.random.default_rng(5).uniform(size=(3, 400, robot.dof))
    q = loops.drawn_in(limits.lower + (limits.upper - limits.lower) * part[0])
    qd, qdd = limits.velocity * (2.0 * part[1] - 1.0), limits.acceleration * (2.0 * part[2] - 1.0)
    W = columns.at(q, qd, qdd).reshape(-1, len(columns.names))
    W /= np.linalg.norm(W, axis=0)
    base = base_columns(robot)
    of_bodies = base.columns(q, qd, qdd)
    for name in columns.unshown:
        if name in base.names:
            column = of_bodies[:, :, base.names.index(name)].ravel()
        else:
            assert name == "Fo10"
            column = np.tile(np.arange(robot.dof) == list(robot.coordinates).index(10), len(q)).astype(float)
        rest = column - W @ np.linalg.lstsq(W, column, rcond=None)[0]
        assert np.linalg.norm(rest) < 1.5 * HIDDEN * np.linalg.norm(column), name
    assert np.linalg.cond(W) < 1e5
