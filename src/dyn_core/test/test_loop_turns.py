# SPDX-License-Identifier: Apache-2.0
"""Joints after many turns: multi-turn encoders, turrets, tools and cranks."""

from __future__ import annotations

import cmath
import math
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, SLIDER_CRANK, SLIDER_CRANK_SIDE, urdf
from refusals import refusal, refused, refused_command
from scipy.spatial.transform import Rotation

import dyn_core as dyn
from dyn_core.algorithms.loops import constraints
from dyn_core.algorithms.loops.loop_structure import geometry_of
from dyn_core.algorithms.loops.passive_joint_positions import same_side
from dyn_core.robot.mdh.cut_frames import cut_joints
from dyn_core.robot.mdh.direct_geometry import transform_between

TURN = 2.0 * math.pi
CRANK, COUPLER, ROCKER, GROUND = 0.15, 0.5, 0.35, 0.5

SIDE = """
loops:
  - {name: pin, type: revolute, parent: {link: coupler, xyz: [0.5, 0, 0]},
     child: {link: rocker, xyz: [0.35, 0, 0]}}
passive: [joint, swing]
assembly: {crank: 0.5, joint: 0.08, swing: 1.427}
"""


JOINTS = [
    ("turret", "continuous", "base", "frame", (0.0, 0.0, 0.1), "0 1 0"),
    ("crank", "continuous", "frame", "arm", (0.0, 0.0, 0.0), "0 0 1"),
    ("joint", "continuous", "arm", "coupler", (CRANK, 0.0, 0.0), "0 0 1"),
    ("swing", "revolute", "frame", "rocker", (GROUND, 0.0, 0.0), "0 0 1"),
    ("tool", "continuous", "rocker", "flange", (ROCKER, 0.0, 0.0), "1 0 0"),
]
TEXT = urdf("crank_rocker", JOINTS)


def crank_rocker(backend: str = "python") -> dyn.Model:
    """A four-bar on a turret, whose crank turns fully, with a tool on its rocker."""
    return dyn.compile_model(dyn.load_robot(TEXT, loops=SIDE), backend=backend)


@pytest.fixture(params=["c", "python"])
def model(request: pytest.FixtureRequest) -> dyn.Model:
    """A model without earlier calls."""
    return crank_rocker(request.param)


def positions(model: dyn.Model, **by_name: float) -> np.ndarray:
    return np.array([by_name.get(name, 0.5) for name in model.joint_names])


def opening(crank: float, joint: float, swing: float) -> float:
    """Gap of the four-bar, by plane geometry (m)."""
    coupler_end = cmath.rect(CRANK, crank) + cmath.rect(COUPLER, crank + joint)
    return abs(coupler_end - GROUND - cmath.rect(ROCKER, swing))


@pytest.mark.parametrize("name", ["turret", "tool"])
@pytest.mark.parametrize("value", [100.0, -1e3, 1e9])
def test_a_joint_outside_of_loops_may_have_any_position(model: dyn.Model, name: str, value: float) -> None:
    far, near = (positions(model, **{name: q}) for q in (value, math.remainder(value, TURN)))
    np.testing.assert_allclose(model.solve_loops(far), model.solve_loops(positions(model)), atol=1e-12)
    there, here = (model.inverse_dynamics(q, np.zeros(3), np.zeros(3)) for q in (far, near))
    np.testing.assert_allclose(there, here, atol=1e-6)


@pytest.mark.parametrize("turns", [7, 16, -160, 10_000])
def test_a_crank_may_have_turned_many_times(model: dyn.Model, turns: int) -> None:
    joint, swing = model.solve_loops(positions(model, crank=1.2 + turns * TURN))
    assert opening(1.2, joint, swing) < 1e-9
    # The coupler only swings, so its joint turns back relative to the crank; the rocker swings.
    near_joint, near_swing = model.solve_loops(positions(model, crank=1.2))
    assert joint == pytest.approx(near_joint - turns * TURN, abs=1e-7)
    assert swing == pytest.approx(near_swing, abs=1e-9)


def test_turns_agree_with_a_continuous_path(model: dyn.Model) -> None:
    at_once, another = model.solve_loops(positions(model, crank=200.0)), crank_rocker()
    for crank in np.linspace(0.5, 200.0, 1200):
        along = another.solve_loops(positions(another, crank=float(crank)))
    np.testing.assert_allclose(at_once, along, atol=1e-9)


def test_batches_may_have_many_turns(model: dyn.Model) -> None:
    cranks = np.array([0.3, 300.0, -50.0, 7e3])
    far, near = (
        np.array([positions(model, crank=crank, turret=turret) for crank in found])
        for found, turret in ((cranks, 1e4), (np.remainder(cranks, TURN), math.remainder(1e4, TURN)))
    )
    there, here = (model.inverse_dynamics(q, np.ones_like(q), np.ones_like(q)) for q in (far, near))
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)


