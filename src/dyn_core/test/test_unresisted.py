# SPDX-License-Identifier: Apache-2.0
"""A robot with a joint without inertia has all dynamics except forward dynamics, and the error says why."""

from __future__ import annotations

import pickle
from typing import Literal

import numpy as np
import pytest
from depth import some
from properties import examples, given, st
from random_urdf import random_urdf
from refusals import refused

import dyn_core
from dyn_core.algorithms.dynamics.direct_dynamics import unresisted_joints

POINT = '<inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
SOLID = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def chain(*parts: tuple[str, str, str]) -> str:
    """Return a URDF of joints ``j0``, ``j1``, ....

    Type, content, and content of the link that each carries.
    """
    links, joints = '<link name="l0"/>', ""
    for k, (kind, content, body) in enumerate(parts):
        links += f'<link name="l{k + 1}">{body}</link>'
        ends = f'<parent link="l{k}"/><child link="l{k + 1}"/>'
        joints += f'<joint name="j{k}" type="{kind}">{ends}{content}</joint>'
    return f'<robot name="r">{links}{joints}</robot>'


AXES = ("1 0 0", "0 1 0", "0 0 1", "1 1 1", "0.3 0.4 0.5")
X, Y, Z, XYZ, OBLIQUE = (f'<axis xyz="{axis}"/>' for axis in AXES)
OFFSET, BESIDE = '<origin xyz="0.5 0 0"/>', '<origin xyz="0 1 0"/>'
MIMIC, UNDOES = '<mimic joint="j0"/>', '<mimic joint="j0" multiplier="-1"/>'
HEAVY, LIGHT = SOLID.replace('"1"', '"1e4"'), SOLID.replace('"1"', '"1e-4"')
T, S, F = "revolute", "prismatic", "fixed"
ROBOTS = {
    "solid": (chain((T, "", SOLID), (S, "", SOLID)), ()),
    "leaf without mass": (chain((T, "", SOLID), (T, OFFSET + Y, "")), ("j1",)),
    "links of no mass fixed to the leaf": (chain((T, "", SOLID), (S, "", ""), (F, "", "")), ("j1",)),
    "mass beyond a fixed joint": (chain((T, "", ""), (F, OFFSET, SOLID)), ()),
    "nothing has mass": (chain((T, "", ""), (S, "", "")), ("j0", "j1")),
    "one axis twice": (chain((T, OBLIQUE, ""), ("continuous", OBLIQUE, SOLID)), ("j0",)),
    "more sliders than directions": (chain((S, X, ""), (S, Y, ""), (S, XYZ, ""), (S, Z, SOLID)), ("j0",)),
    "point on its axis": (chain((T, OFFSET, POINT)), ("j0",)),
    "point beside the axis": (chain((T, "", ""), (F, BESIDE, POINT)), ()),
    "mimic that undoes the motion": (chain((T, "", ""), (T, UNDOES, SOLID)), ("j0",)),
    "mimic that does not": (chain((T, "", ""), (T, MIMIC, SOLID)), ()),
    "rotor": (chain((T, "", SOLID), (T, '<dynamics armature="0.1"/>', "")), ()),
    "floating point": (chain(("floating", "", POINT)), ("j0/yaw", "j0/pitch", "j0/roll")),
    "floating solid": (chain(("floating", "", SOLID)), ()),
    "light finger of a heavy arm": (chain((T, "", HEAVY), (T, "", LIGHT)), ()),
}
NAMED = ("python", ("c", "solid"), ("c", "one axis twice"))


@pytest.mark.parametrize(("backend", "name"), some([(b, n) for n in ROBOTS for b in ("c", "python")], *NAMED))
def test_forward_dynamics_without_inertia_are_refused(backend: Literal["c", "python"], name: str) -> None:
    """One sample, a batch, with wrenches and after pickling; all other functions work."""
    text, unresisted = ROBOTS[name]
    robot = dyn_core.load_robot(text)
    assert unresisted_joints(robot) == unresisted
    model = dyn_core.compile_model(robot, backend=backend)
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 5, robot.dof))
    tau = model.inverse_dynamics(q, qd, qdd)
    assert np.isfinite(tau).all()
    if not unresisted:
        np.testing.assert_allclose(model.forward_dynamics(q, qd, tau), qdd, rtol=0.0, atol=1e-6)
        return
    code = "joint-without-inertia" if len(unresisted) == 1 else "joints-without-inertia"
    again = pickle.loads(pickle.dumps(model))
    wrenches = {"l1": np.zeros(6)}
    for function in (model.forward_dynamics, again.forward_dynamics):
        for arguments in ((q[0], qd[0], tau[0]), (q, qd, tau), (q, qd, tau, wrenches)):
            with refused(code, robot="r", joints=list(unresisted)) as caught:
                function(*arguments)
            assert caught.value.element == f"joint '{unresisted[0]}'"


def test_rotors_left_out_of_the_model_give_no_inertia() -> None:
    robot = dyn_core.load_robot(ROBOTS["rotor"][0])
    model = dyn_core.compile_model(robot, rotor_inertia=False, backend="python")
    with refused("joint-without-inertia", joints=["j1"]):
        model.forward_dynamics(*np.zeros((3, 2)))


@pytest.mark.parametrize(("seed", "joints"), [(16384, 6), (157, 6), (874, 3)])
def test_joints_with_a_small_part_in_motion_without_inertia_are_found(seed: int, joints: int) -> None:
    """The first joint has only a tenth or less of the motion that moves no mass."""
    robot = dyn_core.load_robot(random_urdf(seed, joints, compound=True))
    model = dyn_core.compile_model(robot, backend="python")
    q = np.random.default_rng(1).uniform(-2.0, 2.0, (20, robot.dof))
    assert np.linalg.eigvalsh(model.inertia_matrix(q))[:, 0].max() < 1e-12
    assert unresisted_joints(robot)
    with refused("joint-without-inertia"):
        model.forward_dynamics(q[0], q[1], q[2])


@examples(150)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 10), compound=st.booleans())
def test_joints_without_inertia_in_random_trees(seed: int, joints: int, compound: bool) -> None:
    """Trees whose inertia matrix is regular in some position have none; other trees have some."""
    robot = dyn_core.load_robot(random_urdf(seed, joints, compound=compound))
    model = dyn_core.compile_model(robot, backend="python")
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, (20, robot.dof))
    A = model.inertia_matrix(q)
    d = np.sqrt(np.maximum(np.diagonal(A, axis1=1, axis2=2), 1e-300))
    least = np.linalg.eigvalsh(A / d[:, :, None] / d[:, None, :])[:, :1].max(initial=-1.0)
    if robot.dof > 0 and not 1e-12 < least < 1e-6:
        assert (least > 1e-6) == (unresisted_joints(robot) == ())
