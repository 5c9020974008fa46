# SPDX-License-Identifier: Apache-2.0
"""Joints that have turned many times: encoders of several turns, turrets, tools, cranks."""

from __future__ import annotations

import cmath
import math
from pathlib import Path

import numpy as np
import pytest
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, SLIDER_CRANK, SLIDER_CRANK_SIDE, urdf

import dyn_core as dyn
from dyn_core.algorithms.loops.loop_structure import geometry_of
from dyn_core.cli.main import main
from dyn_core.loops.search import same_side
from dyn_core.robot.robot import Robot

TURN = 2.0 * math.pi
CRANK, COUPLER, ROCKER, GROUND = 0.15, 0.5, 0.35, 0.5

SIDE = """
loops:
  - {name: pin, type: revolute, parent: {link: coupler, xyz: [0.5, 0, 0]},
     child: {link: rocker, xyz: [0.35, 0, 0]}}
passive: [joint, swing]
assembly: {crank: 0.5, joint: 0.08, swing: 1.427}
"""


TEXT = urdf(
    "crank_rocker",
    [
        ("turret", "continuous", "base", "frame", (0.0, 0.0, 0.1), "0 1 0"),
        ("crank", "continuous", "frame", "arm", (0.0, 0.0, 0.0), "0 0 1"),
        ("joint", "continuous", "arm", "coupler", (CRANK, 0.0, 0.0), "0 0 1"),
        ("swing", "revolute", "frame", "rocker", (GROUND, 0.0, 0.0), "0 0 1"),
        ("tool", "continuous", "rocker", "flange", (ROCKER, 0.0, 0.0), "1 0 0"),
    ],
)


def crank_rocker() -> Robot:
    """A four-bar whose crank turns fully, on a turret, with a tool on its rocker."""
    return dyn.load_robot(TEXT, loops=SIDE)


@pytest.fixture(params=["c", "python"])
def model(request: pytest.FixtureRequest) -> dyn.Model:
    """A model that has not been asked anything before."""
    return dyn.compile_model(crank_rocker(), backend=request.param)


def positions(model: dyn.Model, **by_name: float) -> np.ndarray:
    return np.array([by_name.get(name, 0.5) for name in model.joint_names])


def opening(crank: float, joint: float, swing: float) -> float:
    """How far the four-bar is open, by plane geometry (m)."""
    coupler_end = cmath.rect(CRANK, crank) + cmath.rect(COUPLER, crank + joint)
    return abs(coupler_end - GROUND - cmath.rect(ROCKER, swing))


@pytest.mark.parametrize("name", ["turret", "tool"])
@pytest.mark.parametrize("value", [100.0, -1e3, 1e9])
def test_a_joint_outside_of_all_loops_may_be_anywhere(model: dyn.Model, name: str, value: float) -> None:
    far, near = positions(model, **{name: value}), positions(model)
    np.testing.assert_allclose(model.solve_loops(far), model.solve_loops(near), atol=1e-12)
    rest = np.zeros(3)
    there = model.inverse_dynamics(far, rest, rest)
    far[model.joint_names.index(name)] = math.remainder(value, TURN)
    np.testing.assert_allclose(there, model.inverse_dynamics(far, rest, rest), atol=1e-6)


@pytest.mark.parametrize("turns", [7, 16, -160, 10_000])
def test_a_crank_may_have_turned_many_times(model: dyn.Model, turns: int) -> None:
    q = positions(model, crank=1.2 + turns * TURN)
    joint, swing = model.solve_loops(q)
    assert opening(1.2, joint, swing) < 1e-9
    # The coupler swings in the plane, and so turns back on the crank; the rocker swings.
    near_joint, near_swing = model.solve_loops(positions(model, crank=1.2))
    assert joint == pytest.approx(near_joint - turns * TURN, abs=1e-7)
    assert swing == pytest.approx(near_swing, abs=1e-9)


def test_turns_are_those_of_a_way_without_a_jump(model: dyn.Model) -> None:
    far = positions(model, crank=200.0)
    at_once = model.solve_loops(far)
    another = dyn.compile_model(crank_rocker(), backend="python")
    for crank in np.linspace(0.5, 200.0, 1200):
        along = another.solve_loops(positions(another, crank=float(crank)))
    np.testing.assert_allclose(at_once, along, atol=1e-9)


