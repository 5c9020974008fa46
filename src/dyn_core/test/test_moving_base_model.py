# SPDX-License-Identifier: Apache-2.0
"""Models of robots on a moving base: arguments, results and refusals."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from moving_base_cases import free_case, free_state
from refusals import refused
from robots import example, loop_robot

import dyn_core
from dyn_core.model.moving_base.compiled_model import MovingBaseModel
from dyn_core.model.moving_base.dynamics_programs import base_kinds
from dyn_core.robot.joints import Sigma

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
BODY = (
    '<robot name="body"><link name="b"><inertial><mass value="3"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link></robot>'
)
STATE = free_state(np.random.default_rng(3), 2)
MOVED = (STATE.pose, STATE.V, STATE.q, STATE.qd)


@pytest.fixture(scope="module", params=["c", "python"])
def model(request: pytest.FixtureRequest) -> MovingBaseModel:
    return dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", backend=request.param)


def test_the_planar_robot_of_symoro() -> None:
    """Example 1.6: its MDH parameters (table 1.6), and the force of the ground."""
    robot = example("planar_base")
    model = dyn_core.compile_moving_base(robot, backend="python")
    assert (model.base.kind, model.base_link, model.base.freedom) == ("planar", "body", 3)
    assert model.joint_names == ("steering", "castor_wheel", "left_wheel_joint", "right_wheel_joint")
    tree = robot.joints[3:]
    assert [joint.sigma for joint in robot.joints[:3]] == [Sigma.PRISMATIC, Sigma.PRISMATIC, Sigma.REVOLUTE]
    assert [robot.bodies[j].M for j in (1, 2)] == [0.0, 0.0]
    assert [joint.antecedent for joint in tree] == [3, 4, 3, 3]
    assert [round(abs(joint.mdh.alpha), 12) for joint in tree] == [0.0, *[round(np.pi / 2, 12)] * 3]
    found = [(joint.mdh.d, joint.mdh.b, joint.mdh.r) for joint in tree]
    np.testing.assert_allclose(found, [(d, 0.0, 0.0) for d in (0.4, 0.08, 0.0, 0.0)], atol=1e-15)

    # Both wheels push against the ground with the force f while they roll. The robot moves straight on. The
    # torque of a wheel is the force times its radius plus the torque for its own inertia.
    radius, mass, own = 0.1, 24.0 + 0.6 + 0.8 + 2.0 * 2.3, 0.0115
    push, ahead = 6.0, 2.0 * 6.0 / mass
    ground = dict.fromkeys(("left_wheel", "right_wheel"), (-push, 0.0, 0.0, 0.0, radius * push, 0.0))
    rolling = np.array([0.0, 0.0, ahead / radius, ahead / radius])
    found = model.inverse_dynamics(*np.zeros((2, 3)), *np.zeros((2, 4)), rolling, ground)
    torques = [radius * push + own * ahead / radius] * 2
    np.testing.assert_allclose(found[[0, 1, 2, 5, 6]], [ahead, 0.0, 0.0, *torques], atol=1e-12)


def test_a_body_alone() -> None:
    """A body without joints falls and turns by Euler's equations, also in a single call of C."""
    w, J = np.array([0.3, -0.7, 1.1]), np.diag([1.0, 2.0, 2.5])
    turned = -np.linalg.solve(J, np.cross(w, J @ w))
    for backend in ("c", "python"):
        model = dyn_core.compile_moving_base(dyn_core.load_robot(BODY), "free", backend=backend)
        found = model.forward_dynamics([0, 0, 0, 0, 0, 0, 1], [1, 2, 3, *w], *np.zeros((3, 0)))
        np.testing.assert_allclose(found, [0.0, 0.0, -9.81, *turned], atol=1e-13)


def test_a_quaternion_that_is_not_of_length_1(model: MovingBaseModel) -> None:
    """It is refused, with the sample; if its length is close to 1, it is normalised."""
    long, near = (np.array([*STATE.pose[:3], *(x * STATE.pose[3:])]) for x in (1.1, 1.0 + 1e-4))
    with refused("pose-quaternion-not-unit", length=1.1):
        model.forward_dynamics(long, STATE.V, STATE.q, STATE.qd, STATE.tau)
    batch = [np.tile(x, (5, 1)) for x in MOVED]
    batch[0][3, 3:] = 0.0
    with refused("pose-sample-quaternion-not-unit", sample=3, length=0.0):
        model.bias_forces(*batch)
    np.testing.assert_allclose(model.bias_forces(near, *MOVED[1:]), model.bias_forces(*MOVED), rtol=1e-12)


