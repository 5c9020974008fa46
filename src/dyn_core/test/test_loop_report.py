# SPDX-License-Identifier: Apache-2.0
"""What the loops of a robot are said to be, and how their passive joints follow."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from emitted_programs import ROBOTS
from planar_chains import (
    FIVE_BAR,
    FIVE_BAR_SIDE,
    FOUR_BAR,
    FOUR_BAR_SIDE,
    SLIDER_CRANK,
    SLIDER_CRANK_SIDE,
    urdf,
)
from test_cut_frames import SR400_PAR

import dyn_core as dyn
from dyn_core.algorithms.loops.redundancy import Redundancy
from dyn_core.cli.main import main
from dyn_core.robot.robot import Robot


def example(name: str) -> Robot:
    return dyn.load_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")


def sr400_from_par() -> Robot:
    """The robot of the book's own table, near a configuration that is not flat."""
    side = {"assembly": {"joint_2": -1.57, "joint_3": 0.0, "joint_7": -3.14, "joint_8": 1.57}}
    return dyn.load_robot(SR400_PAR, loops=side)


@pytest.mark.parametrize("robot", [example("sr400"), sr400_from_par()], ids=["URDF", ".par"])
def test_the_sr400_has_the_relations_of_the_book(robot: Robot) -> None:
    """SYMORO+ 2003, secs. 2.3.8: theta3 = pi/2 - theta2 + theta7, theta8 = theta2 - theta7."""
    relations = dyn.explicit_relations(robot)
    assert relations.iterated == ()
    assert [relation.mdh for relation in relations.relations] == [
        "theta3 = Pi/2 - theta2 + theta7",
        "theta8 = theta2 - theta7",
    ]


@pytest.mark.parametrize("name", ["sr400", "palletizer"])
def test_relations_hold_in_the_positions_of_the_urdf(name: str) -> None:
    robot = example(name)
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
    report = dyn.loop_report(example("sr400"))
    assert (report.joints, report.constraints, report.dof) == (8, 2, 6)
    assert report.actuated == ("joint_1", "joint_2", "joint_4", "joint_5", "joint_6", "joint_7")
    (loop,) = report.loops
    assert loop.branches == (("joint_7", "joint_8"), ("joint_2", "joint_3"))
    assert (loop.root, loop.links) == ("link_1", ("link_8", "link_3"))
    assert (loop.constraints, loop.independent, loop.redundancy) == (5, 2, Redundancy.PLANAR)
    assert loop.better_cut is None
    assert max(report.residual) < 1e-12
    model = dyn.compile_model(example("sr400"), backend="python")
    q = [report.reference[name] for name in report.actuated]
    assert report.condition == pytest.approx(float(model.loop_condition(q)), rel=1e-9)


def test_a_cut_at_the_end_of_a_long_branch_is_not_the_best() -> None:
    """A four-bar cut next to its root has branches of 0 and 3 links; the middle has 1 and 2."""
    robot = dyn.load_robot(FOUR_BAR, loops=FOUR_BAR_SIDE)
    (loop,) = dyn.loop_report(robot).loops
    assert loop.branches == (("crank", "first", "second"), ())
    assert loop.better_cut == "first"
    text = urdf(
        "four_bar",
        [
            ("crank", "revolute", "base", "a", (0.0, 0.0, 0.0), "0 0 1"),
            ("first", "revolute", "a", "b", (0.3, 0.0, 0.0), "0 0 1"),
            ("foot", "revolute", "base", "c", (0.7, 0.0, 0.0), "0 0 1"),
        ],
    )
    side = """
loops:
  - {name: second, type: revolute, parent: {link: b, xyz: [0.8, 0, 0]}, child: {link: c, xyz: [0.6, 0, 0]}}
passive: [first, foot]
assembly: {crank: 1.2, first: -0.9, foot: 1.2}
"""
    (loop,) = dyn.loop_report(dyn.load_robot(text, loops=side)).loops
    assert (loop.branches, loop.better_cut) == ((("crank", "first"), ("foot",)), None)


def test_iterated_joints_come_in_the_order_of_their_solution() -> None:
    relations = dyn.explicit_relations(dyn.load_robot(SLIDER_CRANK, loops=SLIDER_CRANK_SIDE))
    assert relations.relations == ()
    assert sorted(name for group in relations.iterated for name in group) == ["pin", "slide"]
    assert "by iteration" in str(relations)
    assert "pin, slide: in closed form, too (loop 'wrist', RPR: a circle and a line)" in str(relations)


