# SPDX-License-Identifier: Apache-2.0
"""What models of robots on a moving base take, answer and refuse."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from moving_base_cases import free_case, free_state

import dyn_core
from dyn_core.model.moving_base.compiled_model import MovingBaseModel
from dyn_core.robot.joints import Sigma

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 0.2 -0.1"/><mass value="2"/><inertia ixx="0.1" ixy="0.01" '
    'ixz="0" iyy="0.2" iyz="0.02" izz="0.15"/></inertial></link>'
)
ARM = (
    f'<robot name="arm">{LINK.format("hull")}{LINK.format("upper")}{LINK.format("slide")}'
    '<joint name="j1" type="continuous"><parent link="hull"/><child link="upper"/><origin xyz="0.2 0 0.1" '
    'rpy="0.3 0 0"/><axis xyz="0 1 0"/></joint><joint name="j2" type="prismatic"><parent link="upper"/>'
    '<child link="slide"/><origin xyz="0.4 0 0"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="9" '
    'velocity="9"/></joint></robot>'
)
STATE = free_state(np.random.default_rng(3), 2)
MOVED = (STATE.pose, STATE.V, STATE.q, STATE.qd)


@pytest.fixture(scope="module", params=["c", "python"])
def model(request: pytest.FixtureRequest) -> MovingBaseModel:
    return dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", backend=request.param)


def test_the_planar_robot_of_symoro() -> None:
    """Example 1.6: its MDH parameters (table 1.6), and what the ground does to it."""
    robot = dyn_core.load_robot(ROBOTS / "planar_base.urdf")
    model = dyn_core.compile_moving_base(robot, backend="python")
    assert (model.base.kind, model.base_link, model.base.freedom) == ("planar", "body", 3)
    assert model.joint_names == ("steering", "castor_wheel", "left_wheel_joint", "right_wheel_joint")
    virtual, tree = robot.joints[:3], robot.joints[3:]
    assert [joint.sigma for joint in virtual] == [Sigma.PRISMATIC, Sigma.PRISMATIC, Sigma.REVOLUTE]
    assert [robot.bodies[j].M for j in (1, 2)] == [0.0, 0.0]
    assert [joint.antecedent for joint in tree] == [3, 4, 3, 3]
    assert [round(abs(joint.mdh.alpha), 12) for joint in tree] == [0.0, *[round(np.pi / 2, 12)] * 3]
    np.testing.assert_allclose([joint.mdh.d for joint in tree], [0.4, 0.08, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose([(joint.mdh.b, joint.mdh.r) for joint in tree], 0.0, atol=1e-15)

    # Both wheels push with f at the ground while they roll: the robot goes straight on, and what turns the
    # wheels is the push times their radius, and their own inertia.
    radius, mass, own = 0.1, 24.0 + 0.6 + 0.8 + 2.0 * 2.3, 0.0115
    push = 6.0
    ground = {
        f"{side}_wheel": np.array([-push, 0.0, 0.0, 0.0, radius * push, 0.0]) for side in ("left", "right")
    }
    still = np.zeros(4)
    ahead = 2.0 * push / mass
    rolling = np.array([0.0, 0.0, ahead / radius, ahead / radius])
    found = model.inverse_dynamics(np.zeros(3), np.zeros(3), still, still, rolling, ground)
    np.testing.assert_allclose(found[:3], [ahead, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found[5:], radius * push + own * ahead / radius, atol=1e-12)


def test_a_body_alone() -> None:
    """A body without joints falls and turns as Euler's equations say, also in one call of C."""
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/>'
    urdf = f'<robot name="body"><link name="b"><inertial><mass value="3"/>{inertia}</inertial></link></robot>'
    w = np.array([0.3, -0.7, 1.1])
    J = np.diag([1.0, 2.0, 2.5])
    for backend in ("c", "python"):
        model = dyn_core.compile_moving_base(dyn_core.load_robot(urdf), "free", backend=backend)
        none = np.zeros(0)
        found = model.forward_dynamics([0, 0, 0, 0, 0, 0, 1], [1, 2, 3, *w], none, none, none)
        turned = -np.linalg.solve(J, np.cross(w, J @ w))
        np.testing.assert_allclose(found, [0.0, 0.0, -9.81, *turned], atol=1e-13)


