# SPDX-License-Identifier: Apache-2.0
"""Closed forms of planar loops with three passive joints are what the iteration finds."""

from __future__ import annotations

import numpy as np
import pytest
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, SLIDER_CRANK, SLIDER_CRANK_SIDE, urdf
from test_loop_report import example

import dyn_core as dyn
from dyn_core.algorithms.loops.dyads import dyads, explicit_positions
from dyn_core.robot.robot import Robot


def in_plane(
    name: str, joints: list[tuple[str, str, str, str, tuple[float, float, float], str]], side: str
) -> Robot:
    return dyn.load_robot(urdf(name, joints), loops=side)


def inverted_crank() -> Robot:
    """A crank whose pin slides in a swinging lever: the cut joint is prismatic, the others revolute."""
    joints = [
        ("crank", "revolute", "base", "crank_arm", (0.0, 0.0, 0.0), "0 0 1"),
        ("pin", "revolute", "crank_arm", "block", (0.2, 0.0, 0.0), "0 0 1"),
        ("lever", "revolute", "base", "lever_arm", (-0.5, 0.1, 0.0), "0 0 -1"),
    ]
    side = """
loops:
  - {name: slot, type: prismatic, parent: {link: block},
     child: {link: lever_arm, xyz: [0, 0.02, 0]}, axis: [1, 0, 0]}
passive: [pin, lever]
assembly: {crank: 0.8, pin: -0.7, lever: 0.0}
"""
    return in_plane("inverted", joints, side)


def scotch_yoke(cut: str) -> Robot:
    """A pin in a slot across a slide: two prismatic joints and a revolute one, one of which is cut."""
    crank = ("crank", "revolute", "base", "crank_arm", (0.0, 0.0, 0.0), "0 0 1")
    slide = ("slide", "prismatic", "base", "yoke", (0.3, 0.0, 0.0), "1 0 0")
    if cut == "revolute":
        slot = ("slot", "prismatic", "yoke", "block", (0.0, 0.0, 0.0), "0.2 1 0")
        side = """
loops:
  - {name: pin, type: revolute, parent: {link: crank_arm, xyz: [0.2, 0, 0]},
     child: {link: block}}
passive: [slide, slot]
assembly: {crank: 0.8, slide: -0.2, slot: 0.1}
"""
        return in_plane("yoke", [crank, slide, slot], side)
    pin = ("pin", "revolute", "crank_arm", "block", (0.2, 0.0, 0.0), "0 0 1")
    side = """
loops:
  - {name: slot, type: prismatic, parent: {link: block},
     child: {link: yoke}, axis: [0.2, 1, 0]}
passive: [slide, pin]
assembly: {crank: 0.8, slide: -0.2, pin: -0.8}
"""
    if cut == "backwards":
        side = side.replace("parent: {link: block}", "parent: {link: yoke}")
        side = side.replace("child: {link: yoke}", "child: {link: block}")
    return in_plane("yoke", [crank, pin, slide], side)


def ram() -> Robot:
    """A ram that a passive crank pushes: both unknown joints on one branch, the slide between them driven."""
    joints = [
        ("foot", "revolute", "base", "barrel", (0.0, 0.0, 0.0), "0 0 1"),
        ("stroke", "prismatic", "barrel", "rod", (0.4, 0.0, 0.0), "1 0 0"),
        ("eye", "revolute", "rod", "boom", (0.3, 0.0, 0.0), "0 0 -1"),
    ]
    side = """
loops:
  - {name: hinge, type: revolute, parent: {link: base, xyz: [0.6, -0.3, 0]},
     child: {link: boom, xyz: [0.5, 0.1, 0]}}
passive: [foot, eye]
assembly: {foot: 0.0, stroke: 0.0, eye: 1.8}
"""
    return in_plane("ram", joints, side)


