# SPDX-License-Identifier: Apache-2.0
"""Which robots count as parallel robots, and the errors for other robots."""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import yaml
from depth import each
from parallel_cases import FLOATING, OWN, case, motions
from refusals import refusal, refused

import dyn_core
from dyn_core.algorithms.parallel import leg_positions
from dyn_core.algorithms.parallel.leg_kinematics import platform_motion
from dyn_core.algorithms.parallel.parallel_structure import parallel_robot
from dyn_core.check.loop_gaps import loop_gap


def changed(name: str, change=lambda side: None, urdf=lambda text: text) -> dyn_core.Robot:
    """The robot of a case with another side file and URDF."""
    side = yaml.safe_load(case(name).side_file)
    change(side)
    return dyn_core.load_robot(urdf(case(name).urdf), loops=side)


def compiled(robot: dyn_core.Robot, platform: str = "platform") -> dyn_core.ParallelModel:
    return dyn_core.compile_parallel(robot, platform, backend="python")


@pytest.mark.parametrize(
    ("name", "form"), [("gough_stewart", "UniversalPrismatic"), ("delta", "RevoluteUniversal")]
)
def test_example_robots_are_closed_and_have_closed_forms(name: str, form: str) -> None:
    robot = case(name).load()
    assert max(max(loop_gap(robot, loop)) for loop in robot.loops) < 1e-14
    found = parallel_robot(robot, "platform")
    assert {type(leg.closed_form).__name__ for leg in found.legs} == {form}
    assert len(found.mobility) == len(found.actuated) == len(found.legs)
    q = dict(robot.assembly)
    for leg, home in zip(found.legs, found.q_home, strict=True):
        np.testing.assert_allclose(home, [q[joint.name] for joint in leg.robot.joints], rtol=0, atol=1e-14)


def test_example_robots_have_no_errors() -> None:
    for name in each(("gough_stewart", "delta"), "delta"):
        findings = dyn_core.check_robot(case(name).urdf, loops=case(name).side_file)
        assert not [finding.code for finding in findings if finding.severity.name == "ERROR"]


def test_legs_of_all_kinds() -> None:
    found = parallel_robot(case("six_legs").load(), "platform")
    assert [len(leg.bodies) for leg in found.legs] == [3, 3, 3, 4, 5, 6]
    assert [type(leg.closed_form).__name__ for leg in found.legs] == [
        *("UniversalPrismatic", "NoneType", "RevoluteUniversal", "NoneType", "NoneType", "NoneType")
    ]
    assert [leg.components for leg in found.legs[2:]] == [tuple(range(k)) for k in (3, 4, 5, 6)]
    planar = parallel_robot(case("planar").load(), "platform")
    assert len(planar.mobility) == 3
    assert [leg.components for leg in planar.legs] == [(0, 1)] * 3


@pytest.mark.parametrize(("name", "joint"), [("gough_stewart", "tilt_3"), ("delta", "shoulder_2")])
def test_the_branch_of_the_assembly_is_kept(name: str, joint: str) -> None:
    """Angles one turn away are kept; the other bend of an arm gives the other closed form."""
    robot = case(name).load()
    turned = tuple((n, q + (math.tau if n == joint else 0.0)) for n, q in robot.assembly)
    plain, other = (compiled(r) for r in (robot, replace(robot, assembly=turned)))
    T = motions(plain, 4)[0]
    expected = plain.leg_positions(T)
    expected[:, plain.leg_joint_names.index(joint)] += math.tau
    np.testing.assert_allclose(other.leg_positions(T), expected, rtol=0, atol=1e-13)


def test_an_arm_that_bends_the_other_way() -> None:
    robot = case("delta").load()
    plain = compiled(robot)
    T, x, z = np.eye(4), 0.04 + 0.05 - 0.2, -0.62
    T[:3, 3] = plain.structure.T_home.p
    q = dict(zip(plain.leg_joint_names, plain.leg_positions(T), strict=True))
    bent = q | {"shoulder_1": 2.0 * math.atan2(-z, x) - q["shoulder_1"]}
    bent["elbow_1"] = 2.0 * math.atan2(-x, -z) - (q["shoulder_1"] + q["elbow_1"]) - bent["shoulder_1"]
    model = compiled(replace(robot, assembly=tuple((n, bent.get(n, v)) for n, v in robot.assembly)))
    found = dict(zip(model.leg_joint_names, model.leg_positions(T), strict=True))
    assert abs(math.remainder(found["shoulder_1"] - bent["shoulder_1"], math.tau)) < 1e-12
    assert found["shoulder_2"] == pytest.approx(q["shoulder_2"], abs=1e-12)


