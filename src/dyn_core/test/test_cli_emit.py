# SPDX-License-Identifier: Apache-2.0
"""The commands `counts` and `emit`, and `eval` of every function."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command
from refusals import refused_command
from robots import ROBOTS, example

import dyn_core
from dyn_core.cli.function_arguments import EVALUATED, OF_IDENTIFICATION, OF_LINK, link_program
from dyn_core.cli.main import main
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.identification.regressor.momentum_energy import identification_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced

RRP = str(ROBOTS / "rrp.urdf")
STATE = {"q": [0.1, -2e-3, 0.2], "qd": [1.0, -1.0, 0.5], "qdd": [3.0, 2.0, -1.0], "tau": [1.0, -2.0, 5.0]}


def state_of(function: str) -> list[str]:
    names = (EVALUATED | OF_LINK)[function]
    return [word for name in names for word in (f"--{name}", *map(repr, STATE[name]))]


@pytest.fixture(scope="module")
def model() -> dyn_core.Model:
    return dyn_core.compile_model(example("rrp"), backend="python")


@pytest.mark.parametrize("function", EVALUATED)
def test_eval_of_every_function(function: str, model: dyn_core.Model, dyn: Command) -> None:
    expected = getattr(model, function)(*(STATE[name] for name in EVALUATED[function]))
    command = ("eval", RRP, function, *state_of(function))
    np.testing.assert_array_equal(dyn.json(*command)["values"], expected)
    rows = [line.split() for line in dyn(*command).out.splitlines()]
    if function == "regressor":
        names = [(joint, name) for joint in model.joint_names for name in model.robot.parameter_names]
        entries = {(joint, name): float(number) for joint, name, number in rows}
        assert 0.0 not in entries.values()
        np.testing.assert_allclose([entries.get(at, 0.0) for at in names], expected.ravel(), atol=1e-6)
        return
    below = ["bias_torques"] if function == "inertia_and_bias" else []
    assert [row[0] for row in rows] == ["turn", "lift", "stretch", *below]
    check_numbers([row[1:] for row in rows], expected)


def check_numbers(rows: list[list[str]], expected: np.ndarray) -> None:
    width = 1 if expected.ndim == 1 else expected.shape[1]
    numbers = [[float(word) for word in row[:width]] for row in rows]
    np.testing.assert_allclose(np.reshape(numbers, expected.shape), expected, atol=1e-6)


@pytest.mark.parametrize("function", OF_LINK)
@pytest.mark.parametrize("axes", [[], ["--expressed-in", "arm"], ["--reference", "arm"]])
def test_eval_of_functions_of_links(
    function: str, axes: list[str], model: dyn_core.Model, dyn: Command
) -> None:
    taken = [STATE[name] for name in OF_LINK[function]]
    expected = getattr(model, function)(*taken, "slider", *axes[1:])
    command = ["eval", RRP, function, "--link", "slider", *axes, *state_of(function)]
    found = dyn.json(*command)
    np.testing.assert_array_equal(found["values"], expected)
    assert (found["link"], found["expressed_in"]) == ("slider", axes[1] if axes else "base")
    lines = dyn(*command).out.splitlines()
    if function == "forward_kinematics":
        labels, skipped = ["x", "y", "z"], 1
    else:
        labels, skipped = [f"{part} {axis}" for part in ("linear", "angular") for axis in "xyz"], 2
    assert [line[: len(label)] for line, label in zip(lines, labels, strict=False)] == labels
    pairs = zip(lines, [*labels, ""], strict=False)
    check_numbers([line.split()[skipped if label else 0 :] for line, label in pairs], expected)


def test_counts_and_sources_of_functions_of_links(model: dyn_core.Model, dyn: Command) -> None:
    operations = dyn.json("counts", RRP, "--link", "slider", "--reference", "arm")["operations"]
    robot = example("rrp")
    assert set(operations) == {*kinds(robot), *OF_LINK, *OF_IDENTIFICATION}
    for function in OF_LINK:
        program = link_program(robot, function, "slider", "arm")
        assert operations[function] == program.operation_counts
        command = ["emit", RRP, "--function", function, "--lang", "cpp", "--link", "slider"]
        assert dyn(*command, "--expressed-in", "arm").out == emitted(program, robot, "cpp")


LINKS = ["base", "column", "arm", "slider"]


@pytest.mark.parametrize(
    ("words", "code", "values"),
    [
        (["jacobian"], "option-link-missing", {"function": "jacobian", "robot": "rrp", "known": LINKS}),
        (["jacobian", "--link", "hand"], "link-unknown", {"robot": "rrp", "link": "hand", "known": LINKS}),
        (["link_velocity", "--link", "arm", "--reference", "hand"], "link-unknown", {"link": "hand"}),
        (["inertia_matrix", "--link", "arm"], "function-without-link", {"option": "--link", "given": "arm"}),
    ],
)
def test_wrong_links_are_refused(words: list[str], code: str, values: dict[str, Any]) -> None:
    refused_command(["eval", RRP, *words], code, **values)
    refused_command(["emit", RRP, "--lang", "c", "--function", *words], code, **values)
    refused_command(["counts", RRP, "--reference", "arm"], "option-link-missing", robot="rrp")


MASSLESS = """<robot name="light"><link name="a"/><link name="b"/><joint name="j" type="continuous">
<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""


