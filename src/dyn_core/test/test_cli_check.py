# SPDX-License-Identifier: Apache-2.0
"""The command `check`, and the robot options of all commands."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from checked_robot import CLEAN
from commands import Command
from dyn_process import completed, exit_code_without_reader
from refusals import refused, replaced
from robots import ROBOTS

import dyn_core

RRP = str(ROBOTS / "rrp.urdf")
UNUSUAL_LIMITS, LITTLE_EFFORT = ('lower="-2.5"', 'lower="0.1"'), ('effort="60"', 'effort="20"')
COMMANDS = {
    "mdh": ["mdh", "ROBOT"],
    "eval": ["eval", "ROBOT", "bias_torques", "--qd", "1", "0", "0"],
    "counts": ["counts", "ROBOT"],
    "emit": ["emit", "ROBOT", "--function", "bias_torques", "--lang", "python"],
    "check": ["check", "ROBOT"],
    "base": ["base", "ROBOT"],
}


def command(name: str, robot: str, *options: str) -> list[str]:
    return [robot if word == "ROBOT" else word for word in COMMANDS[name]] + list(options)


def test_findings_and_a_summary(dyn: Command) -> None:
    weak = dyn.write("weak.urdf", replaced(CLEAN, *LITTLE_EFFORT, *UNUSUAL_LIMITS))
    findings = dyn_core.check_robot(weak)
    assert dyn("check", weak) == ("\n".join([*map(str, findings), "clean: 1 warning, 1 note\n"]), "")
    assert [(found.names, found.line) for found in findings] == [(("shoulder",), 10), (("elbow",), 14)]
    printed = dyn.json("check", weak)
    assert (printed["robot"], printed["counts"]) == ("clean", {"error": 0, "warning": 1, "note": 1})
    place = {"severity": "note", "element": "joint 'elbow'", "kind": "joint", "names": ["elbow"], "line": 14}
    values = {"lower": 0.1, "upper": 2.5, "unit": "rad"}
    said = {"message": findings[1].message, "code": "limits-without-zero", "values": values}
    assert printed["findings"][1] == place | said
    # In a process without standard input, and with a closed output.
    assert exit_code_without_reader("check", weak, "--strict") == 1


def test_a_clean_robot_has_no_findings(dyn: Command) -> None:
    path = dyn.write("clean.urdf", CLEAN)
    assert dyn("check", path, "--strict").out == "clean: nothing suspicious\n"
    assert dyn.json("check", path)["findings"] == []


@pytest.mark.parametrize(
    ("change", "options", "code"),
    [
        (UNUSUAL_LIMITS, ["--strict"], 0),
        (LITTLE_EFFORT, [], 0),
        (LITTLE_EFFORT, ["--strict"], 1),
        (LITTLE_EFFORT, ["--strict", "--json"], 1),
        (('lower="-2.5"', 'lower="9"'), [], 0),
        (('lower="-2.5"', 'lower="9"'), ["--strict"], 1),
        (('effort="60"', 'effort="-60"'), [], 1),
        (("<inertia ", "<inertia ixx "), ["--json"], 1),
    ],
)
def test_exit_codes(change: tuple[str, str], options: list[str], code: int, dyn: Command) -> None:
    out, err = dyn("check", dyn.write("arm.urdf", replaced(CLEAN, *change)), *options, code=code)
    assert err == ""
    if "--json" in options:
        json.loads(out)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "path-or-text-unknown"),
        ("<robot name='r'>\n<link</robot>", "xml-malformed"),
        ("", "file-empty"),
        ("<robot name='r'/>", "robot-without-links"),
    ],
)
def test_an_unreadable_robot_is_the_only_finding(text: str | None, code: str, dyn: Command) -> None:
    path = str(dyn.folder / "arm.urdf") if text is None else dyn.write("arm.urdf", text)
    printed = dyn.json("check", path, code=1)
    (found,) = printed["findings"]
    assert (printed["robot"], printed["counts"]) == (None, {"error": 1, "warning": 0, "note": 0})
    assert (found["severity"], found["element"], found["code"]) == ("error", "robot", code)
    assert code != "xml-malformed" or found["values"]["line_number"] == 2
    assert dyn("check", path, code=1) == (f"error: robot: {found['message']}\n{path}: 1 error\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_the_side_file(name: str, dyn: Command) -> None:
    side = dyn.write("a: side.yaml", "passive: [turn]\nfriction: {turn: {viscous: 7}}")
    out, err = dyn(*command(name, RRP, "--side-file", side))
    assert err == ""
    # The friction value does not change the number of operations, and has no effect on inertias.
    assert (out == dyn(*command(name, RRP)).out) is (name in ("counts", "base"))
    wrong = dyn.write("wrong.yaml", "passive: [nobody]")
    with refused("side-file-joint-unknown", joint="nobody") as caught:
        dyn_core.load_robot(RRP, loops=Path(wrong))
    out, err = dyn(*command(name, RRP, "--side-file", wrong), code=1)
    assert str(caught.value) in (out if name == "check" else err)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "mdh"])
def test_every_command_takes_gravity(name: str, dyn: Command) -> None:
    assert dyn(*command(name, RRP, "--gravity", "-1e-1", "0", "0")).out != dyn(*command(name, RRP)).out
    if name != "emit":  # this command has no JSON
        for words, code, values in (
            (("1", "2"), "option-count", {"given": 2, "expected": "three"}),
            (("0", "0", "nan"), "option-not-finite", {"given": "nan"}),
        ):
            error = dyn.refused(*command(name, RRP, "--gravity", *words), code=code)
            assert error["values"] == {"option": "--gravity", **values}


def test_gravity_of_an_evaluation(dyn: Command) -> None:
    on_the_moon = dyn.json("eval", "--gravity", "0", "0", "-1.62", RRP, "gravity_torques")["values"]
    np.testing.assert_allclose(on_the_moon, [0.0, (3.0 * 0.4 + 1.5 * 0.6) * 1.62, 0.0], atol=1e-12)


def piped(text: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return completed(*arguments, input=text, text=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_standard_input(name: str, dyn: Command) -> None:
    done = piped(Path(RRP).read_bytes(), *command(name, "-"))
    expected = dyn(*command(name, RRP)).out
    assert (done.returncode, done.stderr.decode(), done.stdout.decode()) == (0, "", expected)


def test_par_text_from_standard_input() -> None:
    text = b"(* Robotname = 'one' *) NL = 1 ant = {0} sigma = {0} M = {1} G = {0,9.81,0}"
    assert piped(text, "counts", "-", "--json").stdout.startswith(b'{\n  "robot": "one"')


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "file-empty"),
        (b"robot.urdf", "input-not-a-robot"),
        (b"<robot>\n\xff</robot>", "file-byte-not-utf8"),
        (b"<robot>" + b" " * 20_000_000, "description-input-too-large"),
    ],
)
def test_standard_input_without_a_robot_is_refused(text: bytes, code: str) -> None:
    done = piped(text, "mdh", "-", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"], error["file"]) == (1, code, "standard input")
    assert code != "file-byte-not-utf8" or error["values"] == {"byte": 0xFF, "line_number": 2}
    assert done.stderr.decode() == f"dyn: error: standard input: {error['message']}\n"
    done = piped(text, "check", "-", "--json")
    (found,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, done.stderr) == (1, b"")
    assert (found["element"], found["code"], found["values"]) == ("robot", code, error["values"])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_a_snap_tolerance(name: str, dyn: Command) -> None:
    mount = '<origin xyz="0.4 0 0" rpy="0 0 0"/>'
    path = dyn.write("arm.urdf", replaced(CLEAN, mount, mount.replace("0 0 0", "1.57 0.1 0")))
    options = ([], ["--snap", "digits"], ["--snap", "0"], ["--snap", "0.01"])
    outputs = [dyn(*command(name, path, *given)).out for given in options]
    assert outputs[0] == outputs[1] == outputs[2]  # 1.57 has too few digits to be snapped
    assert outputs[3] != outputs[0]
    if name != "emit":  # this command has no JSON
        for wrong, code, given in (("1", "setting-range", 1.0), ("x", "option-invalid", "x")):
            dyn.refused(*command(name, path, "--snap", wrong), code=code, given=given)
