# SPDX-License-Identifier: Apache-2.0
"""A robot with a joint that no inertia resists has all dynamics but the forward ones, and says why."""

from __future__ import annotations

import pickle
from typing import Literal

import numpy as np
import pytest
from properties import examples, given, st
from random_urdf import random_urdf

import dyn_core
from dyn_core.dynamics.unresisted import unresisted_joints

SOLID = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
POINT = '<inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
OBLIQUE = '<axis xyz="0.3 0.4 0.5"/>'


def chain(*parts: tuple[str, str, str]) -> str:
    """Answer a URDF of joints ``j0``, ``j1``, ...: type, content, and content of the link that it carries."""
    links = "".join(f'<link name="l{k}">{part[2]}</link>' for k, part in enumerate((("", "", ""), *parts)))
    joints = "".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>{content}</joint>'
        for k, (kind, content, _) in enumerate(parts)
    )
    return f'<robot name="r">{links}{joints}</robot>'


Y, OFFSET = '<axis xyz="0 1 0"/>', '<origin xyz="0.5 0 0"/>'
ROBOTS = {
    "solid": (chain(("revolute", "", SOLID), ("prismatic", "", SOLID)), ()),
    "leaf without mass": (chain(("revolute", "", SOLID), ("revolute", OFFSET + Y, "")), ("j1",)),
    "links of no mass fixed to the leaf": (
        chain(("revolute", "", SOLID), ("prismatic", "", ""), ("fixed", "", "")),
        ("j1",),
    ),
    "mass beyond a fixed joint": (chain(("revolute", "", ""), ("fixed", OFFSET, SOLID)), ()),
    "nothing has mass": (chain(("revolute", "", ""), ("prismatic", "", "")), ("j0", "j1")),
    "one axis twice": (chain(("revolute", OBLIQUE, ""), ("continuous", OBLIQUE, SOLID)), ("j0",)),
    "more sliders than directions": (
        chain(
            ("prismatic", "", ""),
            ("prismatic", Y, ""),
            ("prismatic", '<axis xyz="1 1 1"/>', ""),
            ("prismatic", '<axis xyz="0 0 1"/>', SOLID),
        ),
        ("j0",),
    ),
    "point on its axis": (chain(("revolute", OFFSET, POINT)), ("j0",)),
    "point beside the axis": (chain(("revolute", "", ""), ("fixed", '<origin xyz="0 1 0"/>', POINT)), ()),
    "mimic that undoes the motion": (
        chain(("revolute", "", ""), ("revolute", '<mimic joint="j0" multiplier="-1"/>', SOLID)),
        ("j0",),
    ),
    "mimic that does not": (chain(("revolute", "", ""), ("revolute", '<mimic joint="j0"/>', SOLID)), ()),
    "rotor": (chain(("revolute", "", SOLID), ("revolute", '<dynamics armature="0.1"/>', "")), ()),
    "floating point": (chain(("floating", "", POINT)), ("j0/yaw", "j0/pitch", "j0/roll")),
    "floating solid": (chain(("floating", "", SOLID)), ()),
    "light finger of a heavy arm": (
        chain(
            ("revolute", "", SOLID.replace('"1"', '"1e4"')), ("revolute", "", SOLID.replace('"1"', '"1e-4"'))
        ),
        (),
    ),
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("backend", ["c", "python"])
def test_forward_dynamics(name: str, backend: Literal["c", "python"]) -> None:
    """One sample, a batch, with wrenches and after pickling; what else the model does, it does."""
    text, unresisted = ROBOTS[name]
    robot = dyn_core.load_robot(text)
    assert unresisted_joints(robot) == unresisted
    model = dyn_core.compile_model(robot, backend=backend)
    n = robot.dof
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 5, n))
    tau = model.inverse_dynamics(q, qd, qdd)
    assert np.isfinite(tau).all()
    if not unresisted:
        np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), qdd, rtol=0.0, atol=1e-6)
        return
    again = pickle.loads(pickle.dumps(model))
    wrenches = {"l1": np.zeros(6)}
    for function in (model.forward_dynamics, again.forward_dynamics):
        for arguments in ((q[0], qd[0], tau[0]), (q, qd, tau), (q, qd, tau, wrenches)):
            with pytest.raises(dyn_core.DynError) as caught:
                function(*arguments)
            assert str(caught.value) == sentence(unresisted)
            assert caught.value.element == f"joint '{unresisted[0]}'"


def sentence(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"'{name}'" for name in names)
    start = "robot 'r' has no forward dynamics: no inertia resists "
    if len(names) == 1:
        return f"{start}joint {shown}: give its link mass and inertia, or the joint a rotor inertia"
    return f"{start}the joints {shown}: give their links mass and inertia, or the joints rotor inertia"


def test_rotors_that_the_model_has_not_resist_nothing() -> None:
    robot = dyn_core.load_robot(ROBOTS["rotor"][0])
    model = dyn_core.compile_model(robot, rotor_inertia=False, backend="python")
    with pytest.raises(dyn_core.DynError, match="no inertia resists joint 'j1'"):
        model.forward_dynamics([0.0] * 2, [0.0] * 2, [0.0] * 2)


@pytest.mark.parametrize(("seed", "joints", "compound"), [(16384, 6, True), (157, 6, True), (874, 3, True)])
def test_joints_that_move_little_where_others_undo_their_motion(
    seed: int, joints: int, compound: bool
) -> None:
    """Of the motion that moves no mass, the first joint has a small part: a tenth and less."""
    robot = dyn_core.load_robot(random_urdf(seed, joints, compound=compound))
    model = dyn_core.compile_model(robot, backend="python")
    q = np.random.default_rng(1).uniform(-2.0, 2.0, (20, robot.dof))
    assert np.linalg.eigvalsh(model.inertia_matrix(q))[:, 0].max() < 1e-12
    assert unresisted_joints(robot)
    with pytest.raises(dyn_core.DynError, match="no inertia resists"):
        model.forward_dynamics(q[0], q[1], q[2])


@examples(150)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 10), compound=st.booleans())
def test_random_trees(seed: int, joints: int, compound: bool) -> None:
    """Trees whose inertia matrix is regular in some position have all joints resisted; others have not."""
    robot = dyn_core.load_robot(random_urdf(seed, joints, compound=compound))
    model = dyn_core.compile_model(robot, backend="python")
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, (20, robot.dof))
    A = model.inertia_matrix(q)
    d = np.sqrt(np.maximum(np.diagonal(A, axis1=1, axis2=2), 1e-300))
    least = np.linalg.eigvalsh(A / d[:, :, None] / d[:, None, :])[:, :1].max(initial=-1.0)
    if robot.dof > 0 and not 1e-12 < least < 1e-6:
        assert (least > 1e-6) == (unresisted_joints(robot) == ())