def test_forward_dynamics_without_mass_end_with_one_sentence(dyn: Command) -> None:
    path = dyn.write("light.urdf", MASSLESS)
    emit = ("emit", path, "--lang", "c", "--function")
    for command in (("eval", path, "forward_dynamics", "--tau", "1"), (*emit, "forward_dynamics")):
        refused_command(command, "joint-without-inertia", robot="light", joints=["j"])
    assert dyn(*emit, "inverse_dynamics").err == ""


def test_rows_are_named_and_results_that_are_not_finite_are_refused(dyn: Command) -> None:
    command = ("eval", RRP, "inertia_and_bias")
    found = dyn.json(*command)
    assert found["row_names"] == ["turn", "lift", "stretch", "bias_torques"]
    assert "units" not in found
    for words, quantity, joint, given in (
        (("--qd", "1e200", "1e200", "0"), "torque", "stretch", math.nan),
        (("--q", "0", "0", "1e200"), "inertia", "turn", math.inf),
    ):
        error = refused_command((*command, *words), "joint-result-not-finite", quantity=quantity, joint=joint)
        np.testing.assert_equal(error.values["given"], given)
    lines = dyn("eval", RRP, "forward_dynamics").out.splitlines()
    assert [line.split()[2] for line in lines] == ["rad/s^2", "rad/s^2", "m/s^2"]


def test_counts(dyn: Command, model: dyn_core.Model) -> None:
    operations, robot = dyn.json("counts", RRP)["operations"], example("rrp")
    assert operations == {
        **{name: model.operation_counts(name) for name in kinds(robot)},
        **{name: identification_program(robot, name).operation_counts for name in OF_IDENTIFICATION},
    }
    head, *rows = (line.split() for line in dyn("counts", RRP).out.splitlines())
    assert head == ["mul", "add", "div", "trig", "sqrt"]
    assert {row[0]: dict(zip(head, map(int, row[1:]), strict=True)) for row in rows} == operations


@pytest.mark.parametrize("language", LANGUAGES)
def test_emit(language: str, tmp_path: Path, dyn: Command) -> None:
    command = ["emit", RRP, "--function", "inverse_dynamics", "--lang", language]
    robot = example("rrp")
    expected = emitted(traced(robot, "inverse_dynamics"), robot, language)
    assert dyn(*command).out == expected
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("what was there before")
    path.chmod(0o640)
    assert dyn(*command, "-o", str(path)).out == ""
    assert path.read_text() == expected
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    link.symlink_to(path)
    dyn(*command, "-o", str(link))
    assert link.is_symlink()
    assert path.read_text() == expected


@pytest.mark.parametrize(
    ("file", "code", "values"),
    [
        ("nowhere/file.c", "file-unwritable", {"reason": "No such file or directory"}),
        ("", "output-irregular", {}),
        ("n" * 300, "file-unwritable", {"reason": "File name too long"}),
    ],
)
def test_files_that_cannot_be_written_are_refused(
    file: str, code: str, values: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / file)
    command = ["emit", RRP, "--function", "friction_torques", "--lang", "c", "-o", path]
    refused_command(command, code, path=path, **values)
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--function", "mass", "--lang", "c"], ["--function", "regressor"]):
        with pytest.raises(SystemExit, match="2"):
            main(["emit", RRP, *words])
        assert "dyn emit: error:" in capsys.readouterr().err
    for function, option, expected in (
        ("gravity_torques", "tau", "--q"),
        ("inverse_dynamics", "tau", "--q, --qd, --qdd"),
        ("forward_dynamics", "qdd", "--q, --qd, --tau"),
    ):
        values = {"function": function, "option": option, "expected": expected}
        refused_command(["eval", RRP, function, f"--{option}", "1", "2", "3"], "option-not-taken", **values)


@pytest.mark.parametrize("left_out", [[], ["friction"], ["rotor_inertia"], ["friction", "rotor_inertia"]])
def test_terms_can_be_left_out(left_out: list[str], dyn: Command) -> None:
    side = dyn.write("side.yaml", "friction: {turn: {coulomb: 3, viscous: 7}}\nrotor_inertia: {turn: 5}")
    robot = dyn_core.load_robot(RRP, loops=side)
    terms: dict[str, Any] = dict.fromkeys(left_out, False)
    model = dyn_core.compile_model(robot, backend="python", **terms)
    expected = model.inverse_dynamics(STATE["q"], STATE["qd"], STATE["qdd"])
    common = ["--side-file", side, *(f"--no-{term.replace('_', '-')}" for term in left_out)]
    found = dyn.json("eval", RRP, "inverse_dynamics", *common, *state_of("inverse_dynamics"))
    np.testing.assert_array_equal(found["values"], expected)
    module: dict[str, Any] = {}
    exec(dyn("emit", RRP, "--function", "inverse_dynamics", "--lang", "python", *common).out, module)
    written = module["inverse_dynamics"](STATE["q"], STATE["qd"], STATE["qdd"])
    np.testing.assert_allclose(written, expected, rtol=1e-12)
    operations = dyn.json("counts", RRP, *common)["operations"]
    assert operations["inverse_dynamics"] == model.operation_counts("inverse_dynamics")