def test_an_assembly_need_only_be_approximate() -> None:
    def rounded(side) -> None:
        side["assembly"] = {name: round(q, 2) for name, q in side["assembly"].items()}

    near, exact = (compiled(changed("gough_stewart", *change)) for change in ((rounded,), ()))
    motion = motions(exact, 3)
    expected = exact.inverse_dynamics(*motion)
    np.testing.assert_allclose(near.inverse_dynamics(*motion), expected, rtol=1e-12, atol=1e-10)


LEG_1 = ["shoulder_1", "elbow_1", "sway_1"]


def test_robots_without_loops_or_a_suitable_platform_are_refused() -> None:
    """Joints of the platform must have neither drives nor mass."""
    robot = case("delta").load()
    tree, driven, heavy = replace(robot, loops=()), *(robot.with_parameters({x: 1.0}) for x in ("Fv6", "M3"))
    joints = [f"{name[:-1]}{k}" for k in (1, 2, 3) for name in LEG_1]
    actuated = {"platform": "forearm_1", "joint": "shoulder_1"}
    for wrong, platform, code, values in (
        (tree, "platform", "leg-unconnected", {"joints": joints}),
        (robot, "plate", "link-unknown", {"robot": "delta", "link": "plate"}),
        (robot, "base_link", "platform-fixed-to-base", {"platform": "base_link"}),
        (robot, "forearm_1", "platform-joint-not-passive", actuated),
        (driven, "platform", "platform-joint-with-drive", {"joint": "platform_motion/roll"}),
        (heavy, "platform", "platform-joint-with-mass", {"joint": "platform_motion/trans_z"}),
    ):
        with refused(code, **values):
            compiled(wrong, platform)


def loop(k: int, *removed: str, **values: object):
    """Return a change of a loop of a side file."""

    def change(side: dict) -> None:
        side["loops"][k].update(values)
        for name in removed:
            del side["loops"][k][name]

    return change


def passive(method: str, joint: str):
    """Return a change of the passive joints of a side file."""
    return lambda side: getattr(side["passive"], method)(joint)


def again(side: dict) -> None:
    elsewhere = {"link": "platform", "xyz": [0.05, 0.01, 0]}
    side["loops"].append(side["loops"][0] | {"name": "again", "child": elsewhere})


FORE_2 = {"link": "forearm_2"}
BETWEEN = {"loop": "leg_1", "first_link": "forearm_1", "second_link": "forearm_2", "platform": "platform"}
IDLE = {"loop": "leg3", "count": 4, "loop_type": "spherical", "determined": 3}
ENDS = {"loop_type": "cylindrical", "known": ["spherical", "universal", "revolute", "fixed"]}
YAW = "platform_motion/yaw"
AFAR = {"link": "platform", "xyz": [5.0, 0.0, 0.0]}


@pytest.mark.parametrize(
    ("name", "change", "code", "values"),
    [
        ("delta", loop(0, child=FORE_2), "loop-beside-legs", BETWEEN),
        ("delta", again, "leg-joints-shared", {"loop": "again", "shared": LEG_1}),
        ("delta", loop(0, parent={"link": "base_link"}), "loop-without-leg", {"loop": "leg_1"}),
        ("delta", loop(0, "axis2", type="cylindrical"), "leg-end-unsupported", {"loop": "leg_1"} | ENDS),
        ("six_legs", loop(3, "axis", "axis2", type="spherical"), "leg-joints-idle", IDLE),
        ("gough_stewart", passive("append", "length_3"), "actuators-too-few", {"freedom": 6, "actuated": 5}),
        ("delta", passive("remove", "elbow_1"), "actuators-too-many", {"freedom": 3, "actuated": 4}),
        ("delta", passive("remove", YAW), "platform-joint-not-passive", {"joint": YAW}),
        ("delta", loop(0, child=AFAR), "leg-open-in-assembly", {"leg": "leg_1"}),
    ],
)
def test_robots_that_are_not_parallel_are_refused(name: str, change, code: str, values: dict) -> None:
    with refused(code, **values):
        compiled(changed(name, change))


