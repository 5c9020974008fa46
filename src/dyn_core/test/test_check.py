# SPDX-License-Identifier: Apache-2.0
"""Scope and reporting of checks, and findings about all bodies together."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from checked_robot import CLEAN, FORE_INERTIAL, NO_ROTORS, SLIDER, SLIDER_INERTIAL, UPPER, UPPER_INERTIAL
from growth_of_time import processor_seconds
from properties import examples, given, st
from random_urdf import random_urdf
from refusals import refused, replaced, summary

import dyn_core
from dyn_core import Severity, check_robot
from dyn_core.check.axes_and_angles import roundings_of
from dyn_core.check.subject import tried_positions


def test_par_files_get_the_checks_that_apply() -> None:
    start = "(* x *) NL = 1 ant = {0} sigma = {0} theta = {t1} G = {0, 9.81, 0} "
    found = check_robot(start + "M = {1} MX = {0.1} XX = {0.02} YY = {0.03} ZZ = {0.1}")
    unbalanced = ("inertia-unbalanced", Severity.WARNING, "link 'link_1'")
    assert unbalanced in [(f.code, f.severity, f.element) for f in found]
    found = check_robot(start + "MX = {0.1} ZZ = {0.1}")
    assert "parameters-grouped at note, link 'link_1'" in map(summary, found)
    assert "inertia-without-mass" not in {finding.code for finding in found}
    found = check_robot(start + "M = {1} ZZ = {0.1} W0 = {1, 0, 0}")
    assert [f.severity for f in found if f.code == "par-state-ignored"] == [Severity.WARNING]


def test_a_loaded_robot_is_checked() -> None:
    robot = dyn_core.load_robot(CLEAN)
    assert check_robot(robot) == ()
    weak = dyn_core.load_robot(replaced(CLEAN, 'effort="60"', 'effort="2"'))
    (found,) = check_robot(weak)
    assert (found.names, found.line) == (("shoulder",), None)
    # The gravity torque is that of the model.
    torque = dyn_core.compile_model(weak, backend="python").gravity_torques(found.values["position"])[0]
    assert abs(torque) == pytest.approx(found.values["needed"], rel=1e-12)
    with refused("robot-already-loaded"):
        check_robot(robot, gravity=(0, 0, 0))


INVERTED = replaced(CLEAN, 'lower="-2.5"', 'lower="3"')


def test_findings_are_sorted_by_severity_then_in_tree_order() -> None:
    text = replaced(
        CLEAN,
        *('velocity="0.2"', 'velocity="0"', 'velocity="3"', 'velocity="0"', 'lower="-2.5"', 'lower="0.1"'),
        *(UPPER, 'ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"', *NO_ROTORS),
        *(SLIDER, 'ixx="0.5e-7" ixy="0" ixz="0" iyy="0.5e-7" iyz="0" izz="0.5e-7"'),
    )
    assert [(f.severity, f.kind, f.names) for f in check_robot(text)] == [
        (Severity.WARNING, "joint", ("shoulder", "slide")),
        (Severity.WARNING, "link", ("slider",)),
        (Severity.NOTE, "robot", ()),
        (Severity.NOTE, "link", ("upper",)),
        (Severity.NOTE, "joint", ("elbow",)),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nowhere.urdf", "path-or-text-unknown at error, robot: XML text, nowhere.urdf"),
        ("<robot><link</robot>", "xml-malformed at error, robot: 1, not well-formed (invalid to..."),
        ("<robot name='r'/>", "robot-without-links at error, robot"),
        ("<robot name='r'><link name='a'/></robot>", "robot-immobile at note, robot"),
        (CLEAN.replace('"4"', '"-4"', 1), "link-mass-negative at error, link 'upper' (line 3), <mass>: -4"),
    ],
)
def test_a_robot_that_cannot_be_read_or_cannot_move_is_one_finding(source: str, expected: str) -> None:
    assert list(map(summary, check_robot(source))) == [expected]


def test_mistakes_in_other_files_name_the_file(tmp_path: Path) -> None:
    side, urdf = tmp_path / "side.yaml", tmp_path / "arm.urdf"
    side.write_text("passive: [nobody]")
    (found,) = check_robot(CLEAN, loops=side)
    assert (found.kind, found.code, found.values["path"]) == ("side file", "side-file-unusable", str(side))
    cause = found.values["cause"]
    assert summary(cause).startswith("side-file-joint-unknown at passive: nobody, [shoulder, elbow, slide]")
    urdf.write_text(INVERTED)
    first = check_robot(urdf)[0]
    assert summary(first) == "joint-range-inverted at warning, joint 'elbow' (line 16), <limit>: 3, 2.5"


def test_every_warning_of_load_robot_is_a_finding_once() -> None:
    text = replaced(
        CLEAN,
        *('name="clean"', "", 'izz="0.065"', 'izz="0.1"', f"<inertia {SLIDER}/>", ""),
        *('effort="30"/>', 'effort="30"/><mimic joint="nobody"/>'),
    )
    with pytest.warns(dyn_core.ModelWarning) as caught:
        dyn_core.load_robot(text)
    assert len(caught) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [finding.code for finding in check_robot(text) if finding.severity is Severity.WARNING]
    codes = ("robot-name-missing", "inertia-unbalanced", "inertial-part-missing", "mimic-leader-unknown")
    assert list(map(found.count, codes)) == [1] * 4, found


def test_thirty_joints_take_less_than_three_seconds() -> None:
    text = random_urdf(3, 45, massless_leaves=False).replace('type="fixed"', 'type="revolute"')
    assert dyn_core.load_robot(text).dof == 45
    assert processor_seconds(lambda: check_robot(text)) < 3.0


def test_names_of_the_parts_of_planar_and_floating_joints_give_no_finding() -> None:
    parts = "".join(f'<link name="{name}">{UPPER_INERTIAL}</link>' for name in "abc")
    parts += (
        '<joint name="plane" type="planar"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    )
    parts += '<joint name="space" type="floating"><parent link="b"/><child link="c"/></joint>'
    found = {finding.code for finding in check_robot(f'<robot name="r">{parts}</robot>')}
    assert not found & {"name-with-odd-characters", "axis-missing"}


SNAPS, SCALES = st.sampled_from(["digits", 0, 0.01]), st.sampled_from(["", "e-300", "e-9", "e9", "e25"])


@examples(60)
@given(st.integers(0, 10**6), st.integers(0, 12), st.booleans(), SNAPS, SCALES)
def test_checks_of_random_robots_end_without_an_error(
    seed: int, joints: int, leaves: bool, snap: float, scale: str
) -> None:
    """Any robot may have findings, but no check may raise."""
    text = random_urdf(seed, joints, leaves)
    text = re.sub(r'(ixx|ixy|ixz|iyy|iyz|izz|value)="([-0-9.]+)(?:e-?\d+)?"', rf'\1="\2{scale}"', text)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        findings = check_robot(text, snap=snap)  # type: ignore[arg-type]
    for finding in findings:
        assert str(finding).isprintable()
        assert "nan" not in finding.message


# Findings about all bodies together: gravity, sizes, missing masses, inertia matrices


def test_gravity_and_lengths_in_millimetres() -> None:
    strong = re.sub('effort="[^"]*"', 'effort="1e5"', CLEAN)
    for gravity, expected in (
        ((0, 0, 0), ["gravity-zero at note, robot"]),
        ((0, 0, -1.62), ["gravity-unlike-earth at note, robot: 1.62"]),
        ((0, 0, 981), ["gravity-unlike-earth at note, robot: 981"]),
        ((9.81, 0, 0), []),
        ((0, -9.7, 1.4), []),
    ):
        assert list(map(summary, check_robot(strong, gravity=gravity))) == expected
    text = replaced(CLEAN, *("0 0 0.5", "0 0 500", '"0.4 0 0"', '"400 0 0"', '"0.3 0 0"', '"300 0 0"'))
    assert "lengths-in-millimetres at warning, robot: 1200" in map(summary, check_robot(text))


ON_A_MOUNT = """<robot name="r"><link name="base"/><link name="disc"><inertial><mass value="{mass}"/>
 <inertia ixx="{half}" ixy="0" ixz="0" iyy="{half}" iyz="0" izz="{inertia}"/></inertial>{shape}</link>
