# SPDX-License-Identifier: Apache-2.0
"""Closed forms of planar loops and of legs, on all branches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, SLIDER_CRANK, SLIDER_CRANK_SIDE, urdf
from refusals import refused
from robots import loop_robot
from test_loop_report import bennett

import dyn_core as dyn
from dyn_core.algorithms.loops.dyads import dyads, explicit_positions
from dyn_core.algorithms.parallel.leg_positions import RevoluteUniversal, UniversalPrismatic, closed_form
from dyn_core.algorithms.parallel.parallel_robot import first_origin, in_seat
from dyn_core.robot.mdh.direct_geometry import body_placements
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import KnownAngle, cos, sin
from dyn_core.symbolic.transform import apply


def in_plane(joints: Sequence, assembly: str, kind: str, parent: str, child: str, axis="0, 0, 1") -> Robot:
    """Return a mechanism whose crank or stroke is actuated."""
    passive = ", ".join(name for name, *_ in joints if name not in ("crank", "stroke"))
    cut = f"name: cut, type: {kind}, parent: {{link: {parent}}}, child: {{link: {child}}}, axis: [{axis}]"
    side = f"loops: [{{{cut}}}]\npassive: [{passive}]\nassembly: {{{assembly}}}"
    return dyn.load_robot(urdf("plane", joints), loops=side)


HERE = (0.0, 0.0, 0.0)
CRANK = ("crank", "revolute", "base", "crank_arm", HERE, "0 0 1")
PIN = ("pin", "revolute", "crank_arm", "block", (0.2, 0.0, 0.0), "0 0 1")
LEVER = ("lever", "revolute", "base", "lever_arm", (-0.5, 0.1, 0.0), "0 0 -1")
SLIDE = ("slide", "prismatic", "base", "yoke", (0.3, 0.0, 0.0), "1 0 0")
SLOT = ("slot", "prismatic", "yoke", "block", HERE, "0.2 1 0")
PISTON = ("slide", "prismatic", "base", "piston", (0.0, 0.05, 0.0), "1 0 0")
WRIST = ("wrist", "revolute", "piston", "rod", HERE, "0 0 1")
FOOT = ("foot", "revolute", "base", "barrel", HERE, "0 0 1")
STROKE = ("stroke", "prismatic", "barrel", "rod", (0.4, 0.0, 0.0), "1 0 0")
EYE = ("eye", "revolute", "rod", "boom", (0.3, 0.0, 0.0), "0 0 -1")


YOKE = (CRANK, PIN, SLIDE), "crank: 0.8, slide: -0.2, pin: -0.8", "prismatic"
MECHANISMS = {
    # The piston comes before the rod: the first of the two unknown joints is prismatic.
    "slider first": (
        *("PRR", (PISTON, WRIST, CRANK), "crank: 0.8, slide: 0.73, wrist: -0.15"),
        *("revolute", "crank_arm, xyz: [0.2, 0, 0]", "rod, xyz: [-0.6, 0, 0]"),
    ),
    # A crank whose pin slides in a swinging lever: the cut joint is prismatic, the others revolute.
    "inverted crank": (
        *("RRP", (CRANK, PIN, LEVER), "crank: 0.8, pin: -0.7, lever: 0.0"),
        *("prismatic", "block", "lever_arm, xyz: [0, 0.02, 0]", "1, 0, 0"),
    ),
    # A pin in a slot across a slide: two prismatic joints and one revolute joint; one of them is cut.
    "scotch yoke, pin cut": (
        *("PPR", (CRANK, SLIDE, SLOT), "crank: 0.8, slide: -0.2, slot: 0.1"),
        *("revolute", "crank_arm, xyz: [0.2, 0, 0]", "block"),
    ),
    "scotch yoke, slot cut": ("RPP", *YOKE, "block", "yoke", "0.2, 1, 0"),
    "scotch yoke, slot cut backwards": ("PRP", *YOKE, "yoke", "block", "0.2, 1, 0"),
    # A ram that a passive crank pushes: both unknown joints are on one branch, with the actuated slide
    # between.
    "ram": (
        *("RRR", (FOOT, STROKE, EYE), "foot: 0.0, stroke: 0.0, eye: 1.8"),
        *("revolute", "base, xyz: [0.6, -0.3, 0]", "boom, xyz: [0.5, 0.1, 0]"),
    ),
}
OTHER_MODE = FIVE_BAR_SIDE.replace("-1.544", "-2.86").replace("1.56", "2.86")
ROBOTS = {
    "five-bar": (["RRR"], lambda: dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE)),
    "five-bar, other mode": (["RRR"], lambda: dyn.load_robot(FIVE_BAR, loops=OTHER_MODE)),
    "slider-crank": (["RPR"], lambda: dyn.load_robot(SLIDER_CRANK, loops=SLIDER_CRANK_SIDE)),
    "AKR-3000": (["RRR", "RRR"], lambda: loop_robot("akr3000")),
    "SR400": ([], lambda: loop_robot("sr400")),
    **{name: ([kinds], partial(in_plane, *mechanism)) for name, (kinds, *mechanism) in MECHANISMS.items()},
}


@pytest.mark.parametrize("name", ROBOTS)
def test_closed_forms_agree_with_the_iteration(name: str) -> None:
    """In closed positions around the assembly, as single samples and as a batch."""
    kinds, make = ROBOTS[name]
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
    one, other = (ROBOTS[name][1]() for name in ("five-bar", "five-bar, other mode"))
    a, b = (explicit_positions(robot, [2.2, 0.9]) for robot in (one, other))
    assert [d.branch for d in dyads(one)] != [d.branch for d in dyads(other)]
    assert np.abs(np.subtract(a, b)).min() > 0.5


def test_positions_out_of_reach_give_nan() -> None:
    assert np.isnan(explicit_positions(ROBOTS["five-bar"][1](), [np.pi, 0.0])).all()


def test_spatial_loops_have_no_closed_form() -> None:
    robot = bennett()
    assert dyads(robot) == ()
    with refused("joint-without-closed-form", joint="two"):
        explicit_positions(robot, [0.8])


# Closed forms of legs, on all branches and with axes in all directions, invert the placement of the end.


Joint = tuple[str, Sequence[float], Sequence[float], Sequence[float]]  # Type, position, angles and axis

BASE: Joint = ("revolute", (0.3, -0.2, 0.1), (0.4, 0.5, -0.6), (0, 1, 0))


def leg(*joints: Joint) -> Robot:
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    text = '<robot name="leg"><link name="l0"/>'
    for k, (kind, *placed) in enumerate(joints):
        xyz, rpy, axis = (" ".join(repr(float(x)) for x in values) for values in placed)
        text += (
            f'<link name="l{k + 1}"><inertial><mass value="1"/>{inertia}</inertial></link>'
            f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/>'
            f'<child link="l{k + 1}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
        )
    return dyn.load_robot(text + "</robot>")


R, P, X, Z, NONE = "revolute", "prismatic", (1, 0, 0), (0, 0, 1), (0, 0, 0)
OBLIQUE = (0, -0.1 * math.sin(0.5), 0.1 * math.cos(0.5))
SLIDES = {
    "along z": leg(BASE, (R, NONE, NONE, X), (P, NONE, NONE, Z)),
    "against z": leg(BASE, (R, NONE, NONE, (-1, 0, 0)), (P, (0, 0, 0.2), NONE, (0, 0, -1))),
    "oblique": leg(BASE, (R, (0, 0.1, 0), (0, 0.7, 0), X), (P, OBLIQUE, (0.5, 0, 0), Z)),
}
ARMS = {
    "same axes": leg(BASE, (R, (0.3, 0, 0), NONE, (0, 1, 0)), (R, NONE, NONE, X)),
    "opposite axes": leg(BASE, (R, (0.2, 0.1, 0.1), (0, 0.3, 0), (0, -1, 0)), (R, (0, 0.05, 0), NONE, Z)),
}
ENDS = {"same axes": (0.0, 0.0, -0.6), "opposite axes": (0.5, 0.2, 0.0)}


def end_in_last_body(robot: Robot, point: Sequence[float]) -> tuple[float, float, float]:
    return apply(robot.link_frames[-1].T_body_link, tuple(float(x) for x in point))


def undone(robot: Robot, point, q: Sequence[float]) -> list[float]:
    """Joint positions from the placement of the end at q, on the branch of q."""
    form = closed_form(robot, point, q)
    assert form is not None
    end = apply(body_placements(robot, q)[-1], point)
    found = form.positions(in_seat(robot, vec3.sub(end, first_origin(robot))))
    return [math.atan2(sin(x), cos(x)) if isinstance(x, KnownAngle) else x for x in found]


def same(found: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether positions are equal; angles may differ by whole turns."""
    return all(abs(math.remainder(a - b, math.tau)) < 1e-9 for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", [*SLIDES, *ARMS])
def test_positions_of_legs(name: str) -> None:
    """A universal joint with a slide, and an upper arm with a forearm."""
    slides, robot, random = name in SLIDES, (SLIDES | ARMS)[name], np.random.default_rng(1)
    point = end_in_last_body(robot, ENDS.get(name, NONE))
    for _ in range(40):
        q = random.uniform(-3.1, 3.1, 3).tolist()
        if slides:
            q[2] = float(random.uniform(0.3, 1.0) * random.choice([-1, 1]))
        assert isinstance(closed_form(robot, point, q), UniversalPrismatic if slides else RevoluteUniversal)
        assert same(undone(robot, point, q), q)


def test_other_legs_have_no_closed_form() -> None:
    q = [0.1, 0.2, 0.5]
    for robot in SLIDES.values():
        assert closed_form(robot, end_in_last_body(robot, (0.01, 0, 0)), q) is None
    for name, robot in ARMS.items():
        beside = np.array(ENDS[name]) + 0.01 * np.array([1.0, 0.0, 1.0])
        assert closed_form(robot, end_in_last_body(robot, beside), q) is None
    skew = leg(BASE, (R, (0, 0, 0.1), NONE, X), (P, NONE, NONE, Z))
    assert closed_form(skew, end_in_last_body(skew, NONE), q) is None