SPHERICAL = [
    ("one", "revolute", "base", "a", (0.0, 0.0, 0.0), "0 0 1"),
    ("two", "revolute", "a", "b", (0.0, 0.0, 0.0), "0.5 0.1 1"),
    ("three", "revolute", "base", "c", (0.0, 0.0, 0.0), "0.2 0.6 1"),
]


def test_a_spherical_loop_is_recognised() -> None:
    side = """
loops: [{name: c, type: revolute, parent: {link: b}, child: {link: c}, axis: [0.6, 0.7, 1]}]
passive: [two, three]
"""
    (loop,) = dyn.loop_report(dyn.load_robot(urdf("sphere", SPHERICAL), loops=side)).loops
    assert (loop.constraints, loop.independent) == (5, 2)
    assert loop.redundancy is Redundancy.SPHERICAL


def bennett() -> tuple[str, str]:
    """Bennett's linkage: opposite links alike, and the sine of each twist proportional to its length."""
    lengths, twists = (0.5, 0.25), (math.pi / 2, math.asin(0.5))
    assert math.sin(twists[0]) / lengths[0] == pytest.approx(math.sin(twists[1]) / lengths[1])
    text = urdf(
        "bennett",
        [
            ("one", "revolute", "base", "a", (0.0, 0.0, 0.0), "0 0 1"),
            ("two", "revolute", "a", "b", (lengths[0], 0.0, 0.0), "0 0 1"),
            ("three", "revolute", "b", "c", (lengths[1], 0.0, 0.0), "0 0 1"),
        ],
    )
    head, first, second, last = text.split('rpy="0 0 0"')
    text = f'{head}rpy="0 0 0"{first}rpy="{twists[0]!r} 0 0"{second}rpy="{twists[1]!r} 0 0"{last}'
    # The base is the fourth link: its joint with c is the cut, a length and a twist from the first.
    side = f"""
loops:
  - {{name: c, type: revolute, parent: {{link: c, xyz: [{lengths[0]}, 0, 0], rpy: [{twists[0]!r}, 0, 0]}},
     child: {{link: base, xyz: [{-lengths[1]} , 0, 0], rpy: [{-twists[1]!r}, 0, 0]}}}}
passive: [two, three]
assembly: {{one: 0.8, two: -2.66, three: -0.8}}
"""
    return text, side


def test_an_overconstrained_spatial_loop_is_recognised() -> None:
    text, side = bennett()
    report = dyn.loop_report(dyn.load_robot(text, loops=side, snap=0.0))
    (loop,) = report.loops
    assert (report.dof, loop.constraints, loop.independent) == (1, 5, 2)
    assert loop.redundancy is Redundancy.SPATIAL


def test_json_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(ROBOTS / "sr400.urdf"), "--loops", str(ROBOTS / "sr400.yaml")]
    assert main(["loops", *files, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["degrees_of_freedom"] == 6
    assert answer["relations"][0]["mdh"] == "theta3 = Pi/2 - theta2 + theta7"
    assert answer["loops"][0]["redundancy"] == "planar"
    assert main(["loops", *files]) == 0
    text = capsys.readouterr().out
    assert "theta8 = theta2 - theta7    (joint_8 = joint_2 - joint_7)" in text
    assert "cut: as good as any" in text
    assert main(["loops", *files, "--q", "0", "0.3", "0", "0", "0", "0.1"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["joint_3", "-0.200000", "rad", "passive"] in lines
    assert ["joint_8", "0.200000", "rad", "passive"] in lines
    assert main(["loops", *files, "--json", "--q", "0,0.3,0,0,0,0.1"]) == 0
    assert json.loads(capsys.readouterr().out)["positions"]["joint_3"] == pytest.approx(-0.2, abs=1e-12)


def test_mistakes_are_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loops", str(ROBOTS / "rx90.urdf")]) == 1
    assert "has no loops: give them in a side file" in capsys.readouterr().err
    files = [str(ROBOTS / "sr400.urdf"), "--loops", str(ROBOTS / "sr400.yaml")]
    assert main(["loops", *files, "--q", "1"]) == 1
    assert "--q has 1 number, but the robot has 6 joints" in capsys.readouterr().err


def test_five_bar() -> None:
    report = dyn.loop_report(dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE))
    assert (report.dof, report.loops[0].redundancy) == (2, Redundancy.PLANAR)
