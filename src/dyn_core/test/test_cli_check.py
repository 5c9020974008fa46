# SPDX-License-Identifier: Apache-2.0
"""The command `check`, and the options about the robot that all commands have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checked_robot import CLEAN, spoilt
from dyn_process import exit_code_without_reader

import dyn_core
from dyn_core.cli.main import main

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
RRP = str(ROBOTS / "rrp.urdf")
WEAK = spoilt(('effort="60"', 'effort="20"'), ('lower="-2.5"', 'lower="0.1"'))
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


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def weak(tmp_path: Path) -> str:
    return written(tmp_path / "weak.urdf", WEAK)


def test_check_prints_findings_and_a_summary(weak: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", weak]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == ""
    assert lines[:-1] == [str(finding) for finding in dyn_core.check_robot(weak)]
    assert lines[0].startswith("warning: joint 'shoulder' (line 10): gravity takes up to 22.8 N m")
    assert lines[1] == "note: joint 'elbow' (line 14): position 0 is outside of the limits 0.1 to 2.5 rad"
    assert lines[2] == "clean: 1 warning, 1 note"


def test_check_as_json(weak: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", weak, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["robot"] == "clean"
    assert answer["counts"] == {"error": 0, "warning": 1, "note": 1}
    assert answer["findings"][1] == {
        "severity": "note",
        "element": "joint 'elbow'",
        "message": "position 0 is outside of the limits 0.1 to 2.5 rad",
        "kind": "joint",
        "names": ["elbow"],
        "line": 14,
    }


def test_nothing_suspicious(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "clean.urdf", CLEAN)
    assert main(["check", path, "--strict"]) == 0
    assert capsys.readouterr().out == "clean: nothing suspicious\n"
    assert main(["check", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


@pytest.mark.parametrize(
    ("change", "options", "code"),
    [
        (('lower="-2.5"', 'lower="0.1"'), ["--strict"], 0),
        (('effort="60"', 'effort="20"'), [], 0),
        (('effort="60"', 'effort="20"'), ["--strict"], 1),
        (('effort="60"', 'effort="20"'), ["--strict", "--json"], 1),
        (('lower="-2.5"', 'lower="9"'), [], 1),
        (("<inertia ", "<inertia ixx "), ["--json"], 1),
    ],
)
def test_exit_codes(
    change: tuple[str, str],
    options: list[str],
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = written(tmp_path / "arm.urdf", spoilt(change))
    assert main(["check", path, *options]) == code
    out, err = capsys.readouterr()
    assert err == ""
    if "--json" in options:
        json.loads(out)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "error: robot: no such file: "),
        ("<robot name='r'>\n<link</robot>", "error: robot: malformed XML in line 2: not well-formed"),
        ("", "error: robot: the file is empty"),
        ("<robot name='r'/>", "error: robot: the robot has no link: add at least one <link>"),
    ],
)
def test_what_cannot_be_read_is_the_one_finding(
    text: str | None, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "arm.urdf")
    if text is not None:
        written(tmp_path / "arm.urdf", text)
    assert main(["check", path]) == 1
    out, err = capsys.readouterr()
    first, summary = out.splitlines()
    assert (err, first.startswith(expected), summary) == ("", True, f"{path}: 1 error")
    assert main(["check", path, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["robot"] is None
    assert answer["counts"] == {"error": 1, "warning": 0, "note": 0}
    (found,) = answer["findings"]
    assert (found["severity"], found["element"]) == ("error", "robot")
    assert found["message"].startswith(expected.removeprefix("error: robot: "))


def test_check_as_a_process_with_nothing_to_read_and_a_reader_that_goes_away(weak: str) -> None:
    code = exit_code_without_reader("check", weak, "--strict")
    assert code == 1  # what was found is known, if not by whom


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_options_of_the_robot(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    expected = {"--loops FILE", "--snap RAD", *({"--gravity X Y Z"} if name != "mdh" else ())}
    assert {option for option in expected if option in shown} == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_the_side_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side = written(tmp_path / "a: side.yaml", "passive: [turn]\nfriction: {turn: {viscous: 7}}")
    assert main(command(name, RRP)) == 0
    without = capsys.readouterr().out
    assert main(command(name, RRP, "--loops", side)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    # How many operations there are does not depend on the value of a friction, and inertias do not at all.
    assert (out == without) is (name in ("counts", "base"))
    wrong = written(tmp_path / "wrong.yaml", "passive: [nobody]")
    assert main(command(name, RRP, "--loops", wrong)) == 1
    out, err = capsys.readouterr()
    assert f"{wrong}: passive: the robot has no moving joint 'nobody'" in (out if name == "check" else err)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "mdh"])
def test_every_command_takes_gravity(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(name, RRP)) == 0
    without = capsys.readouterr().out
    assert main(command(name, RRP, "--gravity", "-1e-1", "0", "0")) == 0
    assert capsys.readouterr().out != without
    for words, sentence in (
        (["1", "2"], "--gravity has 2 numbers: give three"),
        (["0", "0", "nan"], "--gravity holds 'nan': give finite numbers"),
    ):
        assert main(command(name, RRP, "--gravity", *words)) == 1
        assert sentence in capsys.readouterr().err


def piped(text: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "dyn_core", *arguments],
        cwd=Path(dyn_core.__file__).parents[1],
        input=text,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_standard_input(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(name, RRP)) == 0
    expected = capsys.readouterr().out
    done = piped(Path(RRP).read_bytes(), *command(name, "-"))
    assert (done.returncode, done.stderr.decode(), done.stdout.decode()) == (0, "", expected)


def test_par_text_from_standard_input() -> None:
    text = b"(* Robotname = 'one' *) NL = 1 ant = {0} sigma = {0} M = {1} G = {0,9.81,0}"
    assert piped(text, "counts", "-", "--json").stdout.startswith(b'{\n  "robot": "one"')


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "empty"),
        (b"robot.urdf", "it is no robot: a URDF begins with <, and .par text with (*"),
        (b"<robot>\n\xff</robot>", "byte 0xff in line 2 is not UTF-8"),
        (b"<robot>" + b" " * 20_000_000, "more than the 20000000 bytes that are read"),
    ],
)
def test_what_is_no_robot_on_standard_input(text: bytes, sentence: str) -> None:
    done = piped(text, "mdh", "-")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith("dyn: error: standard input: ")
    assert sentence in done.stderr.decode()
    assert len(done.stderr.decode().splitlines()) == 1
    done = piped(text, "check", "-", "--json")
    (found,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, done.stderr, found["element"]) == (1, b"", "robot")
    assert sentence in found["message"]


def test_gravity_of_an_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--gravity", "0", "0", "-1.62", RRP, "gravity_torques", "--json"]) == 0
    on_the_moon = json.loads(capsys.readouterr().out)["values"]
    expected = (3.0 * 0.4 + 1.5 * 0.6) * 1.62
    np.testing.assert_allclose(on_the_moon, [0.0, expected, 0.0], atol=1e-12)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_a_tolerance(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mount = '<origin xyz="0.4 0 0" rpy="0 0 0"/>'
    text = spoilt((mount, mount.replace("0 0 0", "1.57 0.1 0")))
    path = written(tmp_path / "arm.urdf", text)
    outputs = []
    for options in ([], ["--snap", "digits"], ["--snap", "0"], ["--snap", "0.01"]):
        assert main(command(name, path, *options)) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]  # 1.57 has too few digits
    assert outputs[3] != outputs[0]
    for wrong, sentence in (
        ("1", "snap is 1.0: give"),
        ("x", "--snap is 'x': give digits, 0, or a tolerance"),
    ):
        assert main(command(name, path, "--snap", wrong)) == 1
        assert sentence in capsys.readouterr().err
