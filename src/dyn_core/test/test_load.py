# SPDX-License-Identifier: Apache-2.0
"""Contents of a robot that is loaded from URDF."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from refusals import refused, summary
from robots import ROBOTS, example

import dyn_core
from dyn_core.robot.joints import Friction, Limits


def link(name: str, inertial: str = "") -> str:
    return f'<link name="{name}">{inertial}</link>'


def joint(name: str, kind: str, parent: str, child: str, rest: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{rest}</joint>'


def inertial(mass: float, moments: tuple[float, ...], origin: str = "") -> str:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = " ".join(f'{name}="{value}"' for name, value in zip(names, moments, strict=True))
    return f'<inertial>{origin}<mass value="{mass}"/><inertia {entries}/></inertial>'


def robot(*parts: str) -> dyn_core.Robot:
    return dyn_core.load_robot(f'<robot name="r">{"".join(parts)}</robot>')


def summaries(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    return [summary(warning.message) for warning in caught]


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots_load_without_a_warning(name: str) -> None:
    path = ROBOTS / f"{name}.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = dyn_core.load_robot(path)
    assert loaded.name == name
    assert loaded.description_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert loaded == dyn_core.load_robot(path.read_text()) == dyn_core.load_robot(str(path))
    assert all(None not in (limits.effort, limits.velocity) for limits in loaded.limits.values())


def test_tree_order_is_depth_first_with_children_in_document_order() -> None:
    tree = robot(
        joint("late", "revolute", "root", "l4"),
        joint("first", "revolute", "root", "l1"),
        joint("branch_b", "revolute", "l1", "l3"),
        joint("branch_a", "prismatic", "tool", "l2"),
        joint("merged", "fixed", "l1", "tool"),
        *(link(name) for name in ("l4", "l3", "l2", "l1", "tool", "root")),
    )
    assert tree.joint_names == ("late", "first", "branch_b", "branch_a")
    assert tree.link_names == ("root", "l4", "l1", "l3", "tool", "l2")
    assert [j.antecedent for j in tree.joints] == [0, 0, 2, 2]
    assert (tree.actuated_joint_names, tree.dof) == (tree.joint_names, 4)


def test_limits_and_friction() -> None:
    dynamics = '<dynamics damping="0.5" friction="0.25"/>'
    limits = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
    limited = robot(
        *(link(name) for name in "abcdef"),
        joint("known", "revolute", "a", "b", limits + dynamics),
        joint("zeros", "revolute", "b", "c", '<limit lower="0" upper="0" effort="0" velocity="0"/>'),
        joint("none", "prismatic", "c", "d"),
        joint("turning", "continuous", "d", "e", '<limit lower="1" upper="-1" effort="5"/>'),
        joint("half", "prismatic", "e", "f", '<limit upper="0.5"/>'),
    )
    assert limited.limits == {
        "known": Limits(lower=-1.0, upper=2.0, velocity=4.0, effort=3.0),
        "zeros": Limits(),
        "none": Limits(),
        "turning": Limits(effort=5.0),
        "half": Limits(lower=0.0, upper=0.5),
    }
    assert limited.joints[0].friction == Friction(Fv=0.5, Fs=0.25, Fo=0.0)
    assert limited.joints[2].friction == Friction()


def test_fixed_joints_merge_and_keep_their_frames() -> None:
    quarter = f'<origin rpy="0 0 {math.pi / 2!r}"/>'
    merged = robot(
        link("base", inertial(7.0, (1, 0, 0, 1, 0, 1))),
        link("arm", inertial(2.0, (0.1, 0, 0, 0.1, 0, 0.1), '<origin xyz="1 0 0"/>')),
        link("empty"),
        link("tool", inertial(1.0, (0.1, 0, 0, 0.2, 0, 0.25), quarter)),
        joint("j", "revolute", "base", "arm", '<origin xyz="0 0 1"/><axis xyz="0 0 1"/>'),
        joint("f", "fixed", "arm", "empty", '<origin xyz="0 2 0"/>'),
        joint("g", "fixed", "empty", "tool", '<origin xyz="0 0 3"/>'),
    )
    base, arm = merged.bodies
    assert (merged.dof, base.M) == (1, 7.0)
    expected = {"M": 3.0, "MX": 2.0, "MY": 2.0, "MZ": 3.0}
    # the moments of the point masses, of the arm, and of the tool with x and y exchanged
    expected |= {"XX": 0.0 + 13.0 + 0.1 + 0.2, "YY": 2.0 + 9.0 + 0.1 + 0.1}
    expected |= {"ZZ": 2.0 + 4.0 + 0.1 + 0.25, "XY": 0.0, "XZ": 0.0, "YZ": -6.0}
    assert {name: getattr(arm, name) for name in expected} == pytest.approx(expected, abs=1e-15)
    tool = merged.link_frame("tool")
    assert (tool.body, tool.T_body_link.p) == (1, (0.0, 2.0, 3.0))


def test_robots_without_joints_and_elements_without_dynamics() -> None:
    rock = robot(link("rock", inertial(1.0, (1, 0, 0, 1, 0, 1))))
    assert (rock.dof, rock.link_names) == (0, ("rock",))
    model = dyn_core.compile_model(rock)
    assert model.gravity_torques([]).shape == (0,)
    assert model.inverse_dynamics(*np.zeros((3, 4, 0))).shape == (4, 0)
    parts = (
        link("a", '<visual><geometry><mesh filename="x"/></geometry></visual><unknown/>'),
        link("b"),
        joint("f", "fixed", "a", "b", '<axis xyz="nan"/><limit effort="-1"/>'),
        '<transmission name="t"><joint name="f"/></transmission>',
        '<ros2_control name="c" type="system"><joint name="f"/></ros2_control><gazebo/>',
    )
    with pytest.warns(dyn_core.ModelWarning) as caught:
        assert robot(*parts).link_names == ("a", "b")
    assert summaries(caught) == ["child-unread at link 'a': link, unknown"]


IMPOSSIBLE = "link-inertia-impossible at link 'a' (line 1)"
WITHOUT_MASS = "link-inertia-without-mass at link 'a' (line 1)"


@pytest.mark.parametrize(
    ("mass", "moments", "expected"),
    [
        (1.0, (1, 0, 0, 1, 0, 2.1), [IMPOSSIBLE]),
        (1.0, (-1, 0, 0, 1, 0, 1), [IMPOSSIBLE]),
        (1.0, (1, 1.2, 0, 1, 0, 1), [IMPOSSIBLE]),
        (1.0, (1, 0.9, 0, 1, 0, 1), [IMPOSSIBLE]),
        (0.0, (1, 0, 0, 1, 0, 1), [WITHOUT_MASS]),
        (1.0, (0, 0, 0, 0, 0, 0), []),
        (1.0, (1, 0, 0, 1, 0, 2), []),
        (1.0, (0.001, 0, 0, 0.001, 0, 0.0020001), []),
    ],
)
def test_impossible_inertia_warns(mass: float, moments: tuple[float, ...], expected: list[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot(link("a", inertial(mass, moments)))
    assert summaries(caught) == expected


def test_warnings_become_errors_on_request_and_name_caller_and_file(tmp_path: Path) -> None:
    """As docs/robots.md describes."""
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r">{link("a", inertial(1.0, (1, 0, 0, 1, 0, 9)))}</robot>')
    with warnings.catch_warnings():
        warnings.simplefilter("error", dyn_core.ModelWarning)
        with pytest.raises(dyn_core.ModelWarning) as raised:
            dyn_core.load_robot(path)
    assert summary(raised.value) == IMPOSSIBLE
    with pytest.warns(dyn_core.ModelWarning) as caught:
        dyn_core.load_robot(path)
    assert (caught[0].filename, caught[0].message.file) == (__file__, str(path))
    assert summaries(caught) == [IMPOSSIBLE]


def test_rotor_inertias() -> None:
    loaded = example("rrp")
    geared = loaded.with_rotor_inertias({"lift": 2.0})
    assert [j.Ia for j in geared.joints] == [0.0, 2.0, 0.0]
    q, qdd = (0.1, 0.2, 0.3), (1.0, 1.0, 1.0)
    plain, with_rotor, without = (
        dyn_core.compile_model(one, rotor_inertia=kept, backend="python").inertial_torques(q, qdd)
        for one, kept in ((loaded, True), (geared, True), (geared, False))
    )
    np.testing.assert_allclose(with_rotor - plain, (0.0, 2.0, 0.0), atol=1e-15)
    np.testing.assert_array_equal(without, plain)
    with refused("joint-unknown", joint="x"):
        loaded.with_rotor_inertias({"x": 1.0})
    with refused("rotor-inertia-range", joint="lift", given=-1.0):
        loaded.with_rotor_inertias({"lift": -1.0})


INVERTED = '<limit lower="2" upper="-1" effort="3" velocity="4"/>'
MIMIC = joint("j", "prismatic", "a", "b", "<mimic joint='k'/>")
PART = "inertial-part-missing at link 'a', <inertial>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (link("a", "<inertial><mass value='0'/></inertial>"), [f"{PART} (line 1): inertia"]),
        (link("a", "\n<inertial/>"), [f"{PART} (line 2): {tag}" for tag in ("mass", "inertia")]),
        (link("a", "<visual><xacro:mesh/></visual>"), ["xacro-left-over: 1, xacro:mesh"]),
        (link("a") + "<sensor><xacro:ray/>\n<xacro:ray/></sensor>", ["xacro-left-over: 1, xacro:ray"]),
        (link("a") + link("b") + MIMIC, ["mimic-leader-unknown at joint 'j', <mimic> (line 1): k"]),
    ],
)
def test_assumed_values_give_a_warning(text: str, expected: list[str]) -> None:
    with pytest.warns(dyn_core.ModelWarning) as caught:
        assert all(joint.mimic is None for joint in robot(text).joints)
    assert summaries(caught) == expected


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_lower_limit_above_the_upper_one_is_no_limit(kind: str) -> None:
    parts = (link("a"), link("b"), joint("j", kind, "a", "b", INVERTED))
    with pytest.warns(dyn_core.ModelWarning) as caught:
        assert robot(*parts).limits == {"j": Limits(effort=3.0, velocity=4.0)}
    assert summaries(caught) == ["joint-range-inverted at joint 'j', <limit> (line 1): 2, -1"]


def test_a_robot_without_a_name_gets_that_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.v2.urdf"
    path.write_text("<robot name=' '><link name='a'/></robot>")
    for source, name in ((path, "arm.v2"), ("<robot><link name='a'/></robot>", "robot")):
        with pytest.warns(dyn_core.ModelWarning) as caught:
            assert dyn_core.load_robot(source).name == name
        assert summaries(caught) == [f"robot-name-missing at robot (line 1): {name}"]
