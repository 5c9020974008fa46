# SPDX-License-Identifier: Apache-2.0
"""Emitted functions of robots with loops: with the iteration that their heads describe they are the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from emitted_programs import ROBOTS
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE, SLIDER_CRANK, SLIDER_CRANK_SIDE
from test_emitted import CALLS, STRICT, called, python_function, run, tool

import dyn_core as dyn
from dyn_core.cli.main import main
from dyn_core.codegen.closure import with_unknowns
from dyn_core.codegen.identifier import cpp_namespace, fortran_name, linked_name
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.codegen.traced_program import Program
from dyn_core.facade.closed import newton_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.robot.robot import Robot

NAMES = ("five_bar", "slider_crank", "akr3000")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "friction_torques")


def robot_of(name: str) -> Robot:
    if name == "slider_crank":
        return dyn.load_robot(SLIDER_CRANK, loops=SLIDER_CRANK_SIDE)
    if name == "five_bar":
        return dyn.load_robot(FIVE_BAR, loops=FIVE_BAR_SIDE)
    return dyn.load_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")


def programs_of(robot: Robot) -> dict[str, Program]:
    found = {name: traced(robot, name) for name in kinds(robot)}
    return {"newton_step": newton_program(robot), **found}


def start(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """The known configuration that the head of a file gives."""
    head = " ".join(emitted(newton_program(robot), robot, "python").replace("\n#", " ").split())
    found = re.search(r"The loops are closed at q = \((.*?)\) with x = \((.*?)\)\.", head)
    assert found is not None
    q, x = (np.array([float(word) for word in found[k].split(",")]) for k in (1, 2))
    return q, x


Call = Callable[[str, list[np.ndarray]], np.ndarray]


def c_call(robot: Robot, folder: Path) -> Call:
    programs, library = programs_of(robot), folder / "c.so"
    sources = []
    for name, program in programs.items():
        sources.append(folder / f"{name}.c")
        sources[-1].write_text(emitted(program, robot, "c"))
    run(tool("cc"), "-std=c99", *STRICT, *sources, "-o", library, "-lm")

    def call(name: str, vectors: list[np.ndarray]) -> np.ndarray:
        out = np.empty(programs[name].shape)
        called(library, linked_name(robot.name, name), vectors, out)
        return out

    return call


def cpp_call(robot: Robot, folder: Path) -> Call:
    programs, library, source = programs_of(robot), folder / "cpp.so", folder / "all.cpp"
    lines = []
    for name, program in programs.items():
        (folder / f"{name}.hpp").write_text(emitted(program, robot, "cpp"))
        vectors = with_unknowns(program).inputs.values()
        arrays = [f"std::array<double, {len(vector)}>" for vector in vectors]
        parameters = ", ".join(f"const void* a{k}" for k in range(len(arrays)))
        values = ", ".join(f"*static_cast<const {array}*>(a{k})" for k, array in enumerate(arrays))
        result = f"std::array<double, {len(program.results)}>"
        lines += [
            f'#include "{name}.hpp"',
            f'extern "C" void {name}({parameters}, void* out)',
            f"{{ *static_cast<{result}*>(out) = {cpp_namespace(robot.name)}::{name}({values}); }}",
        ]
    source.write_text("\n".join(lines) + "\n")
    run(tool("c++"), "-std=c++17", *STRICT, source, "-o", library)

    def call(name: str, vectors: list[np.ndarray]) -> np.ndarray:
        out = np.empty(programs[name].shape)
        called(library, name, vectors, out)
        return out

    return call


def fortran_call(robot: Robot, folder: Path) -> Call:
    programs, library = programs_of(robot), folder / "fortran.so"
    sources = []
    for name, program in programs.items():
        sources.append(folder / f"{name}.f90")
        sources[-1].write_text(emitted(program, robot, "fortran"))
    run(tool("gfortran"), "-std=f2008", "-Wno-unused-dummy-argument", *STRICT, *sources, "-o", library)

    def call(name: str, vectors: list[np.ndarray]) -> np.ndarray:
        out = np.empty(programs[name].shape, order="F")
        called(library, f"{fortran_name(robot.name, name)}_", vectors, out)
        return out

    return call


def python_call(robot: Robot, folder: Path) -> Call:
    programs = programs_of(robot)
    functions = {name: python_function(program, robot) for name, program in programs.items()}
    return lambda name, vectors: functions[name](*vectors)


def read_call(language: str) -> Callable[[Robot, Path], Call]:
    """Maple and Mathematica, their statements read as Python."""

    def make(robot: Robot, folder: Path) -> Call:
        programs = {name: with_unknowns(program) for name, program in programs_of(robot).items()}
        general = CALLS[language](robot, folder)
        return lambda name, vectors: general(programs[name], vectors)

    return make


ITERATED = {
    "c": c_call,
    "cpp": cpp_call,
    "fortran": fortran_call,
    "python": python_call,
    "maple": read_call("maple"),
    "mathematica": read_call("mathematica"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ITERATED)
def test_an_iteration_around_the_functions_is_the_model(language: str, name: str, tmp_path: Path) -> None:
    """As the head says: from the known configuration, in small steps of q, to samples that follow another."""
    robot = robot_of(name)
    call = ITERATED[language](robot, tmp_path)
    model = dyn.compile_model(robot, backend="python")
    q, x = start(robot)
    random = np.random.default_rng(3)
    direction = random.uniform(-1.0, 1.0, robot.dof)
    for _ in range(3):
        q = q + 0.03 * direction
        for _ in range(6):
            step = call("newton_step", [q, x])[: len(x)]
            x = x + step
            if np.abs(step).max() < 1e-9:
                break
        else:
            pytest.fail("the steps do not become small")
        unknown = list(model.passive_joint_names)
        passive = model.solve_loops(q)
        names = newton_program(robot).columns[: len(x)]
        np.testing.assert_allclose(x, [passive[unknown.index(n)] for n in names], atol=1e-11)
        qd, qdd = random.uniform(-1.0, 1.0, (2, robot.dof))
        for function, given in {
            "inverse_dynamics": [q, qd, qdd],
            "forward_dynamics": [q, qd, qdd],
            "inertia_matrix": [q],
            "bias_torques": [q, qd],
        }.items():
            expected = getattr(model, function)(*given)
            value = np.reshape(call(function, [*given, x]), np.shape(expected))
            close = {"rtol": 1e-8, "atol": 1e-9 * np.abs(expected).max(), "err_msg": function}
            np.testing.assert_allclose(value, expected, **close)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_head_names_the_passive_joints(language: str) -> None:
    robot = robot_of("slider_crank")
    head = emitted(traced(robot, "inverse_dynamics"), robot, language)[:2500]
    assert "x (2): positions of the passive joints" in head
    assert re.search(r"1 (pin +\(rad\)|slide +\(m\))\n.*2 (pin +\(rad\)|slide +\(m\))", head)
    words = " ".join(word for word in head.split() if word not in ("//", "#", "!", "%"))
    assert "results of newton_step(q, x)" in words


def test_explicit_robots_take_no_x() -> None:
    robot = robot_of("sr400")
    program = traced(robot, "inverse_dynamics")
    assert with_unknowns(program) is program
    assert "x (" not in emitted(program, robot, "c")


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(ROBOTS / "five_bar.urdf"), "--loops", str(ROBOTS / "five_bar.yaml")]
    assert main(["emit", *files, "--function", "newton_step", "--lang", "c"]) == 0
    assert (
        "void five_bar_newton_step(const double *q, const double *x, double *out)" in capsys.readouterr().out
    )
    assert main(["counts", *files]) == 0
    assert any(line.startswith("newton_step ") for line in capsys.readouterr().out.splitlines())
    for function in FUNCTIONS:
        assert main(["eval", files[0], function, *files[1:], "--q", "-0.5", "0.7", "--qd", "1", "0.5"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["left_shoulder", "right_shoulder"]
    sr400 = [str(ROBOTS / "sr400.urdf"), "--loops", str(ROBOTS / "sr400.yaml")]
    for other, words in (
        (sr400, "all its passive joints follow by linear relations"),
        (
            [str(ROBOTS / "rx90.urdf")],
            "it has no loops",
        ),
    ):
        assert main(["emit", *other, "--function", "newton_step", "--lang", "c"]) == 1
        assert words in capsys.readouterr().err
