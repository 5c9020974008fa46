# SPDX-License-Identifier: Apache-2.0
"""What a robot keeps of its URDF."""

from __future__ import annotations

import hashlib
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.robot.joints import Friction, Limits

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


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


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots_load_without_a_warning(name: str) -> None:
    path = ROBOTS / f"{name}.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = dyn_core.load_robot(path)
    assert loaded.name == name
    assert loaded.description_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert loaded == dyn_core.load_robot(path.read_text(encoding="utf-8"))
    assert loaded == dyn_core.load_robot(str(path))
    for limits in loaded.limits.values():
        assert limits.effort is not None
        assert limits.velocity is not None


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
    assert tree.actuated_joint_names == tree.joint_names
    assert tree.dof == 4


def test_limits_and_friction() -> None:
    limited = robot(
        *(link(name) for name in "abcde"),
        joint(
            "known",
            "revolute",
            "a",
            "b",
            '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.5" friction="0.25"/>',
        ),
        joint("zeros", "revolute", "b", "c", '<limit lower="0" upper="0" effort="0" velocity="0"/>'),
        joint("none", "prismatic", "c", "d"),
        joint("turning", "continuous", "d", "e", '<limit lower="1" upper="-1" effort="5"/>'),
    )
    assert limited.limits == {
        "known": Limits(lower=-1.0, upper=2.0, velocity=4.0, effort=3.0),
        "zeros": Limits(),
        "none": Limits(),
        "turning": Limits(effort=5.0),
    }
    assert limited.joints[0].friction == Friction(Fv=0.5, Fs=0.25, Fo=0.0)
    assert limited.joints[2].friction == Friction()


def test_half_a_range_keeps_urdf_s_zero() -> None:
    (limits,) = robot(
        link("a"), link("b"), joint("j", "prismatic", "a", "b", '<limit upper="0.5"/>')
    ).limits.values()
    assert (limits.lower, limits.upper) == (0.0, 0.5)


def test_fixed_joints_merge_and_keep_their_frames() -> None:
    quarter = repr(math.pi / 2)
    merged = robot(
        link("base", inertial(7.0, (1, 0, 0, 1, 0, 1))),
        link("arm", inertial(2.0, (0.1, 0, 0, 0.1, 0, 0.1), '<origin xyz="1 0 0"/>')),
        link("empty"),
        link("tool", inertial(1.0, (0.1, 0, 0, 0.2, 0, 0.25), f'<origin rpy="0 0 {quarter}"/>')),
        joint("j", "revolute", "base", "arm", '<origin xyz="0 0 1"/><axis xyz="0 0 1"/>'),
        joint("f", "fixed", "arm", "empty", '<origin xyz="0 2 0"/>'),
        joint("g", "fixed", "empty", "tool", '<origin xyz="0 0 3"/>'),
    )
    assert merged.dof == 1
    base, arm = merged.bodies
    assert base.M == 7.0
    expected = {"M": 3.0, "MX": 2.0, "MY": 2.0, "MZ": 3.0}
    # the point masses' own moments, those of the arm, and of the tool with x and y exchanged
    expected |= {"XX": 0.0 + 13.0 + 0.1 + 0.2, "YY": 2.0 + 9.0 + 0.1 + 0.1}
    expected |= {"ZZ": 2.0 + 4.0 + 0.1 + 0.25, "XY": 0.0, "XZ": 0.0, "YZ": -6.0}
    for name, value in expected.items():
        assert getattr(arm, name) == pytest.approx(value, abs=1e-15), name
    tool = merged.link_frame("tool")
    assert tool.body == 1
    assert tool.T_body_link.p == (0.0, 2.0, 3.0)


def test_no_joint_at_all() -> None:
    rock = robot(link("rock", inertial(1.0, (1, 0, 0, 1, 0, 1))))
    assert (rock.dof, rock.link_names) == (0, ("rock",))
    model = dyn_core.compile_model(rock)
    assert model.gravity_torques([]).shape == (0,)
    assert model.inverse_dynamics(*np.zeros((3, 4, 0))).shape == (4, 0)


def test_what_is_not_motion_or_mass_is_ignored() -> None:
    strange = robot(
        link("a", '<visual><geometry><mesh filename="x"/></geometry></visual><unknown/>'),
        link("b"),
        joint("f", "fixed", "a", "b", '<axis xyz="nan"/><limit effort="-1"/>'),
        '<transmission name="t"><joint name="f"/></transmission>',
        '<ros2_control name="c" type="system"><joint name="f"/></ros2_control><gazebo/>',
    )
    assert strange.link_names == ("a", "b")


