# SPDX-License-Identifier: Apache-2.0
"""``dyn lagrange``: the printed equations give the values of the model."""

from __future__ import annotations

import math
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from refusals import refused_command
from robots import ROBOTS, example, loop_robot

import dyn_core
from dyn_core.lagrange.listing import latex_lines

OPTIONS = [[], ["--base-parameters"], ["--numbers"], ["--numbers", "--base-parameters"]]
FORMS = [[], ["--expanded"]]

BODY = (
    '<inertial><origin xyz="0.2 0.1 0.3"/><mass value="2"/>'
    '<inertia ixx="1" ixy="0.1" ixz="0" iyy="1.2" iyz="0" izz="1.1"/></inertial></link>'
)
MIMIC = (
    f'<robot name="pair"><link name="a"/><link name="b">{BODY}<link name="c">{BODY}<link name="d">{BODY}'
    '<joint name="j1" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>'
    '<joint name="j2" type="continuous"><parent link="b"/><child link="c"/>'
    '<origin xyz="0.5 0 0" rpy="0.4 0 0"/><axis xyz="0 1 0"/>'
    '<mimic joint="j1" multiplier="-0.5" offset="0.25"/></joint>'
    '<joint name="j3" type="prismatic"><parent link="c"/><child link="d"/><origin xyz="0.2 0 0.3"/>'
    '<axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
)
"""A mimic joint, an oblique joint, and offsets of both kinds."""


class Lagrange(Command):
    """``dyn lagrange`` of a robot, by its name."""

    def __call__(self, robot: str, *options: str, code: int = 0) -> Any:
        if "--expanded" in options:
            pytest.importorskip("sympy", reason="SymPy is not installed")
        side_file = () if "--side-file" in options else ("--side-file", "none")
        return super().__call__(self.urdf(robot), *options, *side_file, code=code)

    def urdf(self, robot: str) -> str:
        return self.write("pair.urdf", MIMIC) if robot == "pair" else str(ROBOTS / f"{robot}.urdf")


@pytest.fixture
def lagrange(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lagrange:
    return Lagrange(tmp_path, capsys, "lagrange")


def check_matrices(answer: dict, robot: dyn_core.Robot, q: np.ndarray) -> None:
    expected = dyn_core.compile_model(robot, backend="python").lagrange_terms(q)
    for ours, other in zip(evaluated(answer, robot, q), expected, strict=True):
        np.testing.assert_allclose(ours, other, rtol=0, atol=1e-10 * max(1.0, np.abs(other).max()))


def symbols(answer: dict, robot: dyn_core.Robot, q: np.ndarray) -> dict[str, Any]:
    names = dict(zip(robot.parameter_names, robot.parameters, strict=True)) | answer["values"]
    names |= dict(zip(answer["positions"], q.tolist(), strict=True))
    return names | {"sin": math.sin, "cos": math.cos, "math": math}


def evaluated(answer: dict, robot: dyn_core.Robot, q: np.ndarray) -> list[np.ndarray]:
    names, n = symbols(answer, robot, q), robot.dof
    for name, text in answer["definitions"].items():
        names.setdefault(name, eval(text, {}, names))
    for name, text in answer["statements"].items():
        names[name] = eval(text, {}, names)
    matrices = [[[eval(x, {}, names) for x in row] for row in answer[key]] for key in "ABC"]
    shapes = ((n, n), (n, n * (n - 1) // 2), (n, n))
    found = [np.reshape(rows, shape) for rows, shape in zip(matrices, shapes, strict=True)]
    return [*found, np.array([eval(x, {}, names) for x in answer["Q"]])]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, "customised") for name in ("rrp", "rx90", "two_branch", "pair")),
        *((name, "expanded") for name in ("rrp", "pair")),
    ],
)
def test_the_printed_equations_have_the_values_of_the_model(
    name: str, form: str, options: list[str], lagrange: Lagrange
) -> None:
    options = [*options, "--expanded"] if form == "expanded" else options
    answer, robot = lagrange.json(name, *options), dyn_core.load_robot(lagrange.urdf(name))
    assert (answer["form"], answer["joint_names"]) == (form, list(robot.joint_names))
    assert bool(answer["statements"]) == (form == "customised")
    assert ("--numbers" in options) <= (not answer["values"])
    check_matrices(answer, robot, np.random.default_rng(4).uniform(-1.0, 1.0, robot.dof))