def test_batches_take_turns_too(model: dyn.Model) -> None:
    cranks = np.array([0.3, 300.0, -50.0, 7e3])
    q = np.array([positions(model, crank=crank, turret=1e4) for crank in cranks])
    rates = np.ones_like(q)
    near = q.copy()
    near[:, model.joint_names.index("crank")] = np.remainder(cranks, TURN)
    near[:, model.joint_names.index("turret")] = math.remainder(1e4, TURN)
    expected = model.inverse_dynamics(near, rates, rates)
    np.testing.assert_allclose(model.inverse_dynamics(q, rates, rates), expected, rtol=1e-9, atol=1e-9)


def test_a_simulation_begins_after_many_turns() -> None:
    robot = crank_rocker()
    start = positions(dyn.compile_model(robot, backend="python"), crank=0.5 + 40 * TURN, tool=500.0)
    simulator = dyn.Simulator(robot, q=start)
    simulator.step(1e-3)
    np.testing.assert_allclose(simulator.state.q, start, atol=0.01)


def test_the_command_takes_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, side = tmp_path / "robot.urdf", tmp_path / "robot.yaml"
    text.write_text(TEXT)
    side.write_text(SIDE)
    assert main(["loops", str(text), "--loops", str(side), "--q", "100", "100", "100"]) == 0
    assert "swing" in capsys.readouterr().out


def test_one_thing_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, side = tmp_path / "robot.urdf", tmp_path / "robot.yaml"
    text.write_text(SLIDER_CRANK)
    side.write_text(SLIDER_CRANK_SIDE)
    assert main(["loops", str(text), "--loops", str(side)]) == 0
    assert "3 joints - 2 independent constraints = 1 degree of freedom\n" in capsys.readouterr().out
    assert main(["loops", str(text), "--loops", str(side), "--q", "1", "2"]) == 1
    assert "--q has 2 numbers, but the robot has 1 joint\n" in capsys.readouterr().err


def test_what_swings_has_no_second_turn() -> None:
    """Arms of this five-bar do not come round; where they would be after turns, the loop closes."""
    model = dyn.compile_model(dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE))
    start = np.array([2.2, 0.9])
    elbows = model.solve_loops(start)
    with pytest.raises(dyn.DynError) as caught:
        model.solve_loops(np.array([2.2 + 20 * TURN, 0.9]))
    assert "they close there, but no way was found to there from the assembly" in str(caught.value)
    assert "another assembly mode" not in str(caught.value)
    np.testing.assert_allclose(model.solve_loops(start), elbows, atol=1e-12)


def test_modes_are_told_apart_by_determinants() -> None:
    robot = geometry_of(dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE))
    model = dyn.compile_model(robot, backend="python")
    start = np.array([2.2, 0.9])
    configurations = []
    for elbows in ([-1.5, 1.5], [-4.0, 4.0]):
        left, right = model.solve_loops(start, guess=elbows)
        by_name = {"left_shoulder": 2.2, "right_shoulder": 0.9, "left_elbow": left, "right_elbow": right}
        configurations.append([by_name[robot.joints[j - 1].name] for j in robot.independent])
    tips = [cmath.rect(0.4, 2.2) + cmath.rect(0.5, 2.2 + left) for left in np.array(configurations)[:, 1]]
    assert abs(tips[0] - tips[1]) > 0.1  # two modes they are
    assert same_side(robot, np.array(configurations)).tolist() == [True, False]


def test_closed_forms_know_no_turns() -> None:
    robot = crank_rocker()
    model = dyn.compile_model(robot, backend="python")
    far = positions(model, crank=1.2 + 5 * TURN)
    near = np.array(dyn.explicit_positions(robot, far))
    turns = (near - model.solve_loops(far)) / TURN
    np.testing.assert_allclose(turns, [5.0, 0.0], atol=1e-9)


def test_closed_forms_of_what_has_none() -> None:
    arm = dyn.load_robot(TEXT)
    with pytest.raises(dyn.DynError, match="robot 'crank_rocker' has no loops, and no passive joints"):
        dyn.explicit_positions(arm, [0.0] * arm.dof)
    for wrong, has in (([0.1], "has 1"), (0.3, "is float"), (None, "is NoneType")):
        with pytest.raises(ValueError, match=f"a position for each of the 3 actuated joints.* but it {has}"):
            dyn.explicit_positions(crank_rocker(), wrong)  # type: ignore[arg-type]


def test_positions_that_are_none() -> None:
    model = dyn.compile_model(crank_rocker(), backend="python")
    with pytest.raises((ValueError, TypeError), match=r"^q: "):
        model.solve_loops(None)  # type: ignore[arg-type]
