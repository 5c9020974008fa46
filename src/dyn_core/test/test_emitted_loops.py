# SPDX-License-Identifier: Apache-2.0
"""Emitted functions for robots with loops agree with the model when iterated as their heads describe."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from depth import some
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, SLIDER_CRANK, SLIDER_CRANK_SIDE
from refusals import refused_command
from robots import ROBOTS
from test_emitted import CALLS, head_of

import dyn_core as dyn
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import with_unknowns
from dyn_core.model.fixed_base.closed_loops import newton_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.robot.robot import Robot

NAMES = ("five_bar", "slider_crank", "akr3000")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "friction_torques")


def robot_of(name: str) -> Robot:
    planar = {"slider_crank": (SLIDER_CRANK, SLIDER_CRANK_SIDE), "five_bar": (FIVE_BAR, FIVE_BAR_SIDE)}
    urdf, side = planar.get(name, (ROBOTS / f"{name}.urdf", ROBOTS / f"{name}.yaml"))
    return dyn.load_robot(urdf, loops=side)


def start(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    head = " ".join(emitted(newton_program(robot), robot, "python").replace("\n#", " ").split())
    found = re.search(r"The loops are closed at q = \((.*?)\) with x = \((.*?)\)\.", head)
    assert found is not None
    return tuple(np.array([float(word) for word in group.split(",")]) for group in found.groups())


@pytest.mark.parametrize("name", some(NAMES, "five_bar", "slider_crank"))
@pytest.mark.parametrize("language", CALLS)
def test_iterating_the_emitted_functions_agrees_with_the_model(
    language: str, name: str, tmp_path: Path
) -> None:
    """As the head says: small steps of q from the known configuration; samples follow one after the other."""
    robot = robot_of(name)
    programs = {"newton_step": newton_program(robot), **{name: traced(robot, name) for name in kinds(robot)}}
    programs = {name: with_unknowns(program) for name, program in programs.items()}
    call = CALLS[language](robot, tmp_path, list(programs.values()))
    model = dyn.compile_model(robot, backend="python")
    q, x = start(robot)
    random = np.random.default_rng(3)
    direction = random.uniform(-1.0, 1.0, robot.dof)
    for _ in range(3):
        q = q + 0.03 * direction
        for _ in range(6):
            step = call(programs["newton_step"], [q, x])[: len(x)]
            x = x + step
            if np.abs(step).max() < 1e-9:
                break
        else:
            pytest.fail("the steps do not become small")
        passive = dict(zip(model.passive_joint_names, model.solve_loops(q), strict=True))
        names = programs["newton_step"].columns[: len(x)]
        np.testing.assert_allclose(x, [passive[n] for n in names], atol=1e-11)
        qd, qdd = random.uniform(-1.0, 1.0, (2, robot.dof))
        arguments = {"inverse_dynamics": [q, qd, qdd], "forward_dynamics": [q, qd, qdd]}
        for function, given in (arguments | {"inertia_matrix": [q], "bias_torques": [q, qd]}).items():
            expected = getattr(model, function)(*given)
            value = np.reshape(call(programs[function], [*given, x]), np.shape(expected))
            close = {"rtol": 1e-8, "atol": 1e-9 * np.abs(expected).max(), "err_msg": function}
            np.testing.assert_allclose(value, expected, **close)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_head_names_the_passive_joints(language: str) -> None:
    robot = robot_of("slider_crank")
    program = traced(robot, "inverse_dynamics")
    head = emitted(program, robot, language)[:2500]
    assert "x (2): positions of the passive joints" in head
    assert re.search(r"1 (pin +\(rad\)|slide +\(m\))\n.*2 (pin +\(rad\)|slide +\(m\))", head)
    assert "results of newton_step(q, x)" in head_of(program, robot, language)


def test_robots_with_explicit_loops_take_no_x() -> None:
    robot = robot_of("sr400")
    program = traced(robot, "inverse_dynamics")
    assert with_unknowns(program) is program
    assert "x (" not in emitted(program, robot, "c")


def test_the_commands_counts_and_emit(capsys: pytest.CaptureFixture[str]) -> None:
    command, newton = Command(ROBOTS, capsys), ("--function", "newton_step", "--lang", "c")
    robot, *loops = str(ROBOTS / "five_bar.urdf"), "--side-file", str(ROBOTS / "five_bar.yaml")
    prototype = "void five_bar_newton_step(const double *q, const double *x, double *out)"
    assert prototype in command("emit", robot, *loops, *newton).out
    assert any(line.startswith("newton_step ") for line in command("counts", robot, *loops).out.splitlines())
    for function in FUNCTIONS:
        printed = command("eval", robot, function, *loops, "--q", "-0.5", "0.7", "--qd", "1", "0.5").out
        assert [line.split()[0] for line in printed.splitlines()] == ["left_shoulder", "right_shoulder"]
    sr400 = [str(ROBOTS / "sr400.urdf"), "--side-file", str(ROBOTS / "sr400.yaml")]
    for other, code in ((sr400, "of-linear-loops"), ([str(ROBOTS / "rx90.urdf")], "without-loops")):
        refused_command(["emit", *other, *newton], f"newton-step-{code}")