@pytest.mark.parametrize("part", range(3, 7))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_quaternion_that_is_not_finite_gives_nan_for_its_sample_alone(
    part: int, value: float, model: MovingBaseModel
) -> None:
    clean = [np.stack([vector] * 4) for vector in (*MOVED, STATE.tau)]
    spoilt = [vector.copy() for vector in clean]
    spoilt[0][2, part] = value
    expected = model.forward_dynamics(*clean)
    expected[2] = np.nan
    np.testing.assert_array_equal(model.forward_dynamics(*spoilt), expected)
    spoilt[0][3, 3:] *= 1.1
    with refused("pose-sample-quaternion-not-unit", sample=3):
        model.forward_dynamics(*spoilt)


def test_values_that_are_not_finite_give_nan(model: MovingBaseModel) -> None:
    arrays = [np.tile(x, (4, 1)) for x in (*MOVED, STATE.tau)]
    expected = model.forward_dynamics(*arrays)
    for k, name in enumerate(("pose", "V", "q", "qd", "tau")):
        spoilt = [array.copy() for array in arrays]
        spoilt[k][2, -1] = np.nan if name != "tau" else np.inf
        found = model.forward_dynamics(*spoilt)
        assert np.isnan(found[2]).all(), name
        np.testing.assert_array_equal(np.delete(found, 2, axis=0), np.delete(expected, 2, axis=0))
        assert np.isnan(model.forward_dynamics(*(array[2] for array in spoilt))).all()


def test_wrong_arguments_are_refused(model: MovingBaseModel) -> None:
    pose, V, q, qd = MOVED
    short = {"argument": "V", "expected": "(6,) or (N, 6)"}
    other = {"argument": "qd", "reference": "pose"}
    bias, direct = model.bias_forces, partial(model.forward_dynamics, *MOVED, STATE.tau)
    moved = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "given", backend="python")
    direct_given = {"base": "hull", "robot": "arm", "function": "forward_dynamics"}
    inverse_given = direct_given | {"function": "inverse_dynamics"}
    for call, code, values in (
        (partial(moved.forward_dynamics, *MOVED, STATE.tau), "base-motion-given", direct_given),
        (partial(moved.inverse_dynamics, *MOVED, STATE.tau), "base-motion-given", inverse_given),
        (partial(bias, pose, V[:3], q, qd), "argument-shape", short),
        (partial(bias, pose, V, q, np.zeros((4, 2))), "argument-samples-differ", other),
        (partial(direct, out=np.zeros(2)), "argument-shape", {"argument": "out"}),
        (partial(direct, F=[1.0]), "argument-shape", {"argument": "F"}),
        (partial(direct, {"tip": np.zeros(6)}), "link-unknown", {"link": "tip"}),
        (partial(model.operation_counts, "rnea"), "function-unknown", {"function": "rnea"}),
    ):
        with refused(code, **values):
            call()


def test_runtime_parameters() -> None:
    robot, kinds = dyn_core.load_robot(ARM), ("runtime", "baked")
    model, baked = (dyn_core.compile_moving_base(robot, "free", kind, "python") for kind in kinds)
    assert " ".join(model.parameter_names[:11]) == "XX0 XY0 XZ0 YY0 YZ0 ZZ0 MX0 MY0 MZ0 M0 XX1"
    model.set_parameters({"M0": 40.0, "Fv1": 3.0})
    values = dict(zip(model.parameter_names, model.parameters, strict=True))
    assert (values["M0"], values["Fv1"]) == (40.0, 3.0)
    for one, code, parameter in ((model, "parameter-unknown", "M9"), (baked, "parameters-baked", "M0")):
        with refused(code):
            one.set_parameters({parameter: 1.0})


@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_pickling(parameters: str) -> None:
    options = {"parameters": parameters, "backend": "python"}
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", **options)
    if parameters == "runtime":
        model.set_parameters({"M0": 3.0})
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(*(one.forward_dynamics(*MOVED, STATE.tau) for one in (again, model)))
    assert repr(again) == repr(model)
    assert "free base 'hull'" in repr(model)