def test_prismatic_joints_may_place_the_platform() -> None:
    """The platform then cannot rotate; spherical joints let it."""
    chain = ["base_link", "s0", "s1", "platform"]
    slides = '<link name="s0"/><link name="s1"/>' + "".join(
        f'<joint name="slide{k}" type="prismatic"><parent link="{chain[k]}"/><child link="{chain[k + 1]}"/>'
        f'<axis xyz="{axis}"/><limit lower="-1" upper="1" effort="0" velocity="9"/></joint>'
        for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1"))
    )

    def with_slides(text: str) -> str:
        return re.sub(r'<joint name="platform_motion".*?</joint>', slides, text, flags=re.DOTALL)

    def spherical(side) -> None:
        for loop in side["loops"]:
            loop["type"] = "spherical"
            del loop["axis"], loop["axis2"]
        side["passive"] = [n for n in side["passive"] if "/" not in n] + ["slide0", "slide1", "slide2"]
        values = {f"slide{k}": side["assembly"][f"platform_motion/trans_{x}"] for k, x in enumerate("xyz")}
        side["assembly"] = {n: q for n, q in side["assembly"].items() if "/" not in n} | values

    ours, delta = (compiled(changed("delta", *changes)) for changes in ((spherical, with_slides), ()))
    motion = motions(delta, 3)
    np.testing.assert_allclose(ours.inverse_dynamics(*motion), delta.inverse_dynamics(*motion), rtol=1e-12)
    np.testing.assert_array_equal(ours.mobility, delta.mobility)


def test_a_platform_that_turns_about_a_point() -> None:
    """A one-legged robot with a spherical wrist: the directions in which the origin moves change."""
    chain = [("base", "l0", "1 0 0"), ("l0", "l1", "0 1 0"), ("l1", "l2", "0 0 1")]
    text = '<robot name="wrist"><link name="base"/>' + FLOATING
    for link in ("platform", "l0", "l1", "l2"):
        text += f'<link name="{link}"><inertial><mass value="1"/>'
        text += '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    for parent, child, axis in chain:
        text += f'<joint name="j{child}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        text += f'<axis xyz="{axis}"/></joint>'
    loop = {"name": "cut", "type": "fixed", "parent": {"link": "l2"}}
    loop["child"] = {"link": "platform", "xyz": [0, 0, 1]}
    side = {"loops": [loop], "passive": OWN, "assembly": {"platform_motion/trans_z": -1.0}}
    with refused("platform-mobility-varies", platform="platform"):
        compiled(dyn_core.load_robot(f"{text}</robot>", loops=side))


def test_arguments_of_compile_parallel() -> None:
    robot = case("delta").load()
    for name, given in (("backend", "rust"), ("parameters", "fixed")):
        with refused("argument-choice-unknown", argument=name, given=given):
            dyn_core.compile_parallel(robot, "platform", **{name: given})
    assert refusal(dyn_core.compile_parallel, "delta.urdf", "platform") == "robot-type: str"


