# SPDX-License-Identifier: Apache-2.0
"""``dyn lagrange``: what it prints computes what the model does."""

from __future__ import annotations

import json
import math
import re
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.cli.main import main
from dyn_core.expansion.latex_lines import latex_lines

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
OPTIONS = [[], ["--base-parameters"], ["--numbers"], ["--numbers", "--base-parameters"]]

MIMIC = (
    '<robot name="pair"><link name="a"/>'
    + "".join(
        f'<link name="{name}"><inertial><origin xyz="0.2 0.1 0.3"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0" iyy="1.2" iyz="0" izz="1.1"/></inertial></link>'
        for name in "bcd"
    )
    + '<joint name="j1" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>'
    '<joint name="j2" type="continuous"><parent link="b"/><child link="c"/>'
    '<origin xyz="0.5 0 0" rpy="0.4 0 0"/><axis xyz="0 1 0"/>'
    '<mimic joint="j1" multiplier="-0.5" offset="0.25"/></joint>'
    '<joint name="j3" type="prismatic"><parent link="c"/><child link="d"/><origin xyz="0.2 0 0.3"/>'
    '<axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
)
"""A joint that mimics another, an oblique one, and offsets of both kinds."""


def description(name: str, tmp_path: Path) -> Path:
    if name != "pair":
        return ROBOTS / f"{name}.urdf"
    path = tmp_path / "pair.urdf"
    path.write_text(MIMIC)
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["lagrange", *arguments]) == 0
    return capsys.readouterr().out