<joint name="spin" type="continuous"><parent link="base"/><child link="disc"/>
 <origin xyz="0 0 {mount}"/><axis xyz="0 0 1"/><limit effort="9" velocity="9"/>
 <dynamics damping="0.1" armature="0.1"/></joint></robot>"""


@pytest.mark.parametrize(
    ("mass", "inertia", "mount", "shape", "is_found"),
    [
        (5.0, 0.1, 0.1, "", False),  # a disc of radius 0.2 m: m r^2 / 2
        (1.0, 0.011, 0.3, "", False),
        (20.0, 10.0, 0.1, '<cylinder radius="1" length="0.1"/>', False),
        (20.0, 10.0, 0.1, '<box size="2 2 0.1"/>', False),
        (20.0, 20.0, 0.1, '<sphere radius="1.01"/>', False),
        (20.0, 10.0, 0.1, '<cylinder radius="0.1" length="0.1"/>', True),
        (20.0, 10.0, 0.1, '<box size="0.1 x"/>', True),
        (0.005, 0.000274, 0.1, '<cylinder radius="0.1" length="0.01"/>', True),  # ten times that of a rotor
        (5.0, 0.1e6, 0.1, "", True),  # kg mm^2
        (5.0, 0.1e3, 0.1, '<cylinder radius="0.2" length="0.1"/>', True),  # g m^2
    ],
)
def test_a_short_robot_may_carry_a_wide_body(
    mass: float, inertia: float, mount: float, shape: str, is_found: bool
) -> None:
    visual = f"<visual><origin/><geometry>{shape}</geometry></visual>" if shape else ""
    text = ON_A_MOUNT.format(mass=mass, inertia=inertia, half=0.6 * inertia, mount=mount, shape=visual)
    assert [finding.code for finding in check_robot(text)].count("inertia-too-large") == is_found


def test_the_mass_of_a_moving_base_counts() -> None:
    text = CLEAN.replace('<link name="base">', f'<link name="base">{UPPER_INERTIAL}')
    for side, is_found in ((None, True), ({"base": "free"}, False)):
        codes = {finding.code for finding in check_robot(text, side)}
        assert ("base-mass-without-effect" in codes) == is_found


def test_a_kinematic_model_has_one_error() -> None:
    text = CLEAN
    for inertial in (UPPER_INERTIAL, FORE_INERTIAL, SLIDER_INERTIAL):
        text = text.replace(inertial, "").replace("<visual/>", "")
    found = check_robot(replaced(text, *NO_ROTORS))
    errors = [summary(finding) for finding in found if finding.severity is Severity.ERROR]
    assert errors == ["robot-without-mass at error, robot"]
    assert check_robot(text) == ()  # rotors alone are also dynamics


BALL = """<robot name="ball"><link name="a"/><link name="b">{between}</link><link name="c"/>
<link name="d"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
 <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.008"/></inertial></link>