def slider_first() -> Robot:
    """The piston before the rod: the first of the two unknown joints slides."""
    joints = [
        ("slide", "prismatic", "base", "piston", (0.0, 0.05, 0.0), "1 0 0"),
        ("wrist", "revolute", "piston", "rod", (0.0, 0.0, 0.0), "0 0 1"),
        ("crank", "revolute", "base", "crank_arm", (0.0, 0.0, 0.0), "0 0 1"),
    ]
    side = """
loops:
  - {name: pin, type: revolute, parent: {link: crank_arm, xyz: [0.2, 0, 0]},
     child: {link: rod, xyz: [-0.6, 0, 0]}}
passive: [slide, wrist]
assembly: {crank: 0.8, slide: 0.73, wrist: -0.15}
"""
    return in_plane("slider_first", joints, side)


ROBOTS = {
    "five-bar": (lambda: dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE), ["RRR"]),
    "five-bar, other mode": (
        lambda: dyn.load_robot(
            FIVE_BAR, loops=FIVE_BAR_SIDE.replace("-1.544", "-2.86").replace("1.56", "2.86")
        ),
        ["RRR"],
    ),
    "slider-crank": (lambda: dyn.load_robot(SLIDER_CRANK, loops=SLIDER_CRANK_SIDE), ["RPR"]),
    "slider first": (slider_first, ["PRR"]),
    "inverted crank": (inverted_crank, ["RRP"]),
    "scotch yoke, pin cut": (lambda: scotch_yoke("revolute"), ["PPR"]),
    "scotch yoke, slot cut": (lambda: scotch_yoke("prismatic"), ["RPP"]),
    "scotch yoke, slot cut backwards": (lambda: scotch_yoke("backwards"), ["PRP"]),
    "ram": (ram, ["RRR"]),
    "AKR-3000": (lambda: example("akr3000"), ["RRR", "RRR"]),
    "SR400": (lambda: example("sr400"), []),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_closed_forms_are_the_iteration(name: str) -> None:
    """In closed positions around the assembly, one by one and as a batch."""
    make, kinds = ROBOTS[name]
    robot = make()
    assert sorted(dyad.kind for dyad in dyads(robot)) == kinds
    model = dyn.compile_model(robot, backend="python")
    reference = dyn.loop_report(robot).reference
    middle = np.array([reference[joint] for joint in robot.coordinate_names])
    spread = [0.15 if joint.position_unit == "rad" else 0.01 for joint in robot.independent_joints]
    q = middle + spread * np.random.default_rng(0).uniform(-1.0, 1.0, (20, robot.dof))
    q[0] = middle
    expected = model.solve_loops(q)
    for sample, passive in zip(q, expected, strict=True):
        np.testing.assert_allclose(explicit_positions(robot, sample.tolist()), passive, atol=1e-11)
    batch = np.broadcast_arrays(*explicit_positions(robot, list(q.T)))
    np.testing.assert_allclose(np.stack(batch, axis=-1), expected, atol=1e-11)


def test_the_two_assembly_modes_differ() -> None:
    one, other = (ROBOTS[name][0]() for name in ("five-bar", "five-bar, other mode"))
    a, b = (explicit_positions(robot, [2.2, 0.9]) for robot in (one, other))
    assert [d.branch for d in dyads(one)] != [d.branch for d in dyads(other)]
    assert np.abs(np.subtract(a, b)).min() > 0.5


def test_out_of_reach_is_no_number() -> None:
    robot = ROBOTS["five-bar"][0]()
    assert np.isnan(explicit_positions(robot, [np.pi, 0.0])).all()


def test_spatial_loops_have_no_closed_form() -> None:
    from test_loop_report import bennett

    text, side = bennett()
    robot = dyn.load_robot(text, loops=side, snap=0.0)
    assert dyads(robot) == ()
    with pytest.raises(dyn.DynError, match="joint 'two' has no closed form: its loop is not planar"):
        explicit_positions(robot, [0.8])
