# SPDX-License-Identifier: Apache-2.0
"""Which robots are parallel robots, and what is said of those that are not."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import yaml
from parallel_cases import FLOATING, case, motions

import dyn_core
from dyn_core.algorithms.parallel.leg_positions import RevoluteUniversal
from dyn_core.algorithms.parallel.parallel_structure import parallel_robot
from dyn_core.check.loop_gaps import loop_gap
from dyn_core.model.loop import LoopType
from dyn_core.parallel.universal_prismatic import UniversalPrismatic


def changed(name: str, change=lambda side: None, urdf=lambda text: text) -> dyn_core.Robot:
    """The robot of a case with another side file and another URDF."""
    side = copy.deepcopy(yaml.safe_load(case(name).side_file))
    change(side)
    return dyn_core.load_robot(urdf(case(name).urdf), loops=side)


def refused(robot: dyn_core.Robot, message: str, platform: str = "platform") -> None:
    with pytest.raises(dyn_core.DynError, match=message):
        dyn_core.compile_parallel(robot, platform, backend="python")


@pytest.mark.parametrize(
    ("name", "form"), [("gough_stewart", UniversalPrismatic), ("delta", RevoluteUniversal)]
)
def test_example_robots_are_closed_and_have_closed_forms(name: str, form: type) -> None:
    robot = case(name).load()
    for loop in robot.loops:
        assert max(loop_gap(robot, loop)) < 1e-14
    found = parallel_robot(robot, "platform")
    assert all(isinstance(leg.closed_form, form) for leg in found.legs)
    assert len(found.mobility) == len(found.actuated) == len(found.legs)
    q = dict(robot.assembly)
    for leg, home in zip(found.legs, found.q_home, strict=True):
        np.testing.assert_allclose(home, [q[joint.name] for joint in leg.robot.joints], rtol=0, atol=1e-14)


def test_example_robots_have_no_findings_but_loops() -> None:
    for name in ("gough_stewart", "delta"):
        findings = dyn_core.check_robot(case(name).urdf, loops=case(name).side_file)
        assert {finding.kind for finding in findings if finding.severity.name == "ERROR"} == set()


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


@pytest.mark.parametrize("name", ["gough_stewart", "delta"])
def test_the_branch_of_the_assembly_is_kept(name: str) -> None:
    """Angles a whole turn away come out so; the other bend of an arm gives the other closed form."""
    robot = case(name).load()
    joint = {"gough_stewart": "tilt_3", "delta": "shoulder_2"}[name]
    turned = replace(
        robot,
        assembly=tuple((n, q + (math.tau if n == joint else 0.0)) for n, q in robot.assembly),
    )
    plain, other = (dyn_core.compile_parallel(r, "platform", backend="python") for r in (robot, turned))
    T = motions(plain, 4)[0]
    expected = plain.leg_positions(T)
    expected[:, plain.leg_joint_names.index(joint)] += math.tau
    np.testing.assert_allclose(other.leg_positions(T), expected, rtol=0, atol=1e-13)


def test_an_arm_that_bends_the_other_way() -> None:
    robot = case("delta").load()
    plain = dyn_core.compile_parallel(robot, "platform", backend="python")
    T = np.eye(4)
    T[:3, 3] = plain.structure.T_home.p
    x, z = 0.04 + 0.05 - 0.2, -0.62
    q = dict(zip(plain.leg_joint_names, plain.leg_positions(T), strict=True))
    line = 2.0 * math.atan2(-z, x)
    bent = q | {"shoulder_1": line - q["shoulder_1"]}
    bent["elbow_1"] = 2.0 * math.atan2(-x, -z) - (q["shoulder_1"] + q["elbow_1"]) - bent["shoulder_1"]
    other = replace(robot, assembly=tuple((n, bent.get(n, v)) for n, v in robot.assembly))
    model = dyn_core.compile_parallel(other, "platform", backend="python")
    found = dict(zip(model.leg_joint_names, model.leg_positions(T), strict=True))
    difference = math.remainder(found["shoulder_1"] - bent["shoulder_1"], math.tau)
    assert abs(difference) < 1e-12
    assert found["shoulder_2"] == pytest.approx(q["shoulder_2"], abs=1e-12)


def test_an_assembly_need_only_be_near() -> None:
    exact = dyn_core.compile_parallel(case("gough_stewart").load(), "platform", backend="python")

    def rounded(side) -> None:
        side["assembly"] = {name: round(q, 2) for name, q in side["assembly"].items()}

    near = dyn_core.compile_parallel(changed("gough_stewart", rounded), "platform", backend="python")
    T, V, Vd = motions(exact, 3)
    down = dyn_core.compile_parallel(changed("gough_stewart"), "platform", backend="python")
    np.testing.assert_allclose(
        near.inverse_dynamics(T, V, Vd), down.inverse_dynamics(T, V, Vd), rtol=1e-12, atol=1e-10
    )


def test_a_platform_out_of_reach_of_an_iterated_leg() -> None:
    model = dyn_core.compile_parallel(case("planar").load(), "platform", backend="python")
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = model.structure.T_home
    T[:3, 3] += model.mobility[:3, 0] * 3.0
    with pytest.raises(dyn_core.DynError, match=r"leg 'leg0' does not reach the platform at \("):
        model.inverse_dynamics(T, np.zeros(6), np.zeros(6))


def test_robots_without_loops_or_platform() -> None:
    tree = case("delta").load()
    refused(replace(tree, loops=()), "no loop connects the joints 'shoulder_1', 'elbow_1', 'sway_1'")
    refused(tree, "robot 'delta' has no link 'plate'", "plate")
    refused(tree, "platform 'base_link': it is fixed to the base", "base_link")
    refused(tree, "platform 'forearm_1': joint 'shoulder_1', which is between the base and it", "forearm_1")


def test_loops_elsewhere() -> None:
    def between_legs(side) -> None:
        side["loops"][0]["child"] = {"link": "forearm_2"}

    refused(
        changed("delta", between_legs), "loop 'leg_1' connects 'forearm_1' and 'forearm_2', and not a leg"
    )

    def twice(side) -> None:
        elsewhere = {"link": "platform", "xyz": [0.05, 0.01, 0]}
        side["loops"].append({**side["loops"][0], "name": "again", "child": elsewhere})

    refused(
        changed("delta", twice), "loop 'again': its leg has the joints 'shoulder_1', 'elbow_1', 'sway_1' in"
    )

    def to_base(side) -> None:
        side["loops"][0]["parent"] = {"link": "base_link"}

    refused(changed("delta", to_base), "loop 'leg_1': it connects the platform to the base, without a leg")


def test_cut_joints_that_are_none_of_a_leg() -> None:
    def slides(side) -> None:
        side["loops"][0].pop("axis2")
        side["loops"][0]["type"] = "cylindrical"

    refused(
        changed("delta", slides), "loop 'leg_1': its type is cylindrical: a leg ends in one of 'spherical'"
    )


def test_a_part_that_turns_idly() -> None:
    def spherical(side) -> None:
        side["loops"][3]["type"] = LoopType.SPHERICAL.value
        side["loops"][3].pop("axis")
        side["loops"][3].pop("axis2")

    refused(
        changed("six_legs", spherical), "loop 'leg3': its leg has 4 joints, of which a spherical joint on the"
    )


def test_too_few_and_too_many_actuators() -> None:
    def fewer(side) -> None:
        side["passive"].append("length_3")

    message = "the platform 'platform' has 6 degrees of freedom and 5 actuated joints, too few"
    refused(changed("gough_stewart", fewer), message)

    def more(side) -> None:
        side["passive"].remove("elbow_1")

    refused(changed("delta", more), "has 3 degrees of freedom and 4 actuated joints, too many")


def test_a_platform_whose_own_joints_are_not_idle() -> None:
    def driven(side) -> None:
        side["passive"].remove("platform_motion/yaw")

    refused(
        changed("delta", driven),
        "joint 'platform_motion/yaw', which is between the base and it, is no passive",
    )
    with_friction = replace(case("delta").load(), loops=case("delta").load().loops)
    refused(
        with_friction.with_parameters({"Fv6": 1.0}),
        "'platform_motion/roll' places it and has friction or a rot",
    )
    refused(
        with_friction.with_parameters({"M3": 1.0}),
        "'platform_motion/trans_z', which places it, carries another",
    )


def test_an_assembly_that_does_not_close() -> None:
    def apart(side) -> None:
        side["loops"][0]["child"]["xyz"] = [5.0, 0.0, 0.0]

    refused(changed("delta", apart), "is open in the assembly, and near it, by")


def test_slides_may_place_the_platform() -> None:
    """Then the platform cannot turn by itself, and spherical joints do."""
    slides = "".join(
        f'<link name="s{k}"/><joint name="slide{k}" type="prismatic"><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/><limit lower="-1" upper="1" effort="0" velocity="9"/>'
        "</joint>"
        for k, (parent, child, axis) in enumerate(
            [("base_link", "s0", "1 0 0"), ("s0", "s1", "0 1 0"), ("s1", "platform", "0 0 1")]
        )
    ).replace('<link name="s2"/>', "")

    def with_slides(text: str) -> str:
        start = text.index('<joint name="platform_motion"')
        end = text.index("</joint>", start) + len("</joint>")
        return text[:start] + slides + text[end:]

    def spherical(side) -> None:
        for loop in side["loops"]:
            loop["type"] = "spherical"
            loop.pop("axis")
            loop.pop("axis2")
        side["passive"] = [n for n in side["passive"] if "/" not in n] + ["slide0", "slide1", "slide2"]
        values = {f"slide{k}": side["assembly"][f"platform_motion/trans_{x}"] for k, x in enumerate("xyz")}
        side["assembly"] = {n: q for n, q in side["assembly"].items() if "/" not in n} | values

    robot = changed("delta", spherical, with_slides)
    ours = dyn_core.compile_parallel(robot, "platform", backend="python")
    delta = dyn_core.compile_parallel(changed("delta"), "platform", backend="python")
    T, V, Vd = motions(delta, 3)
    np.testing.assert_allclose(ours.inverse_dynamics(T, V, Vd), delta.inverse_dynamics(T, V, Vd), rtol=1e-12)
    np.testing.assert_array_equal(ours.mobility, delta.mobility)


def test_a_platform_that_turns_about_a_point() -> None:
    """A spherical wrist of one leg: the directions in which the origin moves change."""
    text = (
        '<robot name="wrist"><link name="base"/><link name="platform"><inertial><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        + FLOATING
        + "".join(
            f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" '
            f'ixz="0" iyz="0"/></inertial></link><joint name="j{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{k}"/><axis xyz="{axis}"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
            "</joint>"
            for k, (parent, axis) in enumerate([("base", "1 0 0"), ("l0", "0 1 0"), ("l1", "0 0 1")])
        )
        + "</robot>"
    )
    own = [f"platform_motion/{part}" for part in ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")]
    loop = {
        "name": "cut",
        "type": "fixed",
        "parent": {"link": "l2"},
        "child": {"link": "platform", "xyz": [0, 0, 1]},
    }
    side = {"loops": [loop], "passive": own, "assembly": {"platform_motion/trans_z": -1.0}}
    refused(
        dyn_core.load_robot(text, loops=side), "the directions in which it can move change with its placement"
    )


def test_arguments_of_compile_parallel() -> None:
    robot = case("delta").load()
    with pytest.raises(ValueError, match="backend: expected 'auto', 'c' or 'python', but it is 'rust'"):
        dyn_core.compile_parallel(robot, "platform", backend="rust")
    with pytest.raises(ValueError, match="parameters: expected 'baked' or 'runtime', but it is 'fixed'"):
        dyn_core.compile_parallel(robot, "platform", "fixed")
    with pytest.raises(ValueError, match="robot: expected what load_robot answers, but it is str"):
        dyn_core.compile_parallel("delta.urdf", "platform")