# Placements that the legs cannot reach, and placements that are not rigid.
BACKENDS = ("c", "python")
FUNCTIONS = (
    *("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "inverse_jacobian"),
    *("leg_positions", "leg_motions", "inverse_kinematics"),
)


@cache
def model(name: str, backend: str, parameters: str = "baked") -> dyn_core.ParallelModel:
    return dyn_core.compile_parallel(case(name).load(), "platform", parameters, backend)


def arguments(robot: dyn_core.ParallelModel, function: str, T: np.ndarray) -> list[np.ndarray]:
    """T, and as many zero vectors as a function takes."""
    sizes = dict.fromkeys(("inverse_dynamics", "leg_motions", "inverse_kinematics"), (6, 6))
    sizes["forward_dynamics"] = (6, len(robot.joint_names))
    return [T, *(np.zeros((*T.shape[:-2], n)) for n in sizes.get(function, ()))]


def moved(robot: dyn_core.ParallelModel, by: float) -> np.ndarray:
    """The placement of the assembly, moved along the first velocity component of the platform."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = robot.structure.T_home
    T[:3, 3] += by * robot.mobility[:3, 0]
    return T


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("z", [-0.3, -1.2, -5.0])
def test_each_function_names_the_leg_that_does_not_reach(backend: str, z: float) -> None:
    """The lengths of the arms and forearms alone give the missing distance."""
    robot, T = model("delta", backend), np.eye(4)
    T[2, 3] = z
    r = math.hypot(0.2 - 0.05, z)  # from the shoulder, in the plane of an arm of 0.3 m, forearm of 0.66 m
    left = max(r - 0.3 - 0.66, 0.66 - (r + 0.3))
    assert left > 0.01
    calls = [(function, {}) for function in FUNCTIONS]
    calls += [("inverse_dynamics", {"wrenches": {"platform": np.ones(6)}})]
    calls += [("inverse_dynamics", {"out": np.empty(3)})]
    for function, more in calls:
        with refused("leg-out-of-reach", leg="leg_1", position=f"(0, 0, {z:.4g})", gap=left):
            getattr(robot, function)(*arguments(robot, function, T), **more)
    adjustable = model("delta", "c", "runtime")
    with refused("leg-out-of-reach", leg="leg_1"):
        adjustable.inertia_matrix(moved(adjustable, 30.0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("name", "leg"), [("six_legs", "leg1"), ("planar", "leg0")])
def test_legs_with_and_without_closed_form(name: str, leg: str, backend: str) -> None:
    robot = model(name, backend)
    for function in FUNCTIONS:
        with refused("leg-out-of-reach", leg=leg):
            getattr(robot, function)(*arguments(robot, function, moved(robot, 30.0)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["delta", "planar"])
def test_a_batch_has_rows_of_nan(name: str, backend: str) -> None:
    robot = model(name, backend)
    T, V, Vd = motions(robot, 4, seed=21)
    expected = robot.inverse_dynamics(T, V, Vd)
    T[2] = moved(robot, 30.0)
    for _ in range(2):
        found = robot.inverse_dynamics(T, V, Vd)
        assert np.all(np.isnan(found[2]))
        np.testing.assert_allclose(np.delete(found, 2, 0), np.delete(expected, 2, 0), rtol=1e-12)
    assert np.all(np.isnan(robot.leg_positions(T)).any(axis=1) == [False, False, True, False])


def test_closed_forms_reach_the_same_workspace_as_newton() -> None:
    """All around the workspace of the delta."""
    structure, T, counts = model("delta", "python").structure, np.eye(4), {True: 0, False: 0}
    for position in np.random.default_rng(4).uniform((-0.6, -0.6, -1.1), (0.6, 0.6, -0.2), (150, 3)):
        T[:3, 3] = position
        placement, found = T.ravel().tolist(), []
        motion = platform_motion(placement, (0.0,) * 6, (0.0,) * 6, structure.R_constant)
        for leg, home in zip(structure.legs, structure.q_home, strict=True):
            q = [math.atan2(a.sin(), a.cos()) for a in leg_positions.given_or_closed(leg, motion, ())]
            try:
                leg_positions.closed_leg(leg, motion, home if any(map(math.isnan, q)) else q)
            except dyn_core.DynError:
                found.append(leg.name)
        counts[not found] += 1
        with refused("leg-out-of-reach", leg=found[0]) if found else nullcontext():
            leg_positions.refuse_unreachable(structure, placement)
    assert min(counts.values()) > 20


@pytest.mark.parametrize("backend", BACKENDS)
def test_placements_without_rotation_and_singular_placements(backend: str) -> None:
    for name in ("gough_stewart", "delta", "six_legs", "planar"):
        robot = model(name, backend)
        for function in ("inverse_dynamics", "forward_dynamics", "jacobian"):
            with refused("rotation-not-orthogonal", deviation=1.0):
                getattr(robot, function)(*arguments(robot, function, np.zeros((4, 4))))
        if name in ("six_legs", "planar"):
            with refused("rotation-mirrored"):
                robot.inertia_matrix(moved(robot, 30.0) @ np.diag([1.0, 1.0, -1.0, 1.0]))
    # All legs and the platform in one plane, which all legs can reach.
    robot, T = model("gough_stewart", backend), np.eye(4)
    T[1, 3] = 0.16
    assert not np.all(np.isfinite(robot.inverse_dynamics(*arguments(robot, "inverse_dynamics", T))))
    assert np.all(np.isnan(robot.jacobian(np.full((4, 4), math.nan))))
