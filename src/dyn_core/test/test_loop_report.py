# SPDX-License-Identifier: Apache-2.0
"""The report on loops: their kind, relations and iterated joints."""

from __future__ import annotations

import math

import numpy as np
import planar_chains as planar
import pytest
from commands import Command
from refusals import refused_command
from robots import ROBOTS, loop_robot
from test_cut_frames import SR400_PAR

import dyn_core as dyn
from dyn_core.algorithms.loops.redundancy import Redundancy
from dyn_core.robot.robot import Robot

FILES = str(ROBOTS / "sr400.urdf"), "--side-file", str(ROBOTS / "sr400.yaml")


def turning(*joints: tuple[str, str, str, float]) -> str:
    """Return a URDF of joints about z: name, parent, child, and position along x of the parent."""
    rows = [(joint, "revolute", *links, (x, 0.0, 0.0), "0 0 1") for joint, *links, x in joints]
    return planar.urdf("turning", rows)


def sr400_from_par() -> Robot:
    """The robot of the book's own table, near a configuration that is not planar."""
    side = {"assembly": {"joint_2": -1.57, "joint_3": 0.0, "joint_7": -3.14, "joint_8": 1.57}}
    return dyn.load_robot(SR400_PAR, loops=side)


@pytest.mark.parametrize("robot", [loop_robot("sr400"), sr400_from_par()], ids=["URDF", ".par"])
def test_the_sr400_has_the_relations_of_the_book(robot: Robot) -> None:
    """SYMORO+ 2003, secs. 2.3.8: theta3 = pi/2 - theta2 + theta7, theta8 = theta2 - theta7."""
    relations = dyn.explicit_relations(robot)
    assert relations.iterated == ()
    expected = ["theta3 = Pi/2 - theta2 + theta7", "theta8 = theta2 - theta7"]
    assert [relation.mdh for relation in relations.relations] == expected


@pytest.mark.parametrize("name", ["sr400", "palletizer"])
def test_relations_hold_in_the_positions_of_the_urdf(name: str) -> None:
    robot = loop_robot(name)
    model = dyn.compile_model(robot, backend="python")
    relations = {relation.joint: relation for relation in dyn.explicit_relations(robot).relations}
    assert set(relations) == set(robot.passive_joint_names)
    reference = dyn.loop_report(robot).reference
    q = np.array([reference[n] for n in robot.coordinate_names])
    q += np.random.default_rng(1).uniform(-0.2, 0.2, len(q))
    positions = dict(zip(robot.coordinate_names, q.tolist(), strict=True))
    for joint, value in zip(robot.passive_joint_names, model.solve_loops(q), strict=True):
        relation = relations[joint]
        expected = relation.constant + sum(k * positions[n] for n, k in relation.coefficients.items())
        assert value == pytest.approx(expected, abs=1e-12)
        variables = {n.replace("/", "_"): x for n, x in positions.items()} | {"Pi": math.pi}
        assert eval(relation.text.partition(" = ")[2], variables) == pytest.approx(expected, abs=1e-5)


def test_the_report_of_the_sr400() -> None:
    report = dyn.loop_report(loop_robot("sr400"))
    assert (report.joints, report.constraints, report.dof) == (8, 2, 6)
    assert report.actuated == ("joint_1", "joint_2", "joint_4", "joint_5", "joint_6", "joint_7")
    (loop,) = report.loops
    assert loop.branches == (("joint_7", "joint_8"), ("joint_2", "joint_3"))
    assert (loop.root, loop.links) == ("link_1", ("link_8", "link_3"))
    assert (loop.constraints, loop.independent, loop.redundancy) == (5, 2, Redundancy.PLANAR)
    assert loop.better_cut is None
    assert max(report.residual) < 1e-12
    model = dyn.compile_model(loop_robot("sr400"), backend="python")
    q = [report.reference[name] for name in report.actuated]
    assert report.condition == pytest.approx(float(model.loop_condition(q)), rel=1e-9)


def test_a_cut_at_the_end_of_a_long_branch_gets_a_better_proposal() -> None:
    """A four-bar that is cut next to its root has branches of 0 and 3 links.

    A cut in the middle gives 1 and 2.
    """
    (loop,) = dyn.loop_report(dyn.load_robot(planar.FOUR_BAR, loops=planar.FOUR_BAR_SIDE)).loops
    assert (loop.branches, loop.better_cut) == ((("crank", "first", "second"), ()), "first")
    joints = ("crank", "base", "a", 0.0), ("first", "a", "b", 0.3), ("foot", "base", "c", 0.7)
    side = """
loops:
  - {name: second, type: revolute, parent: {link: b, xyz: [0.8, 0, 0]}, child: {link: c, xyz: [0.6, 0, 0]}}
passive: [first, foot]
assembly: {crank: 1.2, first: -0.9, foot: 1.2}
"""
    (loop,) = dyn.loop_report(dyn.load_robot(turning(*joints), loops=side)).loops
    assert (loop.branches, loop.better_cut) == ((("crank", "first"), ("foot",)), None)


