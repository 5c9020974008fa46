# SPDX-License-Identifier: Apache-2.0
"""SYMORO+ .par files: read, written, and read again."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from par_robots import RRP, assert_same_dynamics, assert_same_parameters
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_urdf import random_driven_urdf
from refusals import refusal, refused, replaced, rows, summary
from robots import example

import dyn_core
from dyn_core.robot.joints import LoopType, Mimic
from dyn_core.robot.par.linear_expression import linear_expression


def test_a_file_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "arm.PAR"
    path.write_text(RRP)
    robot = dyn_core.load_robot(path)
    assert robot == dyn_core.load_robot(RRP)
    assert (robot.name, robot.joint_names) == ("rrp", ("joint_1", "joint_2", "joint_3"))
    assert robot.link_names == ("link_0", "link_1", "link_2", "link_3")
    assert [(s.element, s.parameter, s.line) for s in robot.snapped] == [("frame 3", "alpha", 9)]
    assert_same_dynamics(example("rrp"), robot, tolerance=1e-14)
    assert dyn_core.load_robot(RRP, gravity=(0, 0, -20)).gravity == (0.0, 0.0, -20.0)


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_example_robots_survive_writing_and_reading(name: str) -> None:
    robot = example(name)
    text = dyn_core.write_par(robot)
    again = dyn_core.load_robot(text)
    assert_same_parameters(robot, again)
    assert dyn_core.write_par(again) == text
    assert_same_dynamics(robot, again)


def test_the_text_of_rx90() -> None:
    lines = dyn_core.write_par(example("rx90")).splitlines()
    assert lines[:7] == [
        *(
            "(* Robotname = 'rx90' *)",
            "(* Joint names: joint_1, joint_2, joint_3, joint_4, joint_5, joint_6 *)",
        ),
        *("NL = 6", "NJ = 6", "NF = 6", "Type = 0", "is_mobile = 0"),
    ]
    assert {
        *("ant = {0,1,2,3,4,5}", "d = {0,0,0.45,0,0,0}", "r = {0,0,0,0.45,0,0}", "G = {0,0,-9.81}"),
        *("alpha = {0,Pi/2,0,-Pi/2,Pi/2,-Pi/2}", "theta = {t1,t2,t3,t4,t5,t6}"),
    } <= {*lines}


def test_fixed_frames_mimic_joints_and_a_placed_base() -> None:
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
    assert_same_dynamics(robot, dyn_core.load_robot(dyn_core.write_urdf(robot), gravity=robot.gravity))


def test_loops() -> None:
    robot = dyn_core.load_robot("""(* Robotname = 'four bars' *) NL = 3 NJ = 4 NF = 5 Type = 2
    ant = {0,1,0,2,3} sigma = {0,0,0,0,2} d = {0,1,0.5,1,1} theta = {t1,t2,t3,t4,0} mu = {1,0,0,0,0}
    M = {1,1,1} ZZ = {1,1,1} G = {0,-9.81,0}""")
    (loop,) = robot.loops
    ends = (loop.name, loop.type, loop.parent.link, loop.child.link)
    assert ends == ("loop_1", LoopType.REVOLUTE, "link_2", "link_3")
    assert (loop.parent.T_link_cut.p, loop.child.T_link_cut.p) == ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    assert robot.passive_joint_names == ("joint_2", "joint_3")
    again = dyn_core.load_robot(dyn_core.write_par(robot))
    assert (again.loops, again.joints) == (robot.loops, robot.joints)

    ends = {"parent": {"link": "link_0"}, "child": {"link": "link_3"}}
    spherical = dyn_core.load_robot(RRP, {"loops": [{"name": "c", "type": "spherical", **ends}]})
    with refused("loop-type-unsupported", loop="c", loop_type="spherical"):
        dyn_core.write_par(spherical)


def test_grouped_parameters_need_par_and_ignored_forces_give_a_warning() -> None:
    robot = dyn_core.load_robot(RRP.replace("M = {2,3,1.5}", "M = {0,3,1.5}"))
    assert_same_dynamics(robot, dyn_core.load_robot(dyn_core.write_par(robot)))
    with refused("urdf-mass-missing", link="link_1"):
        dyn_core.write_urdf(robot)
    with pytest.warns(dyn_core.ModelWarning) as caught:
        dyn_core.load_robot(RRP.replace("FX1,0", "5,0"))
    assert [summary(warning.message) for warning in caught] == ["par-state-ignored: FX"]


CASES = rows(r"""
0.02,0,0.54 => YY1,0,0.54 => par-symbol-unknown at YY[1] (line 22): YY1
0,0,0}\nd => 0,RL4,0}\nd => par-symbol-unknown at B[2] (line 11): RL4
t2 + Pi/2 => t9 + Pi/2 => par-symbol-unknown at Theta[2] (line 19): t9
t2 + Pi/2 => Sqrt(4)*TH9 + Pi/2 => par-symbol-unknown at Theta[2] (line 19): TH9
r3} => t3} => par-symbol-unknown at R[3] (line 15): t3
t2 + => 2*t2 + => par-variable-scaled at Theta[2] (line 19): 2, 2*t2 + Pi/2
t2 + => t1+t2 + => par-variables-several at Theta[2] (line 19): t1+t2 + Pi/2
{t1,t2 + Pi/2 => {t2,t1 + Pi/2 => frame-variable-dependent: 1, 9, 2
Alpha = {0 => Alpha = {0 0 => expression-malformed at Alpha[1] (line 17): 0 0
Alpha = {0 => Alpha = {(0 => expression-unclosed at Alpha[1] (line 17): (0
Alpha = {0 => Alpha = {1/0 => expression-divisor-invalid at Alpha[1] (line 17): 1/0
Alpha = {0 => Alpha = {1e300*1e300 => expression-not-finite at Alpha[1] (line 17): 1e300*1e300
{0,1,2} => {0,2,2} => antecedent-range at Ant[2] (line 9): 2, 2, 1
{0,0,1} => {0,0,3} => par-choice-unknown at Sigma[3] (line 10): 3, 0, 1, 2
{0,0,1} => {0,0} => par-values-count at Sigma[1] (line 10): 2, 3
NL = 3 => - => par-number-missing: NL
NL = 3 => NL = 1.5 => par-count-invalid at NL (line 5)
NL = 3 => NL = 4 => frame-counts-inconsistent: 3, 3, 4
Sigma = {0,0,1} => - => par-column-missing: sigma
B = {0,0,0} => B = {1e10,0,0} => frame-too-far at line 9: 1e+09
{2,3,1.5} => {2,-3,1.5} => par-mass-negative at M[2] (line 27): -3
{0.5, => {-0.5, => value-negative at FS[1] (line 29): -0.5
Type = 0 => is_mobile = 1 => par-base-moves at is_mobile (line 7)
-9.81 => G3 => gravity-missing
(* End => Z = {2,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1} (* End => base-placement-invalid
NL = 3 => NL : 3 => par-entry-malformed at line 5: NL : 3
NL = 3 => nl = 3\nNL = 3 => par-entry-repeated at line 6: NL
definition *) => definition => comment-unclosed at line 35
""")


@pytest.mark.parametrize(("old", "new", "expected"), CASES, ids=[row[2] for row in CASES])
def test_wrong_files_are_refused(old: str, new: str, expected: str) -> None:
    assert refusal(dyn_core.load_robot, replaced(RRP, old, new)) == expected


def test_expressions() -> None:
    for text, constant, coefficients in (
        *(("-Pi/2", -math.pi / 2, {}), ("pi", math.pi, {}), ("2*-3 - (4 - 1)/2 + .5", -7.0, {})),
        *(("--1e-3", 1e-3, {}), ("0.3*cos(Pi) + sqrt(4)", 1.7, {}), ("-(T1 + 2)*3 + t1", -6.0, {"t1": -2.0})),
    ):
        value = linear_expression(text)
        assert value.constant == pytest.approx(constant, rel=1e-15), text
        assert value.coefficients == coefficients, text

    for text in ("", "+", "1+", "2 3", "t1*t2", "cos(t1)", "1/t1", "sqrt(-1)", "a..b", "(" * 99, "2^3"):
        with pytest.raises(dyn_core.DynError):
            linear_expression(text)


# Random trees to .par and back; dynamics from .par agree with Pinocchio from URDF.


@examples(200)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 20), snap=st.sampled_from([0, "digits"]))
def test_random_trees(seed: int, joints: int, snap: float) -> None:
    """The dynamics are the same, also for almost parallel axes; writing again gives the same text."""
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints), snap=snap)
    again = dyn_core.load_robot(dyn_core.write_par(robot), snap=0)
    assert (again.name, again.joint_names) == (robot.name, robot.joint_names)
    assert_same_dynamics(robot, again, seed)
    assert_same_parameters(again, dyn_core.load_robot(dyn_core.write_par(again), snap=0))


def test_a_par_file_written_as_urdf_agrees_with_pinocchio() -> None:
    robot = dyn_core.load_robot(RRP)
    motion = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 3))
    oracle = Oracle(dyn_core.write_urdf(robot), robot.joint_names, robot.gravity)
    torques = dyn_core.compile_model(robot, friction=False, backend="python").inverse_dynamics(*motion)
    np.testing.assert_allclose(torques, oracle.inverse_dynamics(*motion, {}), rtol=1e-12, atol=1e-12)