def test_a_simulation_may_begin_after_many_turns() -> None:
    model = crank_rocker()
    start = positions(model, crank=0.5 + 40 * TURN, tool=500.0)
    simulator = dyn.Simulator(model.robot, q=start)
    simulator.step(1e-3)
    np.testing.assert_allclose(simulator.state.q, start, atol=0.01)


def test_the_command_accepts_turns_and_uses_the_singular(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Positions after several turns are accepted; "1 joint" is written in the singular."""
    loops = Command(tmp_path, capsys, "loops")
    files = loops.write("robot.urdf", TEXT), "--side-file", loops.write("robot.yaml", SIDE)
    assert "swing" in loops(*files, "--q", "100", "100", "100").out
    loops.write("robot.urdf", SLIDER_CRANK)
    loops.write("robot.yaml", SLIDER_CRANK_SIDE)
    assert "3 joints - 2 independent constraints = 1 degree of freedom\n" in loops(*files).out
    values = {"option": "--q", "given": 2, "expected": "the robot has 1 joint"}
    refused_command(["loops", *files, "--q", "1", "2"], "option-numbers-count", **values)


def test_joints_that_cannot_turn_fully_have_no_second_turn() -> None:
    """The arms of this five-bar cannot turn fully, although the loop would also close after whole turns."""
    model = dyn.compile_model(dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE))
    start = np.array([2.2, 0.9])
    elbows = model.solve_loops(start)
    with refused("loops-open-at-positions") as caught:
        model.solve_loops(np.array([2.2 + 20 * TURN, 0.9]))
    assert caught.value.values["reason"].code == "loops-closed-without-path"
    np.testing.assert_allclose(model.solve_loops(start), elbows, atol=1e-12)


def test_modes_are_told_apart_by_determinants() -> None:
    robot = geometry_of(dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE))
    model = dyn.compile_model(robot, backend="python")
    configurations, tips = [], []
    for elbows in ([-1.5, 1.5], [-4.0, 4.0]):
        left, right = model.solve_loops(np.array([2.2, 0.9]), guess=elbows)
        by_name = {"left_shoulder": 2.2, "right_shoulder": 0.9, "left_elbow": left, "right_elbow": right}
        configurations.append([by_name[robot.joints[j - 1].name] for j in robot.independent])
        tips.append(cmath.rect(0.4, 2.2) + cmath.rect(0.5, 2.2 + left))
    assert abs(tips[0] - tips[1]) > 0.1  # the tips belong to two different modes
    assert same_side(robot, np.array(configurations)).tolist() == [True, False]


def test_closed_forms_ignore_turns() -> None:
    """Also wrong positions, and robots without loops."""
    arm, model = dyn.load_robot(TEXT), crank_rocker()
    far = positions(model, crank=1.2 + 5 * TURN)
    turns = (np.array(dyn.explicit_positions(model.robot, far)) - model.solve_loops(far)) / TURN
    np.testing.assert_allclose(turns, [5.0, 0.0], atol=1e-9)
    assert refusal(dyn.explicit_positions, arm, [0.0] * arm.dof) == "robot-without-loops: crank_rocker"
    assert refusal(dyn.explicit_positions, model.robot, [0.1]) == "positions-count: 3, 1"
    for wrong in (0.3, None):
        with refused("positions-type", count=3, given=type(wrong).__name__):
            dyn.explicit_positions(model.robot, wrong)  # type: ignore[arg-type]
    with refused("argument-shape", argument="q"):
        model.solve_loops(None)  # type: ignore[arg-type]


def test_the_opening_of_a_weld_is_the_rotation_between_its_sides() -> None:
    """Three joints turn an arm about the weld; the rotation is an axis and an angle."""
    links = "".join(f'<link name="l{k}"/>' for k in range(4))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<axis xyz="{axis}"/></joint>'
        for k, axis in enumerate(("0 0 1", "0 1 0", "1 0 0"))
    )
    weld = {"name": "weld", "type": "fixed", "parent": {"link": "l0"}, "child": {"link": "l3"}}
    loops = {"loops": [weld], "passive": ["j0", "j1", "j2"]}
    robot = dyn.load_robot(f'<robot name="welded">{links}{joints}</robot>', loops=loops)
    (cut,) = cut_joints(robot)
    for q in np.random.default_rng(0).uniform(-0.8, 0.8, (5, 3)).tolist():
        errors, others = constraints.opening(robot, cut, q)
        turn = Rotation.from_matrix(np.array(transform_between(robot, q, cut.P, cut.C).R)).as_rotvec()
        angle = float(np.linalg.norm(turn))
        np.testing.assert_allclose(errors, [0.0, 0.0, 0.0, *(math.sin(angle) / angle * turn)], atol=1e-14)
        np.testing.assert_allclose(others, [1.0 - math.cos(angle)], atol=1e-14)
        assert np.abs(turn).min() > 1e-3