def test_terms_left_out() -> None:
    case = free_case(11, 3)
    s, terms = case.state, {"friction": False, "rotor_inertia": False}
    full = dyn_core.compile_moving_base(case.robot, "free", backend="python")
    bare = dyn_core.compile_moving_base(case.robot, "free", backend="python", **terms)
    args = (s.pose, s.V, s.q, s.qd, s.qdd)
    rotors = np.array([joint.Ia for joint in case.robot.joints]) * s.qdd
    difference = full.inverse_dynamics(*args) - bare.inverse_dynamics(*args)
    np.testing.assert_allclose(difference, [*np.zeros(6), *(case.friction + rotors)], atol=1e-9)


MIMIC = ARM.replace('<limit lower="-1"', '<mimic joint="j1" multiplier="0.4" offset="0.1"/><limit lower="-1"')


@pytest.mark.parametrize("base", ["free", "planar", "given"])
def test_mimic_joints(base: str) -> None:
    robots = (dyn_core.load_robot(MIMIC, mimic=mimic) for mimic in (True, False))
    coupled, apart = (dyn_core.compile_moving_base(robot, base, backend="python") for robot in robots)
    k = coupled.base.freedom
    pose, V, Vd = (x[: 3 if base == "planar" else 7] for x in (STATE.pose, STATE.V, STATE.Vd))
    q, qd, tau = STATE.q[:1], STATE.qd[:1], STATE.tau[:1]
    G = np.array([[1.0], [0.4]])
    whole = G @ q + [0.0, 0.1], G @ qd
    found = coupled.forward_dynamics_given_base(pose, V, Vd, q, qd, tau)
    needed = apart.inverse_dynamics_given_base(pose, V, Vd, *whole, G @ found[k:])
    np.testing.assert_allclose([*needed[:k], *(G.T @ needed[k:])], [*found[:k], *tau], atol=1e-10)
    if base != "given":
        found = coupled.forward_dynamics(pose, V, q, qd, tau)
        needed = apart.inverse_dynamics_given_base(pose, V, found[:k], *whole, G @ found[k:])
        np.testing.assert_allclose([*needed[:k], *(G.T @ needed[k:])], [*np.zeros(k), *tau], atol=1e-9)
        back = coupled.inverse_dynamics(pose, V, q, qd, found[k:])
        np.testing.assert_allclose(back, [*found[:k], *tau], atol=1e-9)


def root(kind: str, beside: bool = False) -> str:
    """Return the arm whose hull hangs on a world by a joint; another joint may be beside it."""
    joint = '<joint name="{}" type="{}"><parent link="world"/><child link="{}"/><axis xyz="0 0 1"/></joint>'
    beside = LINK.format("post") + joint.format("still", "continuous", "post") if beside else ""
    world = f'<link name="world"/>{joint.format("root", kind, "hull")}{beside}'
    return ARM.replace('<robot name="arm">', f'<robot name="arm">{world}')


def test_the_kind_of_base_comes_from_caller_side_file_or_root_joint() -> None:
    """In this order of precedence."""
    for urdf, side, asked, kind in (
        (root("floating"), None, None, "free"),
        (root("planar"), None, None, "planar"),
        (root("floating"), None, "planar", "planar"),
        (root("planar"), None, "free", "free"),
        (root("floating"), None, "given", "given"),
        (root("fixed"), None, "free", "free"),
        (ARM, None, "planar", "planar"),
        (ARM, "free", None, "free"),
        (ARM, "given", None, "given"),
        (root("floating"), "planar", None, "planar"),
        (ARM, "planar", "free", "free"),
    ):
        robot = dyn_core.load_robot(urdf, loops={"base": side} if side else None)
        assert side in (None, robot.base)
        model = dyn_core.compile_moving_base(robot, asked, backend="python")
        assert (model.base.kind, model.joint_names) == (kind, ("j1", "j2"))
        assert model.base_link == ("world" if '"fixed"' in urdf else "hull")


