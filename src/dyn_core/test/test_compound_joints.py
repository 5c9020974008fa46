# SPDX-License-Identifier: Apache-2.0
"""Planar and floating joints: their simple parts, and their motion as URDF defines it.

Two Pinocchio models are the reference: one with the joints replaced by simple ones, one with Pinocchio's
planar and free-flying joints, whose velocities are those of the child in its own frame.
"""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest
from cut_joint import rotation
from par_robots import assert_same_dynamics
from pinocchio_oracle import pin
from properties import examples, given, st
from random_urdf import random_urdf
from refusals import refused
from same_robot import assert_same_robot
from simple_joint_urdf import PARTS, with_planes_of_z
from test_random_robots import assert_agrees

import dyn_core
from dyn_core.robot.joints import Friction, Limits
from dyn_core.robot.mdh.direct_geometry import link_placements

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 0.2 -0.4"/><mass value="2"/>'
    '<inertia ixx="0.5" ixy="0.01" ixz="0.02" iyy="0.6" iyz="-0.03" izz="0.7"/></inertial>'
)
LIMIT = '<limit lower="-2" upper="2" effort="9" velocity="9"/>'
AXES = ("0 0 1", "0 0 -1", "1 0 0", "-2 0 0", "0 1 0", "0 -3 0", "0.3 -0.4 0.5", "1e-9 2e-9 -1", "4 5 -6")


def chain(*joints: str) -> str:
    """Return a URDF of links with mass in a row, and joints between them given by type and content."""
    links = "".join(f'<link name="l{k}">{INERTIAL}</link>' for k in range(len(joints) + 1))
    parts = "\n".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0.2 0.1 -0.3" rpy="0.4 -0.5 0.6"/>{"" if kind in PARTS else LIMIT}{content}</joint>'
        for k, (kind, _, content) in enumerate(joint.partition(" ") for joint in joints)
    )
    return f'<robot name="r">\n{links}\n{parts}\n</robot>'


def planar(axis: str) -> str:
    return f'planar <axis xyz="{axis}"/>'


TURNED = "continuous <axis xyz='1 2 3'/>"
MIXED = {
    "planar below the root": chain(planar("0.3 -0.4 0.5"), "revolute <axis xyz='0 1 0'/>"),
    "planar in the middle": chain("revolute", planar("0 -3 0"), "prismatic", TURNED),
    "planar leaf": chain("revolute", planar("4 5 -6")),
    "floating below the root": chain("floating", "revolute", "prismatic <axis xyz='0 0 1'/>"),
    "floating in the middle": chain("revolute", "floating <axis xyz='0 0 0'/>", "continuous"),
    "floating leaf": chain("continuous", "prismatic", "floating"),
    "both": chain(planar("-1 0 1"), "floating", planar("0 0 -1")),
    "held by fixed joints": chain("fixed", planar("0 1 0"), "fixed", "floating", "fixed"),
}


CHAINS = MIXED | {axis: chain("revolute", planar(axis), "revolute") for axis in AXES}


@pytest.mark.parametrize("name", CHAINS)
def test_dynamics_agree_with_simple_joints(name: str) -> None:
    assert_agrees(CHAINS[name], seed=3, samples=10)


@examples(150)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 6))
def test_random_trees(seed: int, joints: int) -> None:
    assert_agrees(random_urdf(seed, joints, compound=True), seed, samples=2)