def test_expanded_text(lagrange: Lagrange) -> None:
    text = lagrange("rrp", "--expanded", "--base-parameters").out
    assert text.startswith("Lagrange form of robot 'rrp': tau = A qdd + B [qd qd] + C [qd^2] + Q\n")
    expected = """\
        q3: position of joint 'stretch' (m)
        XXR2 = XX2 + XX3
        XX2: 0.48 kg m^2
        XXR2: 1.02 kg m^2
        g: 9.81 m/s^2
        A(1,1) = ZZR1 + (M3*q3**2 + 2*MZ3*q3 + XXR2)*cos(q2)**2
        B(2,2,3) = 2*M3*q3 + 2*MZ3
        Q(3) = M3*g*sin(q2)"""
    assert {line.strip() for line in expected.splitlines()} <= set(text.splitlines())
    assert not any(part in text for part in ("A(2,1)", "= 0\n"))


@pytest.mark.parametrize("options", FORMS, ids=" ".join)
@pytest.mark.parametrize("name", ["rrp", "sdt", "pair"])
def test_printed_values_are_not_zero_and_agree_with_their_definitions(
    name: str, options: list[str], lagrange: Lagrange
) -> None:
    answer = lagrange.json(name, "--base-parameters", *options)
    values = answer["values"]
    assert 0.0 not in values.values()
    grouped = {symbol: text for symbol, text in answer["definitions"].items() if symbol in values}
    assert grouped
    for symbol, text in grouped.items():
        # Only the printed symbols: many parameters of the robot are 0.
        assert eval(text, {}, values) == pytest.approx(values[symbol], rel=1e-9, abs=1e-12)


def test_customised_text_has_one_operation_per_line(lagrange: Lagrange) -> None:
    """It also names the springs, which are not part of the terms."""
    text = lagrange("rx90", "--base-parameters").out
    assert "C2 = cos(q2)" in text.splitlines()
    statements = re.findall(r"^t\d+ = (.*)$", text, re.MULTILINE)
    counted = dyn_core.compile_model(example("rx90"), backend="python")
    assert len(statements) < 2 * sum(counted.operation_counts("lagrange_terms").values())
    assert all(len(re.findall(r"\*| [+-] |^-|sin|cos", statement)) == 1 for statement in statements)
    side = lagrange.write("rrp.yaml", "elastic:\n  lift: {stiffness: 100.0}\n")
    first, second, *_ = lagrange("rrp", "--side-file", side).out.splitlines()
    assert first.endswith("tau = A qdd + B [qd qd] + C [qd^2] + Q + springs")
    assert second == "springs of 'lift': K (dq - rest) + D d(dq)/dt, see dyn mdh"


@pytest.mark.parametrize("options", FORMS, ids=" ".join)
@pytest.mark.parametrize("name", ["rrp", "pair"])
def test_latex(name: str, options: list[str], lagrange: Lagrange) -> None:
    lines = lagrange(name, "--latex", *options).out.splitlines()
    begin = lines.index(r"\begin{align*}")
    assert all(line.startswith("% ") for line in lines[:begin])
    assert any(line.startswith("% q1: position of joint") for line in lines[:begin])
    assert lines[-1] == r"\end{align*}"
    for line in lines[begin + 1 : -1]:
        end = "" if line == lines[-2] else r" \\\\"  # after the last term it would begin an empty line
        assert re.fullmatch(rf"  (.+ &= .+|&\\quad [+-] .+)(?<!\\){end}", line), line
        assert line.count("{") == line.count("}")
        assert "*" not in line
        plain = re.sub(r"\\(mathit\{[A-Za-z]+\}|[a-z]+|,)", "", line)
        assert not re.search(r"[A-Za-z]{2}|[A-Za-z]\d|e-?\d", plain), line
        assert len(re.sub(r"[\\{}_^ ]", "", plain)) < 80
    if name == "pair":
        assert any(line.startswith(r"  \theta_{2} &= -0.5 \, q_{1} + 1.82") for line in lines)


def as_python(latex: str) -> str:
    """Return an expression of the printed LaTeX as Python."""
    for pattern, text in (
        (r"\\mathit\{([A-Z]+[a-z]?)\}", r"\1"),
        (r"\\theta", "th"),
        (r"([A-Za-z])_\{(\d+)\}", r"\1\2"),
        (r"\\(frac)\{([^{}]*)\}\{([^{}]*)\}", r"((\2) / (\3))"),
        (r"\\sqrt\{(\d+)\}", r"math.sqrt(\1)"),
        (r"\\(sin|cos)\^\{(\d+)\}\(([^()]*)\)", r"\1(\3)**\2"),
        (r"\\(sin|cos) (\w+)", r"\1(\2)"),
        (r"\\(sin|cos)", r"\1"),
        (r" \\cdot 10\^\{(-?\d+)\}", r" * 10.0**(\1)"),
        (r"\^\{(\d+)\}", r"**\1"),
        (r" \\,", ""),
        (r"(?<=[\w)]) (?=[\w(])", " * "),
    ):
        latex = re.sub(pattern, text, latex)
    return latex