def test_a_quaternion_of_another_length(model: MovingBaseModel) -> None:
    """It is refused, with the sample; one that is nearly of length 1 stands for the rotation next to it."""
    pose = STATE.pose.copy()
    pose[3:] *= 1.1
    with pytest.raises(
        ValueError, match=r"pose: the quaternion \(x, y, z, w\) has the length 1\.1: give one"
    ):
        model.forward_dynamics(pose, STATE.V, STATE.q, STATE.qd, STATE.tau)
    batch = [np.tile(x, (5, 1)) for x in (STATE.pose, *MOVED[1:])]
    batch[0][3, 3:] = 0.0
    with pytest.raises(ValueError, match=r"of sample 3 has the length 0"):
        model.bias_forces(*batch)
    pose = STATE.pose.copy()
    pose[3:] *= 1.0 + 1e-4
    np.testing.assert_allclose(model.bias_forces(pose, *MOVED[1:]), model.bias_forces(*MOVED), rtol=1e-12)


def test_what_is_not_finite(model: MovingBaseModel) -> None:
    """One number that is not finite gives NaN throughout, in its sample alone."""
    arrays = [np.tile(x, (4, 1)) for x in (*MOVED, STATE.tau)]
    expected = model.forward_dynamics(*arrays)
    for k, name in enumerate(("pose", "V", "q", "qd", "tau")):
        spoilt = [array.copy() for array in arrays]
        spoilt[k][2, -1] = np.nan if name != "tau" else np.inf
        found = model.forward_dynamics(*spoilt)
        assert np.isnan(found[2]).all(), name
        np.testing.assert_array_equal(np.delete(found, 2, axis=0), np.delete(expected, 2, axis=0))
        assert np.isnan(model.forward_dynamics(*(array[2] for array in spoilt))).all()


def test_shapes(model: MovingBaseModel) -> None:
    pose, V, q, qd = MOVED
    with pytest.raises(ValueError, match=r"V: expected the shape \(6,\) or \(N, 6\), but it has \(3,\)"):
        model.bias_forces(pose, V[:3], q, qd)
    with pytest.raises(ValueError, match=r"qd: expected the shape \(2,\) beside pose, but it has \(4, 2\)"):
        model.bias_forces(pose, V, q, np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"out: expected the shape \(8,\), but it has \(2,\)"):
        model.forward_dynamics(pose, V, q, qd, STATE.tau, out=np.zeros(2))
    with pytest.raises(ValueError, match=r"F: expected the shape \(6,\)"):
        model.forward_dynamics(pose, V, q, qd, STATE.tau, F=[1.0])
    with pytest.raises(dyn_core.DynError, match="has no link 'tip'"):
        model.forward_dynamics(pose, V, q, qd, STATE.tau, {"tip": np.zeros(6)})
    with pytest.raises(ValueError, match="there is no function 'rnea': choose one of inverse_dynamics"):
        model.operation_counts("rnea")


def test_a_base_that_is_given() -> None:
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "given", backend="python")
    with pytest.raises(dyn_core.DynError, match="'hull' of 'arm' is given: use forward_dynamics_given_base"):
        model.forward_dynamics(*MOVED, STATE.tau)
    with pytest.raises(dyn_core.DynError, match="use inverse_dynamics_given_base, or compile"):
        model.inverse_dynamics(*MOVED, STATE.qdd)


def test_a_fixed_base_is_one_that_is_given_at_rest() -> None:
    """With a base that stands still the torques are those of the model of the same robot on the floor."""
    robot = dyn_core.load_robot(ARM)
    on_floor = dyn_core.compile_model(robot, backend="python")
    model = dyn_core.compile_moving_base(robot, "given", backend="python")
    pose, rest = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], np.zeros(6)
    q, qd, qdd = STATE.q, STATE.qd, STATE.qdd
    found = model.inverse_dynamics_given_base(pose, rest, rest, q, qd, qdd)
    np.testing.assert_allclose(found[6:], on_floor.inverse_dynamics(q, qd, qdd), rtol=1e-12)