<joint name="yaw" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
 <limit effort="9" velocity="9"/><dynamics damping="0.1"/></joint>
<joint name="nod" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
 <limit effort="9" velocity="9"/></joint>
<joint name="roll" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/>
 <limit effort="9" velocity="9"/></joint></robot>"""


def test_joint_combinations_without_inertia_and_impossible_inertia_matrices() -> None:
    """With the axes of yaw and roll on one line, opposite turns of both move no mass."""
    (found,) = (f for f in check_robot(BALL.format(between="")) if f.severity < Severity.NOTE)
    assert (found.severity, set(found.names)) == (Severity.WARNING, {"yaw", "roll"})
    assert found.code in ("inertia-matrix-singular", "inertia-matrix-nearly-singular")
    inertial = f'<inertial><mass value="1"/><inertia {UPPER}/></inertial>'
    assert all(f.severity is Severity.NOTE for f in check_robot(BALL.format(between=inertial)))
    # The moment about the last axis is negative: a positive torque gives a negative acceleration.
    changes = ('xyz="0.15 0 0"', 'xyz="0 0 0"', SLIDER_INERTIAL, "", 'iyy="0.03"', 'iyy="-0.3"')
    found = check_robot(replaced(CLEAN.replace("<visual/>", ""), *changes))[0]
    assert (found.severity, found.code) == (Severity.ERROR, "inertia-matrix-indefinite")
    assert "elbow" in found.names


def test_positions_that_are_tried_are_at_limits_and_at_quarter_turns() -> None:
    q = tried_positions(dyn_core.load_robot(CLEAN), 200)
    assert q[0].tolist() == [0.0, 0.0, 0.0]
    shoulder, _, slide = q[100:].T
    quarter = 0.5 * np.pi
    assert set(shoulder) == {-2.0, -quarter, 0.0, quarter, 2.0}
    assert set(slide) == {0.0, 0.1}
    assert (np.abs(q[:100]) <= [2.0, 2.5, 0.1]).all()


@pytest.mark.parametrize(
    ("word", "is_rounded"),
    [("1.57", True), ("1.571", True), ("-2.36", True), ("2.35", True), ("2.34", False), ("1.58", False)],
)
def test_angles_that_look_rounded_to_the_nearest_or_cut(word: str, is_rounded: bool) -> None:
    joint = SimpleNamespace(origin=SimpleNamespace(rpy=(float(word),), rpy_words=(word,)))
    exact = (2 if abs(float(word)) < 2.0 else 3) * np.pi / (4.0 if word[0] != "-" else -4.0)
    assert list(roundings_of(joint)) == ([(word, pytest.approx(exact))] if is_rounded else [])