@pytest.mark.parametrize(
    ("mass", "moments", "reason"),
    [
        (1.0, (1, 0, 0, 1, 0, 2.1), "exceeds the sum of the two others"),
        (1.0, (-1, 0, 0, 1, 0, 1), "is negative"),
        (1.0, (1, 1.2, 0, 1, 0, 1), "is negative"),
        (1.0, (1, 0.9, 0, 1, 0, 1), "exceeds the sum of the two others"),
        (0.0, (1, 0, 0, 1, 0, 1), "it has an inertia but no mass"),
    ],
)
def test_impossible_inertia_warns(mass: float, moments: tuple[float, ...], reason: str) -> None:
    with pytest.warns(dyn_core.ModelWarning, match=f"link 'a' .*no body has its inertia, .*{reason}"):
        robot(link("a", inertial(mass, moments)))


@pytest.mark.parametrize(
    "moments", [(0, 0, 0, 0, 0, 0), (1, 0, 0, 1, 0, 2), (0.001, 0, 0, 0.001, 0, 0.0020001)]
)
def test_possible_inertia_does_not_warn(moments: tuple[float, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot(link("a", inertial(1.0, moments)))


def test_warnings_become_errors_on_request() -> None:
    """As docs/robots.md says."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", dyn_core.ModelWarning)
        with pytest.raises(dyn_core.ModelWarning, match=r"link 'a' .*no body has its inertia"):
            robot(link("a", inertial(1.0, (1, 0, 0, 1, 0, 9))))


def test_warning_points_to_the_caller_and_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r">{link("a", inertial(1.0, (1, 0, 0, 1, 0, 9)))}</robot>')
    with pytest.warns(dyn_core.ModelWarning, match=r"r\.urdf: link 'a' \(line 1\)") as caught:
        dyn_core.load_robot(path)
    assert caught[0].filename == __file__


def test_rotor_inertias() -> None:
    loaded = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    geared = loaded.with_rotor_inertias({"lift": 2.0})
    assert [j.Ia for j in geared.joints] == [0.0, 2.0, 0.0]
    q, qdd = (0.1, 0.2, 0.3), (1.0, 1.0, 1.0)
    plain = dyn_core.compile_model(loaded, backend="python").inertial_torques(q, qdd)
    with_rotor = dyn_core.compile_model(geared, backend="python").inertial_torques(q, qdd)
    without = dyn_core.compile_model(geared, rotor_inertia=False, backend="python").inertial_torques(q, qdd)
    np.testing.assert_allclose(with_rotor - plain, (0.0, 2.0, 0.0), atol=1e-15)
    np.testing.assert_array_equal(without, plain)
    with pytest.raises(dyn_core.DynError, match="has no joint 'x': its joints are 'turn', 'lift'"):
        loaded.with_rotor_inertias({"x": 1.0})
    with pytest.raises(dyn_core.DynError, match="rotor inertia of joint 'lift' is -1"):
        loaded.with_rotor_inertias({"lift": -1.0})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<robot><link name='a'/></robot>", "robot (line 1): it has no name: it is called 'robot' here"),
        (
            "<robot name='r'><link name='a'><inertial><mass value='0'/></inertial></link></robot>",
            "link 'a', <inertial> (line 1): it has no <inertia>: zero is used",
        ),
        (
            "<robot name='r'><link name='a'>\n<inertial/></link></robot>",
            "link 'a', <inertial> (line 2): it has no <mass>: zero is used",
        ),
        (
            "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='prismatic'>"
            "<parent link='a'/><child link='b'/><mimic joint='k'/></joint></robot>",
            "joint 'j', <mimic> (line 1): it mimics 'k', which is no joint: it moves by itself",
        ),
    ],
)
def test_guesses_are_remarked(text: str, sentence: str) -> None:
    with pytest.warns(dyn_core.ModelWarning) as caught:
        loaded = dyn_core.load_robot(text)
    assert str(caught[0].message) == sentence
    assert all(joint.mimic is None for joint in loaded.joints)


def test_a_robot_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.v2.urdf"
    path.write_text("<robot name=' '><link name='a'/></robot>")
    with pytest.warns(dyn_core.ModelWarning, match="it is called 'arm.v2' here"):
        assert dyn_core.load_robot(path).name == "arm.v2"
