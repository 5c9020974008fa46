# SPDX-License-Identifier: Apache-2.0
"""Parallel robots beside Pinocchio, with constraints and Lagrange multipliers, in all ways of calling."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from parallel_cases import NAMES, TILTED, case, motions
from parallel_oracle import AXES, ParallelOracle, pin, refined

import dyn_core
from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.traced_program import Program
from dyn_core.facade.parallel_split import split_programs

CLOSE = {"rtol": 0.0, "atol": 1e-9}


@cache
def model(name: str, backend: str = "python", **options) -> dyn_core.ParallelModel:
    return dyn_core.compile_parallel(case(name).load(), "platform", backend=backend, **options)


@cache
def oracle(name: str) -> ParallelOracle:
    robot = case(name).load()
    friction = {j.name: (j.friction.Fv, j.friction.Fs, j.friction.Fo) for j in robot.joints}
    return ParallelOracle(case(name).urdf, case(name).side_file, TILTED, friction)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


@pytest.mark.parametrize("name", NAMES)
def test_inverse_and_direct_dynamics_are_those_of_lagrange_multipliers(name: str) -> None:
    ours, theirs = model(name), oracle(name)
    order = [theirs.actuated.index(joint) for joint in ours.joint_names]
    random = np.random.default_rng(5)
    for T, V, Vd in zip(*motions(ours, 12), strict=True):
        efforts = theirs.inverse_dynamics(T, V, Vd)[order]
        assert relative(ours.inverse_dynamics(T, V, Vd), efforts) < 1e-9
        tau = 20.0 * random.standard_normal(len(order))
        unsorted = np.empty(len(order))
        unsorted[order] = tau
        assert relative(ours.forward_dynamics(T, V, tau), theirs.forward_dynamics(T, V, unsorted)) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_wrenches_of_the_platform(name: str) -> None:
    """Beside Lagrange multipliers with forces in all joints."""
    ours, theirs = model(name), oracle(name)
    order = [theirs.actuated.index(joint) for joint in ours.joint_names]
    w = np.random.default_rng(6).uniform(-20.0, 20.0, (4, 6))
    T, V, Vd = motions(ours, 4, seed=13)
    batch = ours.inverse_dynamics(T, V, Vd, wrenches={"platform": w})
    for k in range(4):
        R = T[k, :3, :3]
        on_root = np.concatenate((R @ w[k, :3], R @ w[k, 3:]))
        free = theirs.inverse_dynamics(T[k], V[k], Vd[k])
        q, qd, _ = theirs.motion(T[k], V[k], Vd[k])
        rows = theirs.constraints(q, qd)[1]
        J = pin.getFrameJacobian(theirs.model, theirs.data, theirs.platform, AXES)
        select = np.eye(theirs.n)[:, [theirs.place[joint] for joint in theirs.actuated]]
        more = refined(np.hstack([select, rows.T]), J.T @ on_root)[: len(order)]
        assert relative(batch[k], (free + more)[order]) < 1e-9
        one = ours.inverse_dynamics(T[k], V[k], Vd[k], wrenches={"platform": w[k].tolist()})
        np.testing.assert_allclose(one, batch[k], rtol=1e-12)
        again = ours.forward_dynamics(T[k], V[k], one, wrenches={"platform": w[k]})
        np.testing.assert_allclose(again, Vd[k], rtol=1e-8, atol=1e-8)
    out = np.empty_like(batch)
    assert ours.inverse_dynamics(T, V, Vd, wrenches={"platform": w}, out=out) is out
    np.testing.assert_array_equal(out, batch)


def test_wrenches_of_a_tool_and_of_what_is_none() -> None:
    """A tool that is fixed to the platform has a frame of its own; legs have no wrenches here."""
    base = case("gough_stewart")
    tool = (
        '<link name="tool"/><joint name="mount" type="fixed"><parent link="platform"/><child link="tool"/>'
        '<origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.5"/></joint></robot>'
    )
    robot = dyn_core.load_robot(base.urdf.replace("</robot>", tool), loops=base.side_file)
    compiled = dyn_core.compile_parallel(robot, "platform")
    T, V, Vd = (x[0] for x in motions(compiled, 1, seed=14))
    w = np.array([3.0, -5.0, 8.0, 1.0, 2.0, -4.0])
    R = pin.rpy.rpyToMatrix(0.3, -0.4, 0.5)
    force, moment = R @ w[:3], R @ w[3:]
    same = np.concatenate((force, moment + np.cross([0.1, -0.2, 0.3], force)))
    np.testing.assert_allclose(
        compiled.inverse_dynamics(T, V, Vd, wrenches={"tool": w}),
        compiled.inverse_dynamics(T, V, Vd, wrenches={"platform": same}),
        rtol=1e-9,
    )
    none = compiled.inverse_dynamics(T, V, Vd)
    np.testing.assert_array_equal(compiled.inverse_dynamics(T, V, Vd, wrenches={}), none)
    leg = robot.link_frames[-3].name
    with pytest.raises(dyn_core.DynError, match="is no part of the platform 'platform', whose links are"):
        compiled.inverse_dynamics(T, V, Vd, wrenches={leg: w})
    with pytest.raises(ValueError, match=r"wrenches\['tool'\]: expected the shape \(6,\), but it has \(5,\)"):
        compiled.inverse_dynamics(T, V, Vd, wrenches={"tool": w[:5]})
    with pytest.raises(ValueError, match="wrenches: expected six numbers by name of link"):
        compiled.forward_dynamics(T, V, Vd, wrenches=w)
    with pytest.raises(ValueError, match="tau: expected the shape"):
        compiled.forward_dynamics(T, V, Vd[:5], wrenches={"tool": w})


@pytest.mark.parametrize("name", NAMES)
def test_legs_follow_the_platform(name: str) -> None:
    ours, theirs = model(name), oracle(name)
    places = [theirs.place[joint] for joint in ours.leg_joint_names]
    actuated = [ours.leg_joint_names.index(joint) for joint in ours.joint_names]
    for T, V, Vd in zip(*motions(ours, 6, seed=1), strict=True):
        expected = [x[places] for x in theirs.motion(T, V, Vd)]
        for found, wanted in zip(ours.leg_motions(T, V, Vd), expected, strict=True):
            np.testing.assert_allclose(found, wanted, **CLOSE)
        for found, wanted in zip(ours.inverse_kinematics(T, V, Vd), expected, strict=True):
            np.testing.assert_allclose(found, wanted[actuated], **CLOSE)
        np.testing.assert_allclose(ours.leg_positions(T), expected[0], **CLOSE)
        np.testing.assert_allclose(ours.inverse_jacobian(T) @ V, expected[1][actuated], **CLOSE)
        np.testing.assert_allclose(ours.jacobian(T) @ expected[1][actuated], V, **CLOSE)


@pytest.mark.parametrize("name", NAMES)
def test_the_inertia_matrix_is_what_acceleration_costs(name: str) -> None:
    robot = model(name)
    B = robot.mobility
    T, V, Vd = (x[0] for x in motions(robot, 1, seed=2))
    A = robot.inertia_matrix(T)
    np.testing.assert_allclose(A, A.T, rtol=0, atol=0)
    assert np.all(np.linalg.eigvalsh(A) > 0.0)
    more = robot.inverse_dynamics(T, V, Vd) - robot.inverse_dynamics(T, V, np.zeros(6))
    along = np.linalg.lstsq(B, Vd, rcond=None)[0]
    np.testing.assert_allclose(B.T @ robot.inverse_jacobian(T).T @ more, A @ along, **CLOSE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("base_parameters", [False, True])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_parameters_of_all_kinds_give_the_same(name: str, base_parameters: bool, parameters: str) -> None:
    other = model(name, parameters=parameters, base_parameters=base_parameters)
    T, V, Vd = motions(other, 5, seed=3)
    efforts = model(name).inverse_dynamics(T, V, Vd)
    assert relative(other.inverse_dynamics(T, V, Vd), efforts) < 1e-9
    assert relative(other.forward_dynamics(T, V, efforts), Vd) < 1e-9
    assert relative(other.inertia_matrix(T), model(name).inertia_matrix(T)) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_compiled_batches_and_single_samples_agree(name: str) -> None:
    compiled, slow = model(name, "c"), model(name)
    assert (compiled.backend, slow.backend) == ("c", "python")
    T, V, Vd = motions(slow, 11, seed=4)
    tau = slow.inverse_dynamics(T, V, Vd)
    calls = {
        "inverse_dynamics": (T, V, Vd),
        "forward_dynamics": (T, V, tau),
        "inertia_matrix": (T,),
        "jacobian": (T,),
        "inverse_jacobian": (T,),
        "leg_positions": (T,),
    }
    for function, arguments in calls.items():
        batch = getattr(compiled, function)(*arguments)
        np.testing.assert_allclose(batch, getattr(slow, function)(*arguments), rtol=1e-10, atol=1e-10)
        single = [getattr(compiled, function)(*sample) for sample in zip(*arguments, strict=True)]
        np.testing.assert_allclose(batch, single, rtol=1e-10, atol=1e-10)
        lists = getattr(compiled, function)(*(x[0].tolist() for x in arguments))
        np.testing.assert_allclose(lists, single[0], rtol=1e-12, atol=1e-12)
    out = np.empty_like(tau)
    assert compiled.inverse_dynamics(T, V, Vd, out=out) is out
    np.testing.assert_allclose(out, tau, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", ["c", "python"])
def test_what_is_not_a_number_spoils_its_sample_alone(name: str, backend: str) -> None:
    robot = model(name, backend)
    T, V, Vd = motions(robot, 4, seed=6)
    expected = robot.inverse_dynamics(T, V, Vd)
    for array, place in ((T, (1, 0, 3)), (V, (1, 5)), (Vd, (1, 2))):
        spoilt = array.copy()
        spoilt[place] = np.nan
        given = [spoilt if x is array else x for x in (T, V, Vd)]
        found = robot.inverse_dynamics(*given)
        assert np.all(np.isnan(found[1]))
        np.testing.assert_allclose(np.delete(found, 1, 0), np.delete(expected, 1, 0), rtol=1e-12)
        assert np.all(np.isnan(robot.inverse_dynamics(*(x[1] for x in given))))


@pytest.mark.parametrize(("name", "far"), [("gough_stewart", 4.0), ("delta", 3.0)])
def test_far_from_the_assembly(name: str, far: float) -> None:
    """Rotations of half a radian, or most of the reach of the arms."""
    ours, theirs = model(name), oracle(name)
    for T, V, Vd in zip(*motions(ours, 25, seed=11, far=far), strict=True):
        efforts = theirs.inverse_dynamics(T, 3.0 * V, Vd)
        assert relative(ours.inverse_dynamics(T, 3.0 * V, Vd), efforts) < 1e-9
        assert relative(ours.forward_dynamics(T, 3.0 * V, efforts), Vd) < 1e-9


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


def test_parameters_that_are_set_take_effect() -> None:
    robot = model("gough_stewart", parameters="runtime", base_parameters=True)
    heavier = pickle.loads(pickle.dumps(robot))
    platform = heavier.structure.body
    heavier.set_parameters({f"M{platform}": 40.0, "M9": 3.0, "Fv9": 1.0}, gravity=(0.0, 0.0, -1.6))
    tree = case("gough_stewart").load(gravity=(0.0, 0.0, -1.6))
    other = tree.with_parameters({f"M{platform}": 40.0, "M9": 3.0, "Fv9": 1.0})
    baked = dyn_core.compile_parallel(other, "platform", backend="python")
    T, V, Vd = motions(robot, 3, seed=7)
    assert relative(heavier.inverse_dynamics(T, V, Vd), baked.inverse_dynamics(T, V, Vd)) < 1e-9
    assert relative(robot.inverse_dynamics(T, V, Vd), baked.inverse_dynamics(T, V, Vd)) > 1e-3
    with pytest.raises(dyn_core.DynError, match="are baked in"):
        model("gough_stewart").set_parameters({"M9": 3.0})


@pytest.mark.parametrize("name", NAMES)
def test_a_model_can_be_pickled(name: str) -> None:
    robot = model(name, base_parameters=True)
    T, V, Vd = motions(robot, 2, seed=8)
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.inverse_dynamics(T, V, Vd), robot.inverse_dynamics(T, V, Vd))
    assert repr(again) == repr(robot)


def test_terms_can_be_left_out() -> None:
    robot = model("gough_stewart")
    bare = model("gough_stewart", friction=False, rotor_inertia=False)
    T, V, Vd = (x[0] for x in motions(robot, 1, seed=9))
    tree = case("gough_stewart").load()
    _, qd, qdd = robot.inverse_kinematics(T, V, Vd)
    drives = [
        tree.joint(name).friction.Fv * v
        + tree.joint(name).friction.Fs * np.sign(v)
        + tree.joint(name).friction.Fo
        for name, v in zip(robot.joint_names, qd, strict=True)
    ]
    rotors = [tree.joint(name).Ia * a for name, a in zip(robot.joint_names, qdd, strict=True)]
    passive = dyn_core.compile_parallel(
        tree.with_parameters({n: 0.0 for n in tree.parameter_names if n[:2] in ("Fv", "Fs", "Fo", "Ia")}),
        "platform",
        backend="python",
    )
    np.testing.assert_allclose(
        bare.inverse_dynamics(T, V, Vd), passive.inverse_dynamics(T, V, Vd), rtol=1e-13
    )
    more = robot.inverse_dynamics(T, V, Vd) - bare.inverse_dynamics(T, V, Vd)
    assert 0.0 < np.max(np.abs(more - drives - np.array(rotors))) < 10.0  # what is left: passive joints


def test_a_delta_cannot_turn() -> None:
    robot = model("delta")
    np.testing.assert_array_equal(robot.mobility, np.eye(6)[:, :3])
    T, V, Vd = (x[0] for x in motions(robot, 1))
    tilted = T.copy()
    tilted[:3, :3] = [[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]]
    turning = np.array([0, 0, 0, 0.1, 0, 0])
    message = "the platform 'platform' has 3 degrees of freedom and cannot"
    with pytest.raises(ValueError, match=f"T: {message} be there"):
        robot.inverse_dynamics(tilted, V, Vd)
    with pytest.raises(ValueError, match=f"V: {message} move like this"):
        robot.inverse_dynamics(T, V + turning, Vd)
    with pytest.raises(ValueError, match=f"Vd: {message} move like this"):
        robot.inverse_dynamics(T, V, Vd + turning)


def test_shapes_are_checked() -> None:
    robot = model("gough_stewart", "c")
    T, V, Vd = motions(robot, 3)
    with pytest.raises(
        ValueError, match=r"T: expected the shape \(4, 4\) or \(N, 4, 4\), but it has \(3, 3\)"
    ):
        robot.inverse_dynamics(T[0, :3, :3], V[0], Vd[0])
    with pytest.raises(ValueError, match=r"V: expected the shape \(3, 6\), but it has \(6,\)"):
        robot.inverse_dynamics(T, V[0], Vd)
    with pytest.raises(ValueError, match=r"tau: expected the shape \(6,\), but it has \(3,\)"):
        robot.forward_dynamics(T[0], V[0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="there is no function 'regressor'"):
        robot.operation_counts("regressor")
    with pytest.raises(ValueError, match="function: expected 'inverse_dynamics' or"):
        robot.critical_path("jacobian")