@pytest.mark.parametrize("options", [*FORMS, ["--expanded", "--base-parameters"]], ids=" ".join)
@pytest.mark.parametrize("name", ["rrp", "sdt", "pair"])
def test_latex_means_the_same_as_the_text(name: str, options: list[str], lagrange: Lagrange) -> None:
    """Lines are joined and evaluated; printed numbers have six digits."""
    text = lagrange(name, "--latex", *options).out.split(r"\begin{align*}")[1]
    equations = re.sub(r" \\\\\n  &\\quad ", " ", text).split("\n")[1:-2]
    robot, answer, seen = dyn_core.load_robot(lagrange.urdf(name)), lagrange.json(name, *options), 0
    q = np.random.default_rng(4).uniform(-1.0, 1.0, robot.dof)
    matrices = dict(zip("ABCQ", evaluated(answer, robot, q), strict=True))
    names, at = symbols(answer, robot, q), [int(position[1:]) for position in answer["positions"]]
    pairs = list(combinations(at, 2))
    for equation in equations:
        left, right = equation.strip().removesuffix(r" \\").split(" &= ")
        value = eval(as_python(right), {}, names)
        entry = re.fullmatch(r"(Q|[ABC](?=.*,))_\{([\d,]+)\}", left)
        if entry is None:
            names.setdefault(as_python(left), value)
            continue
        matrix, (i, *rest) = entry[1], map(int, entry[2].split(","))
        row = matrices[matrix][at.index(i)]
        column = pairs.index(tuple(rest)) if matrix == "B" else at.index(*rest) if rest else None
        assert value == pytest.approx(row if column is None else row[column], rel=1e-4, abs=1e-4)
        seen += 1
    assert seen >= robot.dof


def test_long_sums_are_broken_before_terms() -> None:
    term = r"2 \mathit{MX}_{3} d_{2} \sin(q_{2} - q_{3}) \cos^{2}(q_{4} + q_{3})"
    assert latex_lines(f"{term} - {term} + {term}") == [f"{term} - {term}", f"+ {term}"]
    short = rf"(M_{{3}} + M_{{4}}) d_{{2}}^{{2}} + {term}"
    assert (latex_lines(short), latex_lines("0")) == ([short], ["0"])
    long = " + ".join(rf"\mathit{{ZZ}}_{{{k}}}" for k in range(1, 25))
    first, second, third = latex_lines(f"{term} + d_{{2}} ({long}) \\sin(q_{{1}} + q_{{2}})")
    assert first.startswith(term)
    assert first.count("(") == 1 + first.count(")")
    assert second.startswith(r"+ \mathit")
    assert third.endswith(r") \sin(q_{1} + q_{2})")


def test_wrong_arguments_are_refused(lagrange: Lagrange, monkeypatch: pytest.MonkeyPatch) -> None:
    five_bar, rx90, rrp = (lagrange.urdf(name) for name in ("five_bar", "rx90", "rrp"))
    for options in (*FORMS, ["--base-parameters"]):
        command = ["lagrange", five_bar, "--side-file", str(ROBOTS / "five_bar.yaml"), *options]
        refused_command(command, "lagrange-form-with-loops", robot="five_bar", loops=["tip"])
    command = ["lagrange", rx90, "--side-file", "none", "--expanded"]
    refused_command(command, "expanded-form-too-large", robot="rx90", count=6, limit=4)
    monkeypatch.setitem(sys.modules, "sympy", None)
    refused_command(["lagrange", rrp, "--expanded"], "sympy-missing")
    lagrange("rrp")


@pytest.mark.parametrize("options", FORMS, ids=" ".join)
def test_a_robot_with_loops_has_the_equations_of_its_tree(options: list[str], lagrange: Lagrange) -> None:
    answer = lagrange.json("five_bar", "--side-file", str(ROBOTS / "five_bar.yaml"), "--tree", *options)
    robot = loop_robot("five_bar").without_loops()
    assert answer["joint_names"] == list(robot.joint_names)
    assert "Ia1" in answer["values"]
    check_matrices(answer, robot, np.array([0.3, -0.4, 0.5, 0.6]))


def test_a_robot_without_joints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Command(tmp_path, capsys, "lagrange")
    stone = command.write("stone.urdf", '<robot name="stone"><link name="a"/></robot>')
    assert "Lagrange form of robot 'stone'" in command(stone).out
    assert command(stone, "--latex").out.endswith("\n\\begin{align*}\n\\end{align*}\n")
