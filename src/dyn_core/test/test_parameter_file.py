# SPDX-License-Identifier: Apache-2.0
"""The file of parameters: what is written is read, and what is not whole is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from identification_log import URDF, true_robot

import dyn_core
from dyn_core.identification.friction.friction_model import TERMS, FrictionModel
from dyn_core.identification.output.parameter_set import ParameterSet, SetFriction, SetMotor, SetValue
from dyn_core.identification.units import unit_of
from dyn_core.results.kinematics_hash import kinematics_hash
from dyn_core.results.parameter_text import parameter_text

MODEL = FrictionModel(TERMS, v0=0.01, vt=0.1, vx=0.3)


def parameters(robot: dyn_core.Robot | None = None) -> ParameterSet:
    robot = robot or true_robot()
    return ParameterSet(
        robot.name,
        (robot.description_hash, "ab" * 32),
        kinematics_hash(robot),
        tuple(
            SetValue(name, value, None if k % 3 == 0 else 0.1 * k, unit_of(name, robot))
            for k, (name, value) in enumerate(zip(robot.parameter_names, robot.parameters, strict=True))
        ),
        tuple(
            SetFriction(
                name,
                MODEL,
                tuple(SetValue(symbol, 0.1 / 3.0, 1e-3, "1") for symbol in _symbols(MODEL)),
            )
            for name in robot.joint_names
        ),
        {"by": 'somebody "quoted": #1', "log": "ä.mcap"},
        dyn_core.Protocol(cutoff=12.5, filter_effort=True, decimate=4),
        {name: 0.03 * k for k, name in enumerate(robot.joint_names)},
        (
            SetMotor(
                "2",
                dict(zip(robot.joint_names, (-0.5, 1.0), strict=True)),
                (
                    SetValue("Iam2", 0.02, 1e-3, "kg m^2"),
                    SetValue("Fvm2", 0.3, None, "N m s/rad"),
                    SetValue("Fsm2", 0.4, 0.1, "N m"),
                ),
            ),
        ),
        {"with_friction_models": 0.05, "with_standard_friction": None},
    )


def _symbols(model: FrictionModel) -> tuple[str, ...]:
    return tuple(name[:-1] for name in model.names(1))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "parameters.yaml"
    path.write_text(parameter_text(true_robot(), parameters()), encoding="utf-8")
    return path


def test_what_is_written_is_read(file: Path) -> None:
    found = dyn_core.load_parameters(file)
    assert found.source.endswith("parameters.yaml")
    assert replace(found, source="") == parameters()


def test_it_is_plain_yaml_grouped_by_joint(file: Path) -> None:
    yaml = pytest.importorskip("yaml")
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert list(data["joints"]) == ["shoulder", "elbow"]
    assert list(data["joints"]["elbow"]) == [f"{name}2" for name in dyn_core_names()]
    assert data["joints"]["elbow"]["M2"] == {
        "value": true_robot().parameters[23],
        "deviation": 0.1 * 23,
        "unit": "kg",
    }
    assert data["friction_models"]["elbow"]["terms"]["stribeck"]["value"] == 0.1 / 3.0


def dyn_core_names() -> list[str]:
    return [name[:-1] for name in true_robot().parameter_names[:14]]


def test_the_robot_has_them(file: Path) -> None:
    described = dyn_core.load_robot(URDF, snap=0)
    assert dyn_core.load_parameters(file).applied_to(described).parameters == true_robot().parameters


def test_names_that_yaml_would_take_apart(tmp_path: Path) -> None:
    text = URDF.replace('name="elbow"', 'name="on: {elbow} #1"').replace('name="two"', 'name="no"')
    robot = dyn_core.load_robot(text)
    path = tmp_path / "parameters.yaml"
    path.write_text(parameter_text(robot, parameters(robot)), encoding="utf-8")
    assert dyn_core.load_parameters(path).applied_to(robot) == robot


def changed(pattern: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, new, text, count=1)


REFUSED = {
    "not finite": (changed(r"M1: \{value: [^,]*", "M1: {value: .nan"), "M1 (line 69), it is '.nan'"),
    "infinite": (changed(r"Fo2: \{value: [^,]*", "Fo2: {value: inf"), "write a finite number"),
    "negative mass": (changed(r"M1: \{value: [^,]*", "M1: {value: -1"), "it is -1: it cannot be negative"),
    "no value": (changed(r"MX1: \{value: [^,]*, ", "MX1: {"), "MX1"),
    "unknown name": (changed(r"MX1:", "MXX1:"), "has no parameter 'MXX1'"),
    "missing": (changed(r"    MX1: .*\n", ""), "the parameters 'MX1' are missing: a file has to be whole"),
    "twice": (changed(r"MX1:", "MX2:"), "the parameters 'MX2' are there twice"),
    "unit": (changed(r"unit: kg m\^2", "unit: g m^2"), "the unit of XX1 is 'g m^2'"),
    "other format": (changed(r"dyn_parameters 1", "dyn_parameters 2"), "says 'format: dyn_parameters 1'"),
    "no format": (changed(r"format: .*\n", ""), "but this one is none"),
    "no robot": (changed(r"robot:\n(  .*\n)+", ""), "no entry 'robot'"),
    "hash": (changed(r'kinematics_sha256: ".', 'kinematics_sha256: "x'), "64 hexadecimal digits"),
    "unknown term": (changed(r"stribeck:", "stiction:"), "there is no term 'stiction'"),
    "no velocity": (changed(r"    vt: .*\n", ""), "the term stribeck and a velocity vt > 0 go together"),
    "order of joints": (
        changed(r"friction_models:\n  \"shoulder\"", 'friction_models:\n  "wrist"'),
        "'wrist'",
    ),
    "wrong signals": (
        lambda text: text + 'wrong_signals: ["joint 1: its sign"]\n',
        "the log had wrong signals (joint 1: its sign)",
    ),
    "malformed": (lambda text: text + "\n}{", "malformed"),
    "cut": (lambda text: text[: len(text) // 2], ""),
    "empty": (lambda text: "", "empty"),
    "binary": (lambda text: "\x00\x01", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_whole_is_refused(file: Path, case: str) -> None:
    change, message = REFUSED[case]
    before = file.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    file.write_text(after, encoding="utf-8")
    with pytest.raises(dyn_core.DynError) as problem:
        dyn_core.load_parameters(file).applied_to(true_robot())
    sentence = str(problem.value)
    assert sentence.startswith(str(file))
    assert "\n" not in sentence
    assert message in sentence or "line" in message


def test_a_missing_file() -> None:
    with pytest.raises(dyn_core.DynError, match=r"no such file: '/no/such\.yaml'"):
        dyn_core.load_parameters("/no/such.yaml")


def test_any_line_that_is_missing_is_no_traceback(file: Path) -> None:
    """Whatever line is left out, the file is refused in a sentence, or means the same."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    for k in range(len(lines)):
        file.write_text("".join(lines[:k] + lines[k + 1 :]), encoding="utf-8")
        try:
            robot = dyn_core.load_parameters(file).applied_to(true_robot())
        except dyn_core.DynError:
            continue
        assert robot.parameters == true_robot().parameters