def evaluated(answer: dict, robot: dyn_core.Robot, q: np.ndarray) -> list[np.ndarray]:
    """The matrices that the text means, in Python."""
    names = dict(zip(robot.parameter_names, robot.parameters, strict=True)) | answer["values"]
    names |= dict(zip(answer["positions"], q.tolist(), strict=True)) | {"sin": math.sin, "cos": math.cos}
    for name, text in answer["definitions"].items():
        names.setdefault(name, eval(text, {}, names))
    for name, text in answer["statements"].items():
        names[name] = eval(text, {}, names)
    matrices = [[[eval(x, {}, names) for x in row] for row in answer[key]] for key in "ABC"]
    n = robot.dof
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
def test_what_is_printed_is_the_model(
    name: str, form: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = description(name, tmp_path)
    if form == "expanded":
        pytest.importorskip("sympy", reason="SymPy is not installed")
        options = [*options, "--expanded"]
    answer = json.loads(printed(capsys, str(path), "--json", *options))
    robot = dyn_core.load_robot(path)
    assert (answer["form"], answer["joint_names"]) == (form, list(robot.joint_names))
    assert bool(answer["statements"]) == (form == "customised")
    assert ("--numbers" in options) <= (not answer["values"])
    q = np.random.default_rng(4).uniform(-1.0, 1.0, robot.dof)
    expected = dyn_core.compile_model(robot, backend="python").lagrange_terms(q)
    for ours, other in zip(evaluated(answer, robot, q), expected, strict=True):
        np.testing.assert_allclose(ours, other, rtol=0, atol=1e-10 * max(1.0, np.abs(other).max()))


def test_expanded_text(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sympy", reason="SymPy is not installed")
    text = printed(capsys, str(ROBOTS / "rrp.urdf"), "--expanded", "--base-parameters")
    assert text.startswith("Lagrange form of robot 'rrp': tau = A qdd + B [qd qd] + C [qd^2] + Q\n")
    for line in (
        "q3: position of joint 'stretch' (m)",
        "XXR2 = XX2 + XX3",
        "XX2: 0.48 kg m^2",
        "XXR2: 1.02 kg m^2",
        "g: 9.81 m/s^2",
        "A(1,1) = ZZR1 + (M3*q3**2 + 2*MZ3*q3 + XXR2)*cos(q2)**2",
        "B(2,2,3) = 2*M3*q3 + 2*MZ3",
        "Q(3) = M3*g*sin(q2)",
    ):
        assert line in text.splitlines()
    assert "A(2,1)" not in text
    assert "= 0\n" not in text


@pytest.mark.parametrize("options", [[], ["--expanded"]], ids=" ".join)
@pytest.mark.parametrize("name", ["rrp", "sdt", "pair"])
def test_definitions_name_what_has_a_value_and_nothing_that_is_0(
    name: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if options:
        pytest.importorskip("sympy", reason="SymPy is not installed")
    path = str(description(name, tmp_path))
    answer = json.loads(printed(capsys, path, "--base-parameters", "--json", *options))
    values = answer["values"]
    assert 0.0 not in values.values()
    grouped = {symbol: text for symbol, text in answer["definitions"].items() if symbol in values}
    assert grouped
    for symbol, text in grouped.items():
        # Only what is printed: not the parameters of the robot, of which many are 0.
        assert eval(text, {}, values) == pytest.approx(values[symbol], rel=1e-9, abs=1e-12)


def test_springs_are_beside_the_terms_and_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    side = tmp_path / "rrp.yaml"
    side.write_text("elastic:\n  lift: {stiffness: 100.0}\n")
    first, second, *_ = printed(capsys, str(ROBOTS / "rrp.urdf"), "--loops", str(side)).splitlines()
    assert first.endswith("tau = A qdd + B [qd qd] + C [qd^2] + Q + springs")
    assert second == "springs of 'lift': K (dq - rest) + D d(dq)/dt, see dyn mdh"


def test_customised_text_has_one_operation_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, str(ROBOTS / "rx90.urdf"), "--base-parameters")
    assert "C2 = cos(q2)" in text.splitlines()
    statements = re.findall(r"^t\d+ = (.*)$", text, re.MULTILINE)
    counted = dyn_core.compile_model(dyn_core.load_robot(ROBOTS / "rx90.urdf"), backend="python")
    assert len(statements) < 2 * sum(counted.operation_counts("lagrange_terms").values())
    assert all(len(re.findall(r"\*| [+-] |^-|sin|cos", statement)) == 1 for statement in statements)


@pytest.mark.parametrize("expanded", [False, True])
@pytest.mark.parametrize("name", ["rrp", "pair"])
def test_latex(name: str, expanded: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--expanded"] if expanded else []
    if expanded:
        pytest.importorskip("sympy", reason="SymPy is not installed")
    lines = printed(capsys, str(description(name, tmp_path)), "--latex", *options).splitlines()
    begin = lines.index(r"\begin{align*}")
    assert all(line.startswith("% ") for line in lines[:begin])
    assert any(line.startswith("% q1: position of joint") for line in lines[:begin])
    assert lines[-1] == r"\end{align*}"
    for line in lines[begin + 1 : -1]:
        end = "" if line == lines[-2] else r" \\\\"  # at the last one it would begin an empty line
        assert re.fullmatch(rf"  (.+ &= .+|&\\quad [+-] .+)(?<!\\){end}", line), line
        assert line.count("{") == line.count("}")
        assert "*" not in line
        plain = re.sub(r"\\(mathit\{[A-Za-z]+\}|[a-z]+|,)", "", line)
        assert not re.search(r"[A-Za-z]{2}|[A-Za-z]\d|e-?\d", plain), line
        assert len(re.sub(r"[\\{}_^ ]", "", plain)) < 80
    if name == "pair":
        assert any(line.startswith(r"  \theta_{2} &= -0.5 \, q_{1} + 1.82") for line in lines)


def as_python(latex: str) -> str:
    """What an expression in LaTeX means, for the LaTeX that is printed."""
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


@pytest.mark.parametrize("options", [[], ["--expanded"], ["--expanded", "--base-parameters"]], ids=" ".join)
@pytest.mark.parametrize("name", ["rrp", "sdt", "pair"])
def test_latex_means_the_same_as_the_text(
    name: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Evaluated, with lines put together again; numbers that are printed have six digits."""
    if options:
        pytest.importorskip("sympy", reason="SymPy is not installed")
    path = description(name, tmp_path)
    text = printed(capsys, str(path), "--latex", *options).split(r"\begin{align*}")[1]
    equations = re.sub(r" \\\\\n  &\\quad ", " ", text).split("\n")[1:-2]
    robot = dyn_core.load_robot(path)
    q = np.random.default_rng(4).uniform(-1.0, 1.0, robot.dof)
    answer = json.loads(printed(capsys, str(path), "--json", *options))
    A, B, C, Q = evaluated(answer, robot, q)
    names = dict(zip(robot.parameter_names, robot.parameters, strict=True)) | answer["values"]
    names |= dict(zip(answer["positions"], q.tolist(), strict=True))
    names |= {"sin": math.sin, "cos": math.cos, "math": math}
    at = [int(position[1:]) for position in answer["positions"]]
    pairs = list(combinations(at, 2))
    seen = 0
    for equation in equations:
        left, right = equation.strip().removesuffix(r" \\").split(" &= ")
        value = eval(as_python(right), {}, names)
        entry = re.fullmatch(r"(Q|[ABC](?=.*,))_\{([\d,]+)\}", left)
        if entry is None:
            names.setdefault(as_python(left), value)
            continue
        matrix, (i, *rest) = entry[1], map(int, entry[2].split(","))
        row = {"A": A, "B": B, "C": C, "Q": Q}[matrix][at.index(i)]
        column = pairs.index(tuple(rest)) if matrix == "B" else at.index(*rest) if rest else None
        assert value == pytest.approx(row if column is None else row[column], rel=1e-4, abs=1e-4)
        seen += 1
    assert seen >= robot.dof


def test_long_sums_are_broken_before_terms() -> None:
    term = r"2 \mathit{MX}_{3} d_{2} \sin(q_{2} - q_{3}) \cos^{2}(q_{4} + q_{3})"
    assert latex_lines(f"{term} - {term} + {term}") == [f"{term} - {term}", f"+ {term}"]
    short = r"(M_{3} + M_{4}) d_{2}^{2}"
    assert latex_lines(f"{short} + {term}") == [f"{short} + {term}"]
    long = " + ".join(rf"\mathit{{ZZ}}_{{{k}}}" for k in range(1, 25))
    first, second, third = latex_lines(f"{term} + d_{{2}} ({long}) \\sin(q_{{1}} + q_{{2}})")
    assert first.startswith(term)
    assert first.count("(") == 1 + first.count(")")
    assert second.startswith(r"+ \mathit")
    assert third.endswith(r") \sin(q_{1} + q_{2})")
    assert latex_lines("0") == ["0"]


def test_mistakes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def error(*arguments: str) -> str:
        assert main(["lagrange", *arguments]) == 1
        return capsys.readouterr().err

    loops = [str(ROBOTS / "five_bar.urdf"), "--loops", str(ROBOTS / "five_bar.yaml")]
    for options in ([], ["--expanded"], ["--base-parameters"]):
        assert "robot 'five_bar' has the loops 'tip': the Lagrange form is that of trees; cut the loops" in (
            error(*loops, *options)
        )
    assert "robot 'rx90' has 6 joints, and the expanded form is for at most 4" in error(
        str(ROBOTS / "rx90.urdf"), "--expanded"
    )
    monkeypatch.setitem(sys.modules, "sympy", None)
    assert "install it with 'python3 -m pip install sympy'" in error(str(ROBOTS / "rrp.urdf"), "--expanded")
    assert main(["lagrange", str(ROBOTS / "rrp.urdf")]) == 0


@pytest.mark.parametrize("options", [[], ["--expanded"]], ids=" ".join)
def test_the_tree_of_a_robot_with_loops(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With what the side file says beside the loops: the inertia of the rotors."""
    if options:
        pytest.importorskip("sympy", reason="SymPy is not installed")
    urdf, side = (str(ROBOTS / f"five_bar.{ending}") for ending in ("urdf", "yaml"))
    answer = json.loads(printed(capsys, urdf, "--loops", side, "--tree", "--json", *options))
    robot = dyn_core.load_robot(urdf, loops=side).without_loops()
    assert answer["joint_names"] == list(robot.joint_names)
    assert "Ia1" in answer["values"]
    q = np.array([0.3, -0.4, 0.5, 0.6])
    expected = dyn_core.compile_model(robot, backend="python").lagrange_terms(q)
    for ours, other in zip(evaluated(answer, robot, q), expected, strict=True):
        np.testing.assert_allclose(ours, other, rtol=0, atol=1e-10)


def test_a_robot_without_joints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stone.urdf"
    path.write_text('<robot name="stone"><link name="a"/></robot>')
    assert "Lagrange form of robot 'stone'" in printed(capsys, str(path))
    assert printed(capsys, str(path), "--latex").endswith("\n\\begin{align*}\n\\end{align*}\n")