def test_runtime_parameters() -> None:
    """The masses of base and links, and gravity, change without compiling; those of another robot are had."""
    case = free_case(5, 4)
    s, n = case.state, case.robot.dof
    model = dyn_core.compile_moving_base(case.robot, "free", parameters="runtime", backend="c")
    assert model.parameter_names[:11] == (
        *("XX0", "XY0", "XZ0", "YY0", "YZ0", "ZZ0", "MX0", "MY0", "MZ0", "M0"),
        "XX1",
    )
    args = (s.pose, s.V, s.q, s.qd, s.tau)
    before = model.forward_dynamics(*args)
    heavier = {"M0": 40.0, "Fv1": 3.0}
    model.set_parameters(heavier, gravity=(0.0, 1.0, -1.6))
    values = dict(zip(model.parameter_names, model.parameters, strict=True))
    assert (values["M0"], values["Fv1"]) == (40.0, 3.0)
    bodies = list(case.robot.bodies)
    bodies[0] = replace(bodies[0], M=40.0)
    friction = replace(case.robot.joints[0].friction, Fv=3.0)
    joints = (replace(case.robot.joints[0], friction=friction), *case.robot.joints[1:])
    robot = replace(case.robot, bodies=tuple(bodies), joints=joints, gravity=(0.0, 1.0, -1.6))
    baked = dyn_core.compile_moving_base(robot, "free", backend="python")
    after = model.forward_dynamics(*args)
    np.testing.assert_allclose(after, baked.forward_dynamics(*args), rtol=1e-9)
    assert np.abs(after - before).max() > 0.1
    assert len(after) == 6 + n
    with pytest.raises(dyn_core.DynError, match="M9"):
        model.set_parameters({"M9": 1.0})
    with pytest.raises(dyn_core.DynError, match='are baked in: compile it with parameters="runtime"'):
        baked.set_parameters({"M0": 1.0})


@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_pickling(parameters: str) -> None:
    robot = dyn_core.load_robot(ARM)
    model = dyn_core.compile_moving_base(robot, "free", parameters=parameters, backend="python")
    if parameters == "runtime":
        model.set_parameters({"M0": 3.0})
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.forward_dynamics(*MOVED, STATE.tau), model.forward_dynamics(*MOVED, STATE.tau)
    )
    assert repr(again) == repr(model)
    assert "free base 'hull'" in repr(model)


def test_terms_left_out() -> None:
    """Without friction and rotors it is the model of a robot that has none."""
    case = free_case(11, 3)
    s = case.state
    bare = dyn_core.compile_moving_base(
        case.robot, "free", backend="python", friction=False, rotor_inertia=False
    )
    full = dyn_core.compile_moving_base(case.robot, "free", backend="python")
    moved = (s.pose, s.V, s.q, s.qd)
    difference = full.inverse_dynamics(*moved, s.qdd) - bare.inverse_dynamics(*moved, s.qdd)
    rotors = np.array([joint.Ia for joint in case.robot.joints]) * s.qdd
    np.testing.assert_allclose(difference[6:], case.friction + rotors, atol=1e-9)
    np.testing.assert_allclose(difference[:6], 0.0, atol=1e-9)


MIMIC = ARM.replace('<limit lower="-1"', '<mimic joint="j1" multiplier="0.4" offset="0.1"/><limit lower="-1"')


@pytest.mark.parametrize("base", ["free", "planar", "given"])
def test_mimic_joints(base: str) -> None:
    """A joint that mimics another moves with it: what its coordinate feels is that of both joints."""
    coupled = dyn_core.compile_moving_base(dyn_core.load_robot(MIMIC), base, backend="python")
    apart = dyn_core.compile_moving_base(dyn_core.load_robot(MIMIC, mimic=False), base, backend="python")
    k = coupled.base.freedom
    pose, V, Vd = STATE.pose, STATE.V, STATE.Vd
    if base == "planar":
        pose, V, Vd = pose[:3], V[:3], Vd[:3]
    q, qd, tau = STATE.q[:1], STATE.qd[:1], STATE.tau[:1]
    G = np.array([[1.0], [0.4]])
    whole = G @ q + [0.0, 0.1], G @ qd
    found = coupled.forward_dynamics_given_base(pose, V, Vd, q, qd, tau)
    needed = apart.inverse_dynamics_given_base(pose, V, Vd, *whole, G @ found[k:])
    np.testing.assert_allclose(needed[:k], found[:k], atol=1e-10)
    np.testing.assert_allclose(G.T @ needed[k:], tau, atol=1e-10)
    if base != "given":
        found = coupled.forward_dynamics(pose, V, q, qd, tau)
        needed = apart.inverse_dynamics_given_base(pose, V, found[:k], *whole, G @ found[k:])
        np.testing.assert_allclose(needed[:k], 0.0, atol=1e-9)
        np.testing.assert_allclose(G.T @ needed[k:], tau, atol=1e-9)
        back = coupled.inverse_dynamics(pose, V, q, qd, found[k:])
        np.testing.assert_allclose(back, [*found[:k], *tau], atol=1e-9)


def root(kind: str, more: str = "") -> str:
    """Answer the arm with a root joint, and what else is said."""
    joint = (
        f'<link name="world"/><joint name="root" type="{kind}"><parent link="world"/><child link="hull"/>'
        f'<axis xyz="0 0 1"/></joint>{more}'
    )
    return ARM.replace('<robot name="arm">', f'<robot name="arm">{joint}')


