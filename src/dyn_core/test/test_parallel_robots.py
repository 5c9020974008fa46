# SPDX-License-Identifier: Apache-2.0
"""Parallel robots against Pinocchio with constraints and Lagrange multipliers, in all kinds of calls."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from depth import some
from parallel_cases import NAMES, TILTED, case, motions
from parallel_oracle import ParallelOracle
from pinocchio_oracle import pin
from refusals import refusal, refused

import dyn_core
from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.traced_program import Program
from dyn_core.model.parallel.dynamics_programs import split_programs

CLOSE = {"rtol": 0.0, "atol": 1e-9}


@cache
def model(name: str, backend: str = "python", **options) -> dyn_core.ParallelModel:
    return dyn_core.compile_parallel(case(name).load(), "platform", backend=backend, **options)


@cache
def oracle(name: str) -> tuple[ParallelOracle, list[int]]:
    """Pinocchio, and the indices of our actuated joints in its order."""
    theirs = ParallelOracle(case(name).urdf, case(name).side_file, TILTED)
    return theirs, [theirs.actuated.index(joint) for joint in model(name).joint_names]


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


FAR = [*((name, 1.0) for name in NAMES), ("gough_stewart", 4.0), ("delta", 3.0)]
"""Factors of displacement and speed: rotations up to half a radian, or most of the reach of the arms."""


@pytest.mark.parametrize(("name", "far"), FAR)
def test_inverse_and_direct_dynamics_agree_with_lagrange_multipliers(name: str, far: float) -> None:
    ours, (theirs, order) = model(name), oracle(name)
    random = np.random.default_rng(5)
    for T, V, Vd in zip(*motions(ours, 25, far=far), strict=True):
        efforts = theirs.inverse_dynamics(T, far * V, Vd)[order]
        assert relative(ours.inverse_dynamics(T, far * V, Vd), efforts) < 1e-9
        assert relative(ours.forward_dynamics(T, far * V, efforts), Vd) < 1e-9
        tau, unsorted = 20.0 * random.standard_normal(len(order)), np.empty(len(order))
        unsorted[order] = tau
        assert relative(ours.forward_dynamics(T, V, tau), theirs.forward_dynamics(T, V, unsorted)) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_wrenches_of_the_platform(name: str) -> None:
    """Against Lagrange multipliers with forces in all joints."""
    ours, (theirs, order) = model(name), oracle(name)
    w = np.random.default_rng(6).uniform(-20.0, 20.0, (4, 6))
    T, V, Vd = motions(ours, 4, seed=13)
    batch = ours.inverse_dynamics(T, V, Vd, wrenches={"platform": w})
    for k in range(4):
        R = T[k, :3, :3]
        on_root = np.concatenate((R @ w[k, :3], R @ w[k, 3:]))
        free = theirs.inverse_dynamics(T[k], V[k], Vd[k])
        q, qd, _ = theirs.motion(T[k], V[k], Vd[k])
        more = theirs.efforts(q, theirs.platform(q, qd)[0].T @ on_root)
        assert relative(batch[k], (free + more)[order]) < 1e-9
        one = ours.inverse_dynamics(T[k], V[k], Vd[k], wrenches={"platform": w[k].tolist()})
        np.testing.assert_allclose(one, batch[k], rtol=1e-12)
        again = ours.forward_dynamics(T[k], V[k], one, wrenches={"platform": w[k]})
        np.testing.assert_allclose(again, Vd[k], rtol=1e-8, atol=1e-8)
    out = np.empty_like(batch)
    assert ours.inverse_dynamics(T, V, Vd, wrenches={"platform": w}, out=out) is out
    np.testing.assert_array_equal(out, batch)


def test_wrenches_of_a_tool_and_of_other_links() -> None:
    """A tool that is fixed to the platform has its own frame; wrenches on legs are refused."""
    base = case("gough_stewart")
    tool = (
        '<link name="tool"/><joint name="mount" type="fixed"><parent link="platform"/><child link="tool"/>'
        '<origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.5"/></joint></robot>'
    )
    robot = dyn_core.load_robot(base.urdf.replace("</robot>", tool), loops=base.side_file)
    compiled = dyn_core.compile_parallel(robot, "platform")
    motion = T, V, Vd = [x[0] for x in motions(compiled, 1, seed=14)]
    w = np.array([3.0, -5.0, 8.0, 1.0, 2.0, -4.0])
    force, moment = (pin.rpy.rpyToMatrix(0.3, -0.4, 0.5) @ part for part in (w[:3], w[3:]))
    same = {"platform": np.concatenate((force, moment + np.cross([0.1, -0.2, 0.3], force)))}
    ours, wanted = (compiled.inverse_dynamics(*motion, wrenches=some) for some in ({"tool": w}, same))
    np.testing.assert_allclose(ours, wanted, rtol=1e-9)
    none = compiled.inverse_dynamics(*motion)
    np.testing.assert_array_equal(compiled.inverse_dynamics(*motion, wrenches={}), none)
    with refused("wrench-off-platform", platform="platform"):
        compiled.inverse_dynamics(*motion, wrenches={robot.link_frames[-3].name: w})
    with refused("argument-shape", argument="wrenches['tool']", expected="(6,)"):
        compiled.inverse_dynamics(*motion, wrenches={"tool": w[:5]})
    with refused("argument-type", argument="wrenches", expected="six numbers by name of link"):
        compiled.forward_dynamics(*motion, wrenches=w)
    with refused("argument-shape", argument="tau"):
        compiled.forward_dynamics(T, V, Vd[:5], wrenches={"tool": w})


@pytest.mark.parametrize("name", NAMES)
def test_legs_follow_the_platform(name: str) -> None:
    ours, (theirs, _) = model(name), oracle(name)
    places = [theirs.place[joint] for joint in ours.leg_joint_names]
    actuated = [ours.leg_joint_names.index(joint) for joint in ours.joint_names]
    for T, V, Vd in zip(*motions(ours, 6, seed=1), strict=True):
        expected = np.array(theirs.motion(T, V, Vd))[:, places]
        driven = expected[:, actuated]
        np.testing.assert_allclose(ours.leg_motions(T, V, Vd), expected, **CLOSE)
        np.testing.assert_allclose(ours.inverse_kinematics(T, V, Vd), driven, **CLOSE)
        np.testing.assert_allclose(ours.leg_positions(T), expected[0], **CLOSE)
        np.testing.assert_allclose(ours.inverse_jacobian(T) @ V, driven[1], **CLOSE)
        np.testing.assert_allclose(ours.jacobian(T) @ driven[1], V, **CLOSE)


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_the_inertia_matrix_are_forces_of_unit_accelerations(name: str) -> None:
    robot = model(name)
    B = robot.mobility
    T, V, Vd = (x[0] for x in motions(robot, 1, seed=2))
    A = robot.inertia_matrix(T)
    np.testing.assert_allclose(A, A.T, rtol=0, atol=0)
    assert np.all(np.linalg.eigvalsh(A) > 0.0)
    more = robot.inverse_dynamics(T, V, Vd) - robot.inverse_dynamics(T, V, np.zeros(6))
    along = np.linalg.lstsq(B, Vd, rcond=None)[0]
    np.testing.assert_allclose(B.T @ robot.inverse_jacobian(T).T @ more, A @ along, **CLOSE)


@pytest.mark.parametrize("name", some(NAMES, "delta", "planar"))
@pytest.mark.parametrize("base_parameters", [False, True])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_baked_and_runtime_parameters_agree(name: str, base_parameters: bool, parameters: str) -> None:
    other = model(name, parameters=parameters, base_parameters=base_parameters)
    T, V, Vd = motions(other, 5, seed=3)
    efforts = model(name).inverse_dynamics(T, V, Vd)
    assert relative(other.inverse_dynamics(T, V, Vd), efforts) < 1e-9
    assert relative(other.forward_dynamics(T, V, efforts), Vd) < 1e-9
    assert relative(other.inertia_matrix(T), model(name).inertia_matrix(T)) < 1e-9


@pytest.mark.parametrize("name", some(NAMES, "delta", "planar"))
def test_compiled_batches_and_single_samples_agree(name: str) -> None:
    compiled, slow = model(name, "c"), model(name)
    assert (compiled.backend, slow.backend) == ("c", "python")
    T, V, Vd = motions(slow, 11, seed=4)
    tau = slow.inverse_dynamics(T, V, Vd)
    calls = {"inverse_dynamics": (T, V, Vd), "forward_dynamics": (T, V, tau)}
    calls |= dict.fromkeys(("inertia_matrix", "jacobian", "inverse_jacobian", "leg_positions"), (T,))
    for called, arguments in calls.items():
        function = getattr(compiled, called)
        batch = function(*arguments)
        np.testing.assert_allclose(batch, getattr(slow, called)(*arguments), rtol=1e-10, atol=1e-10)
        single = [function(*sample) for sample in zip(*arguments, strict=True)]
        np.testing.assert_allclose(batch, single, rtol=1e-10, atol=1e-10)
        lists = function(*(x[0].tolist() for x in arguments))
        np.testing.assert_allclose(lists, single[0], rtol=1e-12, atol=1e-12)
    out = np.empty_like(tau)
    assert compiled.inverse_dynamics(T, V, Vd, out=out) is out
    np.testing.assert_allclose(out, tau, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", some(NAMES, "delta", "planar"))
@pytest.mark.parametrize("backend", ["c", "python"])
def test_a_nan_affects_only_its_sample(name: str, backend: str) -> None:
    robot = model(name, backend)
    motion = motions(robot, 4, seed=6)
    expected = robot.inverse_dynamics(*motion)
    for k, place in enumerate(((1, 0, 3), (1, 5), (1, 2))):
        given = [x.copy() for x in motion]
        given[k][place] = np.nan
        found = robot.inverse_dynamics(*given)
        assert np.all(np.isnan([found[1], robot.inverse_dynamics(*(x[1] for x in given))]))
        np.testing.assert_allclose(np.delete(found, 1, 0), np.delete(expected, 1, 0), rtol=1e-12)


@pytest.mark.parametrize("name", ["gough_stewart", "delta", "six_legs"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_programs_for_several_processors_give_the_same(name: str, function: str) -> None:
    robot = model(name)
    split = split_programs(robot.structure, function)
    assert len(split.legs) == len(robot.leg_names)
    T, V, Vd = (x[0] for x in motions(robot, 1, seed=12))
    tau = robot.inverse_dynamics(T, V, Vd)
    inputs = {"T": T.ravel(), "V": V, "Vd": Vd, "tau": tau}
    q = dict(zip(robot.leg_joint_names, robot.leg_positions(T), strict=True))
    first = [run(split.platform, inputs)]
    for program, leg in zip(split.legs, robot.structure.legs, strict=True):
        own = np.array([q[joint.name] for joint in leg.robot.joints])
        first.append(run(program, {**inputs, "q": own}))
    last = run(split.last, dict(zip(split.last.inputs, [*first, tau], strict=False)))
    whole = getattr(robot, function)(T, V, Vd if function == "inverse_dynamics" else tau)
    np.testing.assert_allclose(last, whole, rtol=1e-10, atol=1e-10)


def run(program: Program, vectors: dict[str, np.ndarray]) -> np.ndarray:
    out = np.empty(program.shape)
    PythonFunction(lambda: program, program.shape).into(*(vectors[name] for name in program.inputs), out)
    return out


def test_set_parameters_takes_effect() -> None:
    robot = model("gough_stewart", parameters="runtime", base_parameters=True)
    heavier, moon = pickle.loads(pickle.dumps(robot)), (0.0, 0.0, -1.6)
    values = {f"M{heavier.structure.body}": 40.0, "M9": 3.0, "Fv9": 1.0}
    heavier.set_parameters(values, gravity=moon)
    tree = case("gough_stewart").load(gravity=moon).with_parameters(values)
    motion = motions(robot, 3, seed=7)
    expected = dyn_core.compile_parallel(tree, "platform", backend="python").inverse_dynamics(*motion)
    assert relative(heavier.inverse_dynamics(*motion), expected) < 1e-9
    assert relative(robot.inverse_dynamics(*motion), expected) > 1e-3
    assert refusal(model("gough_stewart").set_parameters, {"M9": 3.0}) == "parameters-baked: gough_stewart"


@pytest.mark.parametrize("name", NAMES)
def test_a_model_can_be_pickled(name: str) -> None:
    robot = model(name, base_parameters=True)
    motion, again = motions(robot, 2, seed=8), pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.inverse_dynamics(*motion), robot.inverse_dynamics(*motion))
    assert repr(again) == repr(robot)


def test_terms_can_be_left_out() -> None:
    robot, tree = model("gough_stewart"), case("gough_stewart").load()
    bare = model("gough_stewart", friction=False, rotor_inertia=False)
    motion = [x[0] for x in motions(robot, 1, seed=9)]
    _, qd, qdd = robot.inverse_kinematics(*motion)
    joints = [tree.joint(name) for name in robot.joint_names]
    Fv, Fs, Fo = np.array([(j.friction.Fv, j.friction.Fs, j.friction.Fo) for j in joints]).T
    drives = Fv * qd + Fs * np.sign(qd) + Fo + np.array([joint.Ia for joint in joints]) * qdd
    of_drives = [name for name in tree.parameter_names if name[:2] in ("Fv", "Fs", "Fo", "Ia")]
    passive = tree.with_parameters(dict.fromkeys(of_drives, 0.0))
    without = dyn_core.compile_parallel(passive, "platform", backend="python").inverse_dynamics(*motion)
    np.testing.assert_allclose(bare.inverse_dynamics(*motion), without, rtol=1e-13)
    more = robot.inverse_dynamics(*motion) - bare.inverse_dynamics(*motion)
    assert 0.0 < np.max(np.abs(more - drives)) < 10.0  # the friction that remains is that of passive joints


def test_a_delta_refuses_rotation_and_wrong_shapes() -> None:
    robot = model("delta")
    np.testing.assert_array_equal(robot.mobility, np.eye(6)[:, :3])
    T, V, Vd = (x[0] for x in motions(robot, 1))
    tilted, turning = T.copy(), np.array([0, 0, 0, 0.1, 0, 0])
    tilted[:3, :3] = [[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]]
    assert refusal(robot.inverse_dynamics, tilted, V, Vd) == "platform-placement-impossible: T, 3, platform"
    for name, motion in (("V", (V + turning, Vd)), ("Vd", (V, Vd + turning))):
        said = refusal(robot.inverse_dynamics, T, *motion)
        assert said == f"platform-motion-impossible: {name}, 3, platform"
    robot = model("gough_stewart", "c")
    T, V, Vd = motions(robot, 3)
    with refused("argument-shape", argument="T", expected="(4, 4) or (N, 4, 4)"):
        robot.inverse_dynamics(T[0, :3, :3], V[0], Vd[0])
    assert refusal(robot.inverse_dynamics, T, V[0], Vd) == "argument-shape: V, [3, 6], [6]"
    assert refusal(robot.forward_dynamics, T[0], V[0], [1.0, 2.0, 3.0]) == "argument-shape: tau, [6], [3]"
    with refused("function-unknown", function="regressor"):
        robot.operation_counts("regressor")
    with refused("argument-choice-unknown", argument="function"):
        robot.critical_path("jacobian")