@examples(100)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 6), snap=st.sampled_from([0, "digits"]))
def test_written_robots_are_the_same(seed: int, joints: int, snap: float) -> None:
    """The written URDF and .par text has simple joints of the same names."""
    robot = dyn_core.load_robot(random_urdf(seed, joints, compound=True), snap=snap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        text = dyn_core.write_urdf(robot)
    assert not re.search("planar|floating", text)
    assert_same_robot(robot, dyn_core.load_robot(text, snap=snap), seed)
    again = dyn_core.load_robot(dyn_core.write_par(robot), snap=0)
    for names in ("joint_names", "passive_joint_names"):
        assert getattr(again, names) == getattr(robot, names)
    assert_same_dynamics(robot, again, seed)


class NativeJoints:
    """Pinocchio's own planar and free-flying joints, in terms of the coordinates of dyn_core.

    Its velocities are ``v = E(q) qd``. The derivative of E along the motion is computed by a complex step.
    """

    def __init__(self, urdf: str, robot: dyn_core.Robot) -> None:
        self.model = pin.buildModelFromXML(with_planes_of_z(urdf))
        self.model.gravity.linear = np.array(robot.gravity)
        self.data = self.model.createData()
        names = [name.partition("/")[0] for name in robot.joint_names]
        joints = zip(self.model.names, self.model.joints, strict=True)
        self.joints = [(x, [k for k, own in enumerate(names) if own == name]) for name, x in joints]

    def positions(self, q: np.ndarray) -> np.ndarray:
        full = pin.neutral(self.model)
        for joint, columns in self.joints:
            *shift, angle = q[columns] if columns else [0.0]
            if len(columns) == 6:  # x, y, z, yaw, pitch, roll
                parts = [*shift[:3], *pin.Quaternion(rotation(q[columns[:2:-1]])).coeffs()]
            elif joint.nq - len(shift) == 2:
                parts = [*shift, math.cos(angle), math.sin(angle)]
            else:
                parts = q[columns]
            full[joint.idx_q : joint.idx_q + joint.nq] = parts
        return full

    def E(self, q: np.ndarray) -> np.ndarray:
        """Matrix from the velocities of dyn_core to those of Pinocchio."""
        E = np.zeros((self.model.nv, len(q)), dtype=q.dtype)
        for joint, columns in self.joints:
            own = np.eye(len(columns), dtype=q.dtype)
            if len(columns) == 3:
                own = rotation([0.0, 0.0, q[columns[2]]]).T
            elif len(columns) == 6:
                own = free_flyer_rates(*q[columns[:2:-1]])
            E[joint.idx_v : joint.idx_v + joint.nv, columns] = own
        return E

    def E_rate(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        step = 1e-30
        return self.E(q + 1j * step * qd).imag / step


def free_flyer_rates(roll: complex, pitch: complex, yaw: complex) -> np.ndarray:
    """Velocity of the child in its frame, [linear; angular]; one column for each coordinate of dyn_core."""
    R = rotation([roll, pitch, yaw])
    rates = np.zeros((6, 6), dtype=R.dtype)
    rates[:3, :3] = R.T
    rates[3:, 3:] = np.transpose([R[2], rotation([roll, 0.0, 0.0])[1], [1.0, 0.0, 0.0]])
    return rates


@pytest.mark.parametrize("name", MIXED)
def test_dynamics_agree_with_native_joints(name: str) -> None:
    """Poses, kinetic energy, inertia matrix, generalised forces, and accelerations from them."""
    random = np.random.default_rng(7)
    robot = dyn_core.load_robot(MIXED[name], gravity=(1.0, -2.0, -9.0), snap=0)
    model = dyn_core.compile_model(robot, backend="python")
    native = NativeJoints(MIXED[name], robot)
    own = {frame.name for frame in native.model.frames}
    for _ in range(10):
        q, qd, qdd = random.uniform(-1.4, 1.4, (3, robot.dof))
        E = native.E(q)
        v, a = E @ qd, E @ qdd + native.E_rate(q, qd) @ qd
        args = (native.model, native.data, native.positions(q))
        pin.framesForwardKinematics(*args)
        placed = {link: T for link, T in link_placements(robot, q.tolist()).items() if link in own}
        assert len(placed) == MIXED[name].count("<link")
        for link, (R, p) in placed.items():
            frame = native.data.oMf[native.model.getFrameId(link, pin.FrameType.BODY)]
            expected = [*frame.rotation, frame.translation]
            np.testing.assert_allclose([*R, p], expected, rtol=0.0, atol=1e-13)
        A = model.inertia_matrix(q)
        assert 0.5 * qd @ A @ qd == pytest.approx(pin.computeKineticEnergy(*args, v), rel=1e-12)
        half = pin.crba(*args)
        M = np.triu(half) + np.triu(half, 1).T
        np.testing.assert_allclose(A, E.T @ M @ E, rtol=0.0, atol=1e-12 * np.abs(A).max())
        torques, expected = model.inverse_dynamics(q, qd, qdd), E.T @ pin.rnea(*args, v, a)
        np.testing.assert_allclose(torques, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
        again = model.forward_dynamics(q, qd, expected)
        np.testing.assert_allclose(again, qdd, rtol=0.0, atol=1e-13 * np.linalg.cond(A))


def test_names_of_the_simple_joints() -> None:
    robot = dyn_core.load_robot(chain(planar("0 0 1"), "floating", "revolute"))
    parts = [f"j0/{part}" for part in ("x", "y", "theta")]
    parts += [f"j1/{part}" for part in ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")]
    assert robot.joint_names == (*parts, "j2")
    inner = [f"{part}_link" for part in parts]
    assert robot.link_names == ("l0", *inner[:2], "l1", *inner[3:8], "l2", "l3")
    assert [joint.position_unit for joint in robot.joints] == ["m", "m", "rad", "m", "m", "m", *["rad"] * 4]
    assert robot.limits["j0/x"] == robot.limits["j1/yaw"] == Limits()


def test_the_default_axis_is_x_and_a_rounded_axis_is_snapped() -> None:
    assert_same_robot(*(dyn_core.load_robot(chain(text)) for text in ("planar", planar("1 0 0"))))
    snapped = dyn_core.load_robot(chain(planar("0.7071 0.7071 1e-05")))
    assert [(one.element, one.parameter) for one in snapped.snapped] == [("joint 'j0'", "axis xyz[2]")]
    assert_same_robot(snapped, dyn_core.load_robot(chain(planar("1 1 0"))))


DIRECTIONS = {
    "0 0 1": ((1, 0, 0), (0, 1, 0)),
    "0 0 -1": ((1, 0, 0), (0, -1, 0)),
    "6e-17 -6e-17 -1": ((1, 0, 0), (0, -1, 0)),
    "5 0 0": ((0, 0, -1), (0, 1, 0)),
    "0 5 0": ((1, 0, 0), (0, 0, -1)),
    "-1 0 0": ((0, 0, 1), (0, 1, 0)),
}


@pytest.mark.parametrize("axis", DIRECTIONS)
def test_directions_in_the_plane_follow_the_smallest_rotation(axis: str) -> None:
    """By hand: the rotation from z to the axis also turns x and y."""
    x, y = DIRECTIONS[axis]
    robot = dyn_core.load_robot(chain(planar(axis)).replace('rpy="0.4 -0.5 0.6"', ""), snap=0)
    positions = ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, math.pi / 2])
    start, *moved, turned = (link_placements(robot, q)["l1"] for q in positions)
    np.testing.assert_allclose(np.subtract([T.p for T in moved], start.p), [x, y], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(turned.R @ np.array(x), y, rtol=0.0, atol=1e-15)


def test_parts_have_an_actuator_only_where_ros2_control_commands_them() -> None:
    urdf = chain(planar("0 0 1"), "floating", "revolute")
    robot = dyn_core.load_robot(urdf)
    assert (robot.actuated_joint_names, len(robot.passive_joint_names)) == (("j2",), 9)
    control = """<ros2_control name="c" type="system">
      <joint name="j0/x"><command_interface name="effort"/><param name="rotor_inertia">3</param></joint>
      <joint name="j0/y"><state_interface name="position"/></joint><joint name="j1"/>
      <joint name="j2"><command_interface name="effort"/></joint></ros2_control></robot>"""
    driven = dyn_core.load_robot(urdf.replace("</robot>", control))
    assert driven.actuated_joint_names == ("j0/x", "j2")
    assert (driven.joint("j0/x").Ia, driven.joint("j0/y").Ia) == (3.0, 0.0)
    side = {"passive": ["j0/x"], "friction": {"j1/yaw": {"viscous": 2.0}}, "rotor_inertia": {"j0/y": 1.0}}
    told = dyn_core.load_robot(urdf.replace("</robot>", control), loops=side)
    assert told.passive_joint_names == ("j0/x",)
    assert (told.joint("j1/yaw").friction.Fv, told.joint("j0/y").Ia) == (2.0, 1.0)
    for entry in ({"passive": ["j1"]}, {"friction": {"j1": {"viscous": 1.0}}}):
        with refused("compound-joint-named", joint="j1"):
            dyn_core.load_robot(urdf, loops=entry)


CONTROL = '<ros2_control><joint name="j0"><command_interface name="velocity"/></joint></ros2_control>'
ROTOR = '<joint name="j0"/><actuator><drake:rotor_inertia value="1"/></actuator>'
UNUSED = (
    ('planar <limit lower="-1" upper="1"/>', "", "compound-element-unused", {"tag": "limit"}),
    ('planar <dynamics damping="1 1 1"/>', "", "compound-element-unused", {"tag": "dynamics"}),
    ('planar <limit effort="4"/><dynamics friction="nan"/>', "", "compound-limit-and-dynamics-unused", {}),
    ("planar", f"<transmission>{ROTOR}</transmission>", "compound-rotor-inertia-unused", {}),
    ("planar", CONTROL, "compound-command-interface-unused", {}),
)


@pytest.mark.parametrize(("joint", "more", "code", "values"), UNUSED)
def test_elements_that_urdf_does_not_define_give_a_warning(
    joint: str, more: str, code: str, values: dict
) -> None:
    with pytest.warns(dyn_core.ModelWarning) as caught:
        robot = dyn_core.load_robot(chain(joint).replace("</robot>", f"{more}</robot>"))
    (warning,) = (warning.message for warning in caught)
    assert (warning.code, str(warning.place)) == (code, "joint 'j0' (line 3)")
    assert warning.values == {"joint_type": "planar", "parts": ("j0/x", "j0/y", "j0/theta"), **values}
    assert all(joint.friction == Friction() and joint.Ia == 0.0 for joint in robot.joints)
    assert robot.actuated_joint_names == ()


def test_zeros_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dyn_core.load_robot(chain('floating <limit effort="0" velocity="0.0"/><dynamics damping="0"/>'))


def test_loops_may_end_on_compound_joints() -> None:
    """On the child, on links fixed to it, and within the chain of simple joints."""
    urdf = chain("floating", "revolute", "fixed", planar("0 1 0"))
    loop = {"type": "spherical", "parent": {"link": "l0"}, "child": {"link": "l3", "xyz": [1, 2, 3]}}
    inner = {"type": "revolute", "parent": {"link": "l1"}, "child": {"link": "j3/x_link"}}
    robot = dyn_core.load_robot(urdf, loops={"loops": [{"name": "a", **loop}, {"name": "b", **inner}]})
    assert [(cut.parent.link, cut.child.link) for cut in robot.loops] == [("l0", "l3"), ("l1", "j3/x_link")]
    assert robot.loops[0].child.T_link_cut.p == (1.0, 2.0, 3.0)


def test_yaw_pitch_roll_are_those_of_urdf() -> None:
    """The child is where an <origin> with the same numbers would put it."""
    robot = dyn_core.load_robot(re.sub(' rpy="[^"]*"', "", chain("floating")), snap=0)
    origin = 'xyz="0.7 -0.5 0.4" rpy="1.1 -0.4 0.3"'
    fixed = dyn_core.load_robot(chain("fixed").replace('xyz="0.2 0.1 -0.3" rpy="0.4 -0.5 0.6"', origin))
    here = link_placements(robot, [0.5, -0.6, 0.7, 0.3, -0.4, 1.1])["l1"]
    there = link_placements(fixed, [])["l1"]
    np.testing.assert_allclose([*here.R, here.p], [*there.R, there.p], rtol=0.0, atol=1e-15)
