# SPDX-License-Identifier: Apache-2.0
"""Random robots: a trajectory that keeps all limits, or a sentence that says why there is none."""

from __future__ import annotations

import numpy as np
from excited import QUICK
from properties import examples, given, st
from random_drives import random_driven_urdf

import dyn_core
from dyn_core import DynError, ExcitationSettings, excite
from dyn_core.excitation.excitation_settings import ForbiddenBox

REFUSALS = ("robot 'random' has no joint", "of 1000 positions the robot may stand at none")


@examples(3)
@given(st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_random_robots(seed: int, joints: int, boxed: bool) -> None:
    """Trees with branches, sliders, joints that mimic others, friction, rotors, and few newton metres."""
    random = np.random.default_rng(seed)
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints), snap=0)
    names = robot.joint_names
    boxes = ()
    if boxed and len(names) > 1:
        corner = {
            name: tuple(sorted(random.uniform(0.1, 3.0, 2) * random.choice([-1, 1]))) for name in names[:2]
        }
        boxes = (ForbiddenBox("corner", corner),)
    settings = ExcitationSettings(boxes=boxes, **{**QUICK, "iterations": 6})
    try:
        excitation = excite(robot, settings)
    except DynError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert refusal.startswith(REFUSALS)
        return
    limits = excitation.limits
    q, qd, qdd = excitation.trajectory.at_many(np.linspace(0.0, excitation.duration, 5003))
    assert ((q >= limits.lower) & (q <= limits.upper)).all()
    assert (np.abs(qd) <= limits.velocity).all()
    assert (np.abs(qdd) <= limits.acceleration).all()
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    assert (np.abs(tau) <= limits.effort).all()
    for box in boxes:
        inside = [
            (q[:, names.index(name)] >= a) & (q[:, names.index(name)] <= b)
            for name, (a, b) in box.ranges.items()
        ]
        assert not np.all(inside, axis=0).any()
    assert excitation.condition >= 1.0
