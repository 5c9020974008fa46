# SPDX-License-Identifier: Apache-2.0
"""SYMORO+ .par files: read, written, and read again."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from par_robots import RRP, assert_same_dynamics, assert_same_parameters

import dyn_core
from dyn_core.model.loop import LoopType
from dyn_core.robot.joints import Mimic
from dyn_core.robot.par.linear_expression import linear_expression

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


def test_a_file_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "arm.PAR"
    path.write_text(RRP)
    robot = dyn_core.load_robot(path)
    assert robot == dyn_core.load_robot(RRP)
    assert (robot.name, robot.joint_names) == ("rrp", ("joint_1", "joint_2", "joint_3"))
    assert robot.link_names == ("link_0", "link_1", "link_2", "link_3")
    assert [(s.element, s.parameter, s.line) for s in robot.snapped] == [("frame 3", "alpha", 9)]
    assert_same_dynamics(dyn_core.load_robot(ROBOTS / "rrp.urdf"), robot, tolerance=1e-14)
    heavier = dyn_core.load_robot(RRP, gravity=(0, 0, -20))
    assert heavier.gravity == (0.0, 0.0, -20.0)


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots(name: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    text = dyn_core.write_par(robot)
    again = dyn_core.load_robot(text)
    assert_same_parameters(robot, again)
    assert dyn_core.write_par(again) == text
    assert_same_dynamics(robot, again)


def test_the_text_of_rx90() -> None:
    lines = dyn_core.write_par(dyn_core.load_robot(ROBOTS / "rx90.urdf")).splitlines()
    assert lines[:7] == [
        "(* Robotname = 'rx90' *)",
        "(* Joint names: joint_1, joint_2, joint_3, joint_4, joint_5, joint_6 *)",
        "NL = 6",
        "NJ = 6",
        "NF = 6",
        "Type = 0",
        "is_mobile = 0",
    ]
    for line in (
        "ant = {0,1,2,3,4,5}",
        "d = {0,0,0.45,0,0,0}",
        "r = {0,0,0,0.45,0,0}",
        "alpha = {0,Pi/2,0,-Pi/2,Pi/2,-Pi/2}",
        "theta = {t1,t2,t3,t4,t5,t6}",
        "G = {0,0,-9.81}",
    ):
        assert line in lines


def test_fixed_frames_mimics_and_a_placed_base() -> None:
    text = """(* *) NL = 4 NF = 5
    ant = {0,1,2,3,4} sigma = {0,2,0,1,2} alpha = {0,Pi/2,0,0,0} d = {0,1,0.5,0,0}
    theta = {th1,0.3,-2*th1+0.1,0,0}
    r = {0,0,0,0.5*Q1 + 0.2,0.7} mu = {1,0,1,1,0}
    M = {1,2,3,4} MX = {0.1,0.2,0.3,0.4} XX = {1,2,3,4} YY = {1,2,3,4} ZZ = {1,2,3,4} IA = {0.1,0,0.2,0.3}
    G = {0,9.81,0} Z = {1,0,0,1, 0,0,-1,2, 0,1,0,3, 0,0,0,1}"""
    robot = dyn_core.load_robot(text)
    assert (robot.dof, len(robot.joints), robot.gravity) == (1, 3, (0.0, 0.0, 9.81))
    assert [joint.mimic for joint in robot.joints] == [None, Mimic(1, -2.0, 0.0), Mimic(1, 0.5, 0.0)]
    assert robot.bodies[1].M == 3.0
    assert robot.link_names == ("link_0", "link_1", "link_2", "link_3", "link_4", "link_5")
    assert robot.link_frame("link_5").T_body_link.p == (0.0, 0.0, 0.7)
    assert dyn_core.load_robot(text, mimic=False).dof == 3
    again = dyn_core.load_robot(dyn_core.write_urdf(robot), gravity=robot.gravity)
    assert_same_dynamics(robot, again)


LOOP = """(* Robotname = 'four bars' *)
NL = 3 NJ = 4 NF = 5 Type = 2
ant = {0,1,0,2,3} sigma = {0,0,0,0,2} d = {0,1,0.5,1,1} theta = {t1,t2,t3,t4,0} mu = {1,0,0,0,0}
M = {1,1,1} ZZ = {1,1,1} G = {0,-9.81,0}"""


def test_loops() -> None:
    robot = dyn_core.load_robot(LOOP)
    (loop,) = robot.loops
    assert (loop.name, loop.type) == ("loop_1", LoopType.REVOLUTE)
    assert (loop.parent.link, loop.child.link) == ("link_2", "link_3")
    assert (loop.parent.T_link_cut.p, loop.child.T_link_cut.p) == ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    assert robot.passive_joint_names == ("joint_2", "joint_3")
    again = dyn_core.load_robot(dyn_core.write_par(robot))
    assert again.loops == robot.loops
    assert again.joints == robot.joints


def test_a_loop_that_par_cannot_describe() -> None:
    side = {
        "loops": [
            {"name": "c", "type": "spherical", "parent": {"link": "link_0"}, "child": {"link": "link_3"}}
        ]
    }
    robot = dyn_core.load_robot(RRP, side)
    with pytest.raises(
        dyn_core.DynError, match=r"loop 'c' is spherical: a .par file can describe revolute loops"
    ):
        dyn_core.write_par(robot)


def test_base_parameters_are_for_par_only() -> None:
    robot = dyn_core.load_robot(RRP.replace("M = {2,3,1.5}", "M = {0,3,1.5}"))
    assert_same_dynamics(robot, dyn_core.load_robot(dyn_core.write_par(robot)))
    with pytest.raises(dyn_core.DynError, match="body of link 'link_1' has first moments but no mass"):
        dyn_core.write_urdf(robot)


def test_forces_on_links_are_remarked() -> None:
    with pytest.warns(dyn_core.ModelWarning, match="^FX is a state, not a part of the robot: it is ignored"):
        dyn_core.load_robot(RRP.replace("FX1,0", "5,0"))


CASES = {
    "symbol": ("0.02,0,0.54", "YY1,0,0.54", "YY[1] (line 22): symbol 'YY1' has no value: write a number"),
    "length": ("0,0,0}\nd", "0,RL4,0}\nd", "B[2] (line 11): symbol 'RL4' has no value: write a number"),
    "other variable": (
        "t2 + Pi/2",
        "t9 + Pi/2",
        "Theta[2] (line 19): symbol 't9' has no value: write a number",
    ),
    "other variable in capitals": (
        "t2 + Pi/2",
        "Sqrt(4)*TH9 + Pi/2",
        "Theta[2] (line 19): symbol 'TH9' has no value: write a number",
    ),
    "wrong kind": ("r3}", "t3}", "R[3] (line 15): symbol 't3' has no value: write a number"),
    "twice its own": (
        "t2 +",
        "2*t2 +",
        "Theta[2] (line 19): '2*t2 + Pi/2' has its own variable 2 times: write it once",
    ),
    "two variables": (
        "t2 +",
        "t1+t2 +",
        "Theta[2] (line 19): 't1+t2 + Pi/2' has several variables: a joint can follow one other joint only",
    ),
    "chain": (
        "{t1,t2 + Pi/2",
        "{t2,t1 + Pi/2",
        "frame 1 (line 9) has the variable of frame 2, which follows another or "
        "is cut: write the variable that it follows in the end",
    ),
    "expression": ("Alpha = {0", "Alpha = {0 0", "Alpha[1] (line 17): '0 0' is no expression"),
    "bracket": ("Alpha = {0", "Alpha = {(0", "Alpha[1] (line 17): '(0' is no expression: a ) is missing"),
    "division": ("Alpha = {0", "Alpha = {1/0", "Alpha[1] (line 17): '1/0' divides by zero or by a symbol"),
    "infinite": ("Alpha = {0", "Alpha = {1e300*1e300", "Alpha[1] (line 17): '1e300*1e300' is not finite"),
    "antecedent": (
        "{0,1,2}",
        "{0,2,2}",
        "Ant[2] (line 9): it is 2: the antecedent of frame 2 is one of the frames 0 to 1",
    ),
    "type": ("{0,0,1}", "{0,0,3}", "Sigma[3] (line 10): it is 3: use one of 0, 1, 2"),
    "count": ("{0,0,1}", "{0,0}", "Sigma[1] (line 10): it has 2 values, not 3"),
    "no count": ("NL = 3", "", "there is no entry NL: add NL = ..."),
    "wrong count": ("NL = 3", "NL = 1.5", "NL (line 5): give a whole number >= 0"),
    "counts": ("NL = 3", "NL = 4", "NL = 4, NJ = 3, NF = 3: NL <= NJ and 2 NJ - NL <= NF must hold"),
    "no types": ("Sigma = {0,0,1}", "", "there is no entry sigma: add sigma = {...}"),
    "far": ("B = {0,0,0}", "B = {1e10,0,0}", "line 9: a frame is more than 1e+09 m away: check the unit"),
    "mass": ("{2,3,1.5}", "{2,-3,1.5}", "M[2] (line 27): the mass is -3 kg: it cannot be negative"),
    "friction": ("{0.5,", "{-0.5,", "FS[1] (line 29): it is -0.5: it cannot be negative"),
    "moving base": ("Type = 0", "is_mobile = 1", "is_mobile (line 7): moving bases are not supported yet"),
    "no gravity": ("-9.81", "G3", "G has no value: write numbers, or give gravity to load_robot"),
    "no rotation": (
        "(* End",
        "Z = {2,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1} (* End",
        "Z is not the placement of a frame: its first three columns must be a rotation",
    ),
    "entry": ("NL = 3", "NL : 3", "line 5: 'NL : 3' is no entry: write name = {...}"),
    "twice": ("NL = 3", "nl = 3\nNL = 3", "line 6: NL is there twice: keep one"),
    "comment": ("definition *)", "definition", "line 35: the comment has no end: add *)"),
}


@pytest.mark.parametrize("case", CASES)
def test_mistakes(case: str) -> None:
    old, new, sentence = CASES[case]
    assert old in RRP
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.load_robot(RRP.replace(old, new, 1))
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("text", "constant", "coefficients"),
    [
        ("-Pi/2", -math.pi / 2, {}),
        ("pi", math.pi, {}),
        ("2*-3 - (4 - 1)/2 + .5", -7.0, {}),
        ("--1e-3", 1e-3, {}),
        ("0.3*cos(Pi) + sqrt(4)", 1.7, {}),
        ("-(T1 + 2)*3 + t1", -6.0, {"t1": -2.0}),
    ],
)
def test_expressions(text: str, constant: float, coefficients: dict[str, float]) -> None:
    value = linear_expression(text)
    assert value.constant == pytest.approx(constant, rel=1e-15)
    assert value.coefficients == coefficients


@pytest.mark.parametrize(
    "text", ["", "+", "1+", "2 3", "t1*t2", "cos(t1)", "1/t1", "sqrt(-1)", "a..b", "(" * 99, "2^3"]
)
def test_no_expressions(text: str) -> None:
    with pytest.raises(dyn_core.DynError):
        linear_expression(text)