def test_iterated_joints_come_in_the_order_of_their_solution() -> None:
    relations = dyn.explicit_relations(dyn.load_robot(planar.SLIDER_CRANK, loops=planar.SLIDER_CRANK_SIDE))
    assert relations.relations == ()
    assert sorted(name for group in relations.iterated for name in group) == ["pin", "slide"]
    assert "by iteration" in str(relations)
    assert "pin, slide: in closed form, too (loop 'wrist', RPR: a circle and a line)" in str(relations)


ENDS = ("one", "base", "a", "0 0 1"), ("two", "a", "b", "0.5 0.1 1"), ("three", "base", "c", "0.2 0.6 1")
SPHERICAL = [(name, "revolute", *links, (0.0, 0.0, 0.0), axis) for name, *links, axis in ENDS]


def test_a_spherical_loop_is_recognised() -> None:
    side = """
loops: [{name: c, type: revolute, parent: {link: b}, child: {link: c}, axis: [0.6, 0.7, 1]}]
passive: [two, three]
"""
    (loop,) = dyn.loop_report(dyn.load_robot(planar.urdf("sphere", SPHERICAL), loops=side)).loops
    assert (loop.constraints, loop.independent, loop.redundancy) == (5, 2, Redundancy.SPHERICAL)


def bennett() -> Robot:
    """Bennett's linkage.

    Opposite links are equal, and the sine of each twist is proportional to the length.
    """
    lengths, twists = (0.5, 0.25), (math.pi / 2, math.asin(0.5))
    assert math.sin(twists[0]) / lengths[0] == pytest.approx(math.sin(twists[1]) / lengths[1])
    text = turning(("one", "base", "a", 0.0), ("two", "a", "b", lengths[0]), ("three", "b", "c", lengths[1]))
    head, first, second, last = text.split('rpy="0 0 0"')
    text = f'{head}rpy="0 0 0"{first}rpy="{twists[0]!r} 0 0"{second}rpy="{twists[1]!r} 0 0"{last}'
    # The base is the fourth link; the cut joint with c is one length and one twist from the first joint.
    side = f"""
loops:
  - {{name: c, type: revolute, parent: {{link: c, xyz: [{lengths[0]}, 0, 0], rpy: [{twists[0]!r}, 0, 0]}},
     child: {{link: base, xyz: [{-lengths[1]} , 0, 0], rpy: [{-twists[1]!r}, 0, 0]}}}}
passive: [two, three]
assembly: {{one: 0.8, two: -2.66, three: -0.8}}
"""
    return dyn.load_robot(text, loops=side, snap=0.0)


def test_an_overconstrained_spatial_loop_is_recognised() -> None:
    report = dyn.loop_report(bennett())
    (loop,) = report.loops
    assert (report.dof, loop.constraints, loop.independent) == (1, 5, 2)
    assert loop.redundancy is Redundancy.SPATIAL


def test_json_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    loops = Command(ROBOTS, capsys, "loops", *FILES)
    printed = loops.json()
    assert printed["degrees_of_freedom"] == 6
    assert printed["relations"][0]["mdh"] == "theta3 = Pi/2 - theta2 + theta7"
    assert printed["loops"][0]["redundancy"] == "planar"
    text = loops().out
    assert "theta8 = theta2 - theta7    (joint_8 = joint_2 - joint_7)" in text
    assert "cut: as good as any" in text
    lines = [line.split() for line in loops("--q", "0", "0.3", "0", "0", "0", "0.1").out.splitlines()]
    assert ["joint_3", "-0.200000", "rad", "passive"] in lines
    assert ["joint_8", "0.200000", "rad", "passive"] in lines
    positions = loops.json("--q", "0,0.3,0,0,0,0.1")["positions"]
    assert positions["joint_3"] == pytest.approx(-0.2, abs=1e-12)


def test_refused_commands() -> None:
    refused_command(["loops", str(ROBOTS / "rx90.urdf")], "loops-missing", robot="rx90")
    count = {"option": "--q", "given": 1, "expected": "the robot has 6 joints"}
    refused_command(["loops", *FILES, "--q", "1"], "option-numbers-count", **count)
