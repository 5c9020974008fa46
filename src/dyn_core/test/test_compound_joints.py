# SPDX-License-Identifier: Apache-2.0
"""Planar and floating joints: their parts, and that they move as URDF says.

The oracle is Pinocchio, twice: with the joints spelled out as simple ones, and with its own planar and
free-flying joints, whose velocities are those of the child in its own frame.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from par_robots import assert_same_dynamics
from pinocchio_oracle import pin
from properties import examples, given, st
from random_urdf import random_urdf
from same_robot import assert_same_robot
from spelled_out import PARTS, with_planes_of_z
from test_against_pinocchio import assert_agrees

import dyn_core
from dyn_core.geometry.forward import link_placements
from dyn_core.robot.joints import Friction, Limits

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 0.2 -0.4"/><mass value="2"/>'
    '<inertia ixx="0.5" ixy="0.01" ixz="0.02" iyy="0.6" iyz="-0.03" izz="0.7"/></inertial>'
)
MODEL_WARNING = dyn_core.ModelWarning
LIMIT = '<limit lower="-2" upper="2" effort="9" velocity="9"/>'
AXES = ("0 0 1", "0 0 -1", "1 0 0", "-2 0 0", "0 1 0", "0 -3 0", "0.3 -0.4 0.5", "1e-9 2e-9 -1", "4 5 -6")


def chain(*joints: str) -> str:
    """Answer a URDF of links with mass, a joint between each and the next: its type and what it holds."""
    links = "".join(f'<link name="l{k}">{INERTIAL}</link>' for k in range(len(joints) + 1))
    parts = "\n".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0.2 0.1 -0.3" rpy="0.4 -0.5 0.6"/>{"" if kind in PARTS else LIMIT}{content}</joint>'
        for k, (kind, _, content) in enumerate(joint.partition(" ") for joint in joints)
    )
    return f'<robot name="r">\n{links}\n{parts}\n</robot>'


def planar(axis: str) -> str:
    return f'planar <axis xyz="{axis}"/>'


MIXED = {
    "planar below the root": chain(planar("0.3 -0.4 0.5"), "revolute <axis xyz='0 1 0'/>"),
    "planar in the middle": chain(
        "revolute", planar("0 -3 0"), "prismatic", "continuous <axis xyz='1 2 3'/>"
    ),
    "planar leaf": chain("revolute", planar("4 5 -6")),
    "floating below the root": chain("floating", "revolute", "prismatic <axis xyz='0 0 1'/>"),
    "floating in the middle": chain("revolute", "floating <axis xyz='0 0 0'/>", "continuous"),
    "floating leaf": chain("continuous", "prismatic", "floating"),
    "both": chain(planar("-1 0 1"), "floating", planar("0 0 -1")),
    "held by fixed joints": chain("fixed", planar("0 1 0"), "fixed", "floating", "fixed"),
}


@pytest.mark.parametrize("name", MIXED)
def test_dynamics_are_those_of_the_simple_joints(name: str) -> None:
    assert_agrees(MIXED[name], seed=3, samples=10)


@pytest.mark.parametrize("axis", AXES)
def test_any_axis(axis: str) -> None:
    assert_agrees(chain("revolute", planar(axis), "revolute"), seed=4, samples=5)


@examples(150)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 6))
def test_random_trees(seed: int, joints: int) -> None:
    assert_agrees(random_urdf(seed, joints, compound=True), seed, samples=2)


@examples(100)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 6), snap=st.sampled_from([0, "digits"]))
def test_written_robots_are_the_same(seed: int, joints: int, snap: float) -> None:
    """URDF and .par text has simple joints of the same names."""
    robot = dyn_core.load_robot(random_urdf(seed, joints, compound=True), snap=snap)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*URDF has no place for passive", category=MODEL_WARNING)
        text = dyn_core.write_urdf(robot)
    assert "planar" not in text
    assert "floating" not in text
    assert_same_robot(robot, dyn_core.load_robot(text, snap=snap), seed)
    again = dyn_core.load_robot(dyn_core.write_par(robot), snap=0)
    assert again.joint_names == robot.joint_names
    assert again.passive_joint_names == robot.passive_joint_names
    assert_same_dynamics(robot, again, seed)


class NativeJoints:
    """Pinocchio's own planar and free-flying joints, in terms of the coordinates of dyn_core.

    Its velocities are ``v = E(q) qd``. The derivative of E along the motion is had by a complex step.
    """

    def __init__(self, urdf: str, robot: dyn_core.Robot) -> None:
        self.model = pin.buildModelFromXML(with_planes_of_z(urdf))
        self.model.gravity.linear = np.array(robot.gravity)
        self.data = self.model.createData()
        self.columns = {name: k for k, name in enumerate(robot.joint_names)}

    def positions(self, q: np.ndarray) -> np.ndarray:
        full = pin.neutral(self.model)
        for name, joint in zip(self.model.names, self.model.joints, strict=True):
            if "FreeFlyer" in joint.shortname():
                x = q[self._of(name, "trans_x", "trans_y", "trans_z", "roll", "pitch", "yaw")]
                quaternion = pin.Quaternion(pin.rpy.rpyToMatrix(x[3:])).coeffs()
                parts = np.concatenate((x[:3], quaternion))
            elif "Planar" in joint.shortname():
                x, y, theta = q[self._of(name, "x", "y", "theta")]
                parts = [x, y, math.cos(theta), math.sin(theta)]
            elif name in self.columns:
                angle = q[self.columns[name]]
                parts = [math.cos(angle), math.sin(angle)] if joint.nq == 2 else [angle]
            else:
                continue
            full[joint.idx_q : joint.idx_q + joint.nq] = parts
        return full

    def E(self, q: np.ndarray) -> np.ndarray:
        """Matrix from the velocities of dyn_core to those of Pinocchio."""
        E = np.zeros((self.model.nv, len(q)), dtype=q.dtype)
        for name, joint in zip(self.model.names, self.model.joints, strict=True):
            rows = slice(joint.idx_v, joint.idx_v + joint.nv)
            if "FreeFlyer" in joint.shortname():
                columns = self._of(name, "trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")
                E[rows, columns] = free_flyer_rates(*q[columns[3:]])
            elif "Planar" in joint.shortname():
                columns = self._of(name, "x", "y", "theta")
                c, s = np.cos(q[columns[2]]), np.sin(q[columns[2]])
                E[rows, columns] = [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
            elif name in self.columns:
                E[rows, self.columns[name]] = 1.0
        return E

    def E_rate(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        step = 1e-30
        return self.E(q + 1j * step * qd).imag / step

    def _of(self, name: str, *parts: str) -> list[int]:
        return [self.columns[f"{name}/{part}"] for part in parts]


def free_flyer_rates(yaw: complex, pitch: complex, roll: complex) -> np.ndarray:
    """Velocity of the child in its own frame, [linear; angular], a column a coordinate of dyn_core."""
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    cr, sr = np.cos(roll), np.sin(roll)
    Rz = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
    Ry = np.array([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
    Rx = np.array([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
    rates = np.zeros((6, 6), dtype=Rz.dtype)
    rates[:3, :3] = (Rz @ Ry @ Rx).T
    rates[3:, 3:] = np.transpose([(Ry @ Rx).T @ [0.0, 0.0, 1.0], Rx.T @ [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    return rates


@pytest.mark.parametrize("name", MIXED)
def test_dynamics_are_those_of_native_joints(name: str) -> None:
    """Poses, kinetic energy, inertia matrix, generalised forces, and accelerations from them."""
    random = np.random.default_rng(7)
    robot = dyn_core.load_robot(MIXED[name], gravity=(1.0, -2.0, -9.0), snap=0)
    model = dyn_core.compile_model(robot, backend="python")
    native = NativeJoints(MIXED[name], robot)
    own = {frame.name for frame in native.model.frames}
    for _ in range(10):
        q, qd, qdd = random.uniform(-1.4, 1.4, (3, robot.dof))
        q_pin, E = native.positions(q), native.E(q)
        v = E @ qd
        a = E @ qdd + native.E_rate(q, qd) @ qd

        pin.framesForwardKinematics(native.model, native.data, q_pin)
        compared = 0
        for link, (R, p) in link_placements(robot, q.tolist()).items():
            if link in own:
                frame = native.data.oMf[native.model.getFrameId(link, pin.FrameType.BODY)]
                np.testing.assert_allclose(R, frame.rotation, rtol=0.0, atol=1e-13)
                np.testing.assert_allclose(p, frame.translation, rtol=0.0, atol=1e-13)
                compared += 1
        assert compared == MIXED[name].count("<link")

        A = model.inertia_matrix(q)
        energy = pin.computeKineticEnergy(native.model, native.data, q_pin, v)
        assert 0.5 * qd @ A @ qd == pytest.approx(energy, rel=1e-12)
        half = pin.crba(native.model, native.data, q_pin)
        M = np.triu(half) + np.triu(half, 1).T
        np.testing.assert_allclose(A, E.T @ M @ E, rtol=0.0, atol=1e-12 * np.abs(A).max())

        torques = model.inverse_dynamics(q, qd, qdd)
        expected = E.T @ pin.rnea(native.model, native.data, q_pin, v, a)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(torques, expected, rtol=0.0, atol=1e-12 * scale)
        again = model.forward_dynamics(q, qd, expected)
        np.testing.assert_allclose(again, qdd, rtol=0.0, atol=1e-13 * np.linalg.cond(A))


def test_names() -> None:
    robot = dyn_core.load_robot(chain(planar("0 0 1"), "floating", "revolute"))
    parts = [f"j0/{part}" for part in ("x", "y", "theta")]
    parts += [f"j1/{part}" for part in ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")]
    assert robot.joint_names == (*parts, "j2")
    inner = [f"{part}_link" for part in parts]
    assert robot.link_names == ("l0", *inner[:2], "l1", *inner[3:8], "l2", "l3")
    assert [joint.position_unit for joint in robot.joints] == ["m", "m", "rad", "m", "m", "m", *["rad"] * 4]
    assert robot.limits["j0/x"] == robot.limits["j1/yaw"] == Limits()


def test_the_axis_is_x_where_none_is_given_and_a_rounding_of_it_is_snapped() -> None:
    default = dyn_core.load_robot(chain("planar"))
    assert_same_robot(default, dyn_core.load_robot(chain(planar("1 0 0"))))
    snapped = dyn_core.load_robot(chain(planar("0.7071 0.7071 1e-05")))
    assert [(record.element, record.parameter) for record in snapped.snapped] == [
        ("joint 'j0'", "axis xyz[2]")
    ]
    assert_same_robot(snapped, dyn_core.load_robot(chain(planar("1 1 0"))))


@pytest.mark.parametrize(
    ("axis", "x", "y"),
    [
        ("0 0 1", (1, 0, 0), (0, 1, 0)),
        ("0 0 -1", (1, 0, 0), (0, -1, 0)),
        ("6e-17 -6e-17 -1", (1, 0, 0), (0, -1, 0)),
        ("5 0 0", (0, 0, -1), (0, 1, 0)),
        ("0 5 0", (1, 0, 0), (0, 0, -1)),
        ("-1 0 0", (0, 0, 1), (0, 1, 0)),
    ],
)
def test_directions_in_the_plane(axis: str, x: tuple[float, ...], y: tuple[float, ...]) -> None:
    """By hand: the axis that z turns into takes x and y with it."""
    robot = dyn_core.load_robot(chain(planar(axis)).replace('rpy="0.4 -0.5 0.6"', ""), snap=0)
    start = np.array(link_placements(robot, [0.0, 0.0, 0.0])["l1"].p)
    moved = [np.array(link_placements(robot, q)["l1"].p) for q in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])]
    np.testing.assert_allclose(moved - start, [x, y], rtol=0.0, atol=1e-15)
    turned = np.array(link_placements(robot, [0.0, 0.0, math.pi / 2])["l1"].R)
    np.testing.assert_allclose(turned @ x, y, rtol=0.0, atol=1e-15)


def test_parts_have_an_actuator_only_where_ros2_control_commands_them() -> None:
    urdf = chain(planar("0 0 1"), "floating", "revolute")
    robot = dyn_core.load_robot(urdf)
    assert robot.actuated_joint_names == ("j2",)
    assert len(robot.passive_joint_names) == 9

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


@pytest.mark.parametrize("entry", [{"passive": ["j1"]}, {"friction": {"j1": {"viscous": 1.0}}}])
def test_a_side_file_names_parts(entry: dict[str, object]) -> None:
    with pytest.raises(
        dyn_core.DynError, match=r"no moving joint 'j1': name 'j1/trans_x', 'j1/trans_y', .* 'j1/roll'$"
    ):
        dyn_core.load_robot(chain("revolute", "floating"), loops=entry)


UNUSED = (
    (
        'planar <limit lower="-1" upper="1"/>',
        "",
        "<limit>",
        "in a side file, give friction and rotor inertia to",
    ),
    (
        'planar <dynamics damping="1 1 1"/>',
        "",
        "<dynamics>",
        "in a side file, give friction and rotor inertia to",
    ),
    (
        'planar <limit effort="4"/><dynamics friction="nan"/>',
        *("", "<limit> and <dynamics>", "in a side file, give friction and rotor inertia to"),
    ),
    (
        "planar",
        '<transmission><joint name="j0"/><actuator><drake:rotor_inertia value="1"/></actuator>'
        "</transmission>",
        *("a rotor inertia", "give one to"),
    ),
    (
        "planar",
        '<ros2_control><joint name="j0"><command_interface name="velocity"/></joint></ros2_control>',
        *("<command_interface>", "give one to those with an actuator among"),
    ),
)


@pytest.mark.parametrize(("joint", "more", "what", "remedy"), UNUSED)
def test_what_urdf_does_not_define_is_remarked(joint: str, more: str, what: str, remedy: str) -> None:
    text = chain(joint).replace("</robot>", f"{more}</robot>")
    with pytest.warns(dyn_core.ModelWarning) as caught:
        robot = dyn_core.load_robot(text)
    assert [str(warning.message) for warning in caught] == [
        f"joint 'j0' (line 3): what {what} says is not used, since URDF does not define it for a planar "
        f"joint: {remedy} 'j0/x', 'j0/y', 'j0/theta'"
    ]
    assert all(joint.friction == Friction() and joint.Ia == 0.0 for joint in robot.joints)
    assert robot.actuated_joint_names == ()


def test_zeros_are_no_news() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dyn_core.load_robot(chain('floating <limit effort="0" velocity="0.0"/><dynamics damping="0"/>'))


def test_frames_of_loops() -> None:
    """A loop may end on the child of a compound joint, on links fixed to it, and within the chain."""
    urdf = chain("floating", "revolute", "fixed", planar("0 1 0"))
    loop = {"type": "spherical", "parent": {"link": "l0"}, "child": {"link": "l3", "xyz": [1, 2, 3]}}
    inner = {"type": "revolute", "parent": {"link": "l1"}, "child": {"link": "j3/x_link"}}
    robot = dyn_core.load_robot(urdf, loops={"loops": [{"name": "a", **loop}, {"name": "b", **inner}]})
    assert [(cut.parent.link, cut.child.link) for cut in robot.loops] == [("l0", "l3"), ("l1", "j3/x_link")]
    assert robot.loops[0].child.T_link_cut.p == (1.0, 2.0, 3.0)


def test_yaw_pitch_roll_are_those_of_urdf() -> None:
    """At these positions the child is where an <origin> of the same numbers would put it."""
    q = [0.5, -0.6, 0.7, 0.3, -0.4, 1.1]
    robot = dyn_core.load_robot(chain("floating").replace("rpy=", "none="), snap=0)
    origin = '<origin xyz="0.7 -0.5 0.4" rpy="1.1 -0.4 0.3"/>'
    fixed = dyn_core.load_robot(
        chain("fixed").replace('<origin xyz="0.2 0.1 -0.3" rpy="0.4 -0.5 0.6"/>', origin)
    )
    here, there = link_placements(robot, q)["l1"], link_placements(fixed, [])["l1"]
    np.testing.assert_allclose(here.R, there.R, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(here.p, there.p, rtol=0.0, atol=1e-15)