def test_side_files_about_the_base() -> None:
    with refused("base-kind-unknown", given="flying"):
        dyn_core.load_robot(ARM, loops={"base": "flying"})
    with pytest.warns(dyn_core.ModelWarning) as caught:
        dyn_core.write_urdf(dyn_core.load_robot(ARM, loops={"base": "free"}))
    warning = caught[0].message
    assert (warning.code, "base 'free'" in str(warning.values)) == ("urdf-parts-lost", True)


def test_links_that_cannot_be_a_base_are_refused() -> None:
    load, make = dyn_core.load_robot, dyn_core.compile_moving_base
    flying = {"known": "'free', 'planar', 'given' or None", "given": "flying"}
    with_rotor = load(root("planar")).with_rotor_inertias({"root/x": 1.0})
    rotor = {"joint": "root/x", "base_type": "planar", "base_joint": "root", "property": "a rotor inertia"}
    elastic = load(ARM, loops={"elastic": {"j1": {"stiffness": 100.0}}})
    for robot, kind, code, values in (
        (load(ARM), None, "base-kind-missing", {"robot": "arm"}),
        (load(ARM), "flying", "argument-choice-unknown", flying),
        (load(root("floating", True)), None, "joint-beside-base", {"base_joint": "root", "joint": "still"}),
        (with_rotor, None, "base-joint-property", rotor),
        (loop_robot("five_bar"), "free", "moving-base-with-loops", {}),
        (elastic, "free", "elastic-joint-unsupported", {"joint": "j1"}),
        ("arm.urdf", "free", "robot-type", {"given": "str"}),
    ):
        with refused(code, **values):
            make(robot, kind)


def test_a_base_or_a_joint_without_inertia() -> None:
    """A joint can turn on a massless base, which turns back, without moving any mass."""
    massless = ARM.replace(LINK.format("hull"), '<link name="hull"/>')
    model = dyn_core.compile_moving_base(dyn_core.load_robot(massless), "free", backend="python")
    with refused("moving-base-without-inertia", function="forward_dynamics", base="hull"):
        model.forward_dynamics(*MOVED, STATE.tau)
    assert np.isfinite(model.inverse_dynamics(*MOVED, STATE.qdd)).all()
    light = ARM.replace(LINK.format("slide"), '<link name="slide"/>')
    model = dyn_core.compile_moving_base(dyn_core.load_robot(light), "free", parameters="runtime")
    with refused("base-joint-without-inertia", joint="j2"):
        model.forward_dynamics(*MOVED, STATE.tau)
    model.set_parameters({"M2": 1.0})
    assert np.isfinite(model.forward_dynamics(*MOVED, STATE.tau)).all()


@pytest.mark.parametrize("kind", ["free", "planar", "given"])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_robot_without_masses(kind: str, parameters: str, backend: str) -> None:
    """Its forces, momentum and energy are zero; it has no centre of mass, and nothing resists its base."""
    massless = "".join(f'<link name="{name}"/>' for name in ("hull", "upper", "slide"))
    text = f'<robot name="arm">{massless}{ARM[ARM.index("<joint") :]}'
    model = dyn_core.compile_moving_base(dyn_core.load_robot(text), kind, parameters, backend)
    inputs = {**{name: getattr(STATE, name) for name in ("q", "qd", "qdd", "tau")}, "Vd": STATE.V}
    inputs |= {"V": STATE.V, "pose": STATE.pose}
    for function, needed in base_kinds(model.base).items():
        if not hasattr(model, function):
            continue
        assert model.operation_counts(function)["mul"] >= 0
        call = partial(getattr(model, function), *(inputs[name][:n] for name, n in needed.sizes.items()))
        if function in model.DIVIDING:
            joint = {"joint": "j1"} if function == "forward_dynamics_given_base" else {"base": "hull"}
            code = "base-joint-without-inertia" if "joint" in joint else "moving-base-without-inertia"
            with refused(code, robot="arm", function=function, **joint):
                call()
        else:
            np.testing.assert_array_equal(call(), 0.0)
    if parameters == "runtime":
        model.set_parameters({"M2": 2.0, "MX2": 1.0})
        pose, q = inputs["pose"][: model.base.pose_size], inputs["q"]
        weight = 2.0 * 9.81 * model.centre_of_mass(pose, q)[2]
        V = np.zeros(model.base.freedom)
        assert model.energy(pose, V, q, np.zeros(2))[1] == pytest.approx(weight, rel=1e-12)