BESIDE = (
    f'{LINK.format("post")}<joint name="still" type="continuous"><parent link="world"/><child link="post"/>'
    '<axis xyz="0 0 1"/></joint>'
)


def test_what_says_how_the_base_moves() -> None:
    """The joint at the root does; what is asked for goes before it."""
    for urdf, asked, kind, link in (
        (root("floating"), None, "free", "hull"),
        (root("planar"), None, "planar", "hull"),
        (root("floating"), "planar", "planar", "hull"),
        (root("planar"), "free", "free", "hull"),
        (root("floating"), "given", "given", "hull"),
        (root("fixed"), "free", "free", "world"),
        (ARM, "planar", "planar", "hull"),
    ):
        model = dyn_core.compile_moving_base(dyn_core.load_robot(urdf), asked, backend="python")
        assert (model.base.kind, model.base_link) == (kind, link)
        assert model.joint_names == ("j1", "j2")


def test_a_side_file_says_how_the_base_moves() -> None:
    """It goes before the joint at the root, and after what is asked for."""
    for urdf, base, asked, kind in (
        (ARM, "free", None, "free"),
        (ARM, "given", None, "given"),
        (root("floating"), "planar", None, "planar"),
        (ARM, "planar", "free", "free"),
    ):
        robot = dyn_core.load_robot(urdf, loops={"base": base})
        assert robot.base == base
        assert dyn_core.compile_moving_base(robot, asked, backend="python").base.kind == kind
    with pytest.raises(dyn_core.DynError, match="base: it is 'flying': use one of 'free', 'planar', 'given'"):
        dyn_core.load_robot(ARM, loops={"base": "flying"})
    with pytest.warns(dyn_core.ModelWarning, match="URDF has no place for base 'free': keep a side file"):
        dyn_core.write_urdf(dyn_core.load_robot(ARM, loops={"base": "free"}))


def test_what_cannot_be_a_base() -> None:
    load, make = dyn_core.load_robot, dyn_core.compile_moving_base
    with pytest.raises(
        dyn_core.DynError, match=r"'arm' has no planar or floating joint at its root.*give base="
    ):
        make(load(ARM))
    with pytest.raises(
        ValueError, match="base: expected 'free', 'planar', 'given' or None, but it is 'flying'"
    ):
        make(load(ARM), "flying")
    with pytest.raises(dyn_core.DynError, match="its root carries joint 'still': only one base can move"):
        make(load(root("floating", BESIDE)))
    robot = load(root("planar")).with_rotor_inertias({"root/x": 1.0})
    with pytest.raises(
        dyn_core.DynError, match="'root/x' of the planar joint 'root' has a rotor inertia, which"
    ):
        make(robot)
    five_bar = load(ROBOTS / "five_bar.urdf", loops=ROBOTS / "five_bar.yaml")
    with pytest.raises(dyn_core.DynError, match="has loops, and a base that moves"):
        make(five_bar, "free")
    springs = {"elastic": {"j1": {"stiffness": 100.0}}}
    with pytest.raises(
        dyn_core.DynError, match="a model with a moving base knows no springs, but joint 'j1'"
    ):
        make(load(ARM, loops=springs), "free")
    with pytest.raises(ValueError, match="robot: expected what load_robot answers, but it is str"):
        make("arm.urdf", "free")


MASSLESS = ARM.replace(LINK.format("hull"), '<link name="hull"/>')


def test_a_base_or_a_joint_that_nothing_resists() -> None:
    """A base without mass, on which a joint turns, can turn back without moving any mass."""
    model = dyn_core.compile_moving_base(dyn_core.load_robot(MASSLESS), "free", backend="python")
    with pytest.raises(
        dyn_core.DynError, match="has no forward_dynamics: no inertia resists the base 'hull'"
    ):
        model.forward_dynamics(*MOVED, STATE.tau)
    assert np.isfinite(model.inverse_dynamics(*MOVED, STATE.qdd)).all()
    light = ARM.replace(LINK.format("slide"), '<link name="slide"/>')
    model = dyn_core.compile_moving_base(dyn_core.load_robot(light), "free", parameters="runtime")
    with pytest.raises(dyn_core.DynError, match="no inertia resists joint 'j2': give its link mass"):
        model.forward_dynamics(*MOVED, STATE.tau)
    model.set_parameters({"M2": 1.0})
    assert np.isfinite(model.forward_dynamics(*MOVED, STATE.tau)).all()
