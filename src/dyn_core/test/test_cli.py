# SPDX-License-Identifier: Apache-2.0
"""The command: output, exit codes, and errors without tracebacks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from commands import Command
from dyn_process import completed, exit_code_without_reader, started
from refusals import refused, refused_command
from robots import ROBOTS

import dyn_core
from dyn_core.cli import main as command
from dyn_core.cli import options
from dyn_core.cli.console import VERSION, Output
from dyn_core.cli.main import main
from dyn_core.cli.options import joined
from dyn_core.core.messages import sentence

RRP = str(ROBOTS / "rrp.urdf")
THREE = {"expected": "the robot has 3 joints"}
GRAVITY = "eval RRP gravity_torques"


def test_mdh_and_a_table_of_eval(dyn: Command) -> None:
    done = completed("mdh", RRP)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == dyn_core.load_robot(RRP).mdh_table() + "\n"
    done = completed("eval", RRP, "gravity_torques")
    assert (done.returncode, done.stderr) == (0, "")
    names, values, units = zip(*(line.split(maxsplit=2) for line in done.stdout.splitlines()), strict=True)
    assert (names, units) == (("turn", "lift", "stretch"), ("N m", "N m", "N"))
    assert float(values[1]) == pytest.approx((3.0 * 0.4 + 1.5 * 0.6) * 9.81)
    printed = dyn.json("mdh", RRP)
    third = printed["frames"][2]
    assert (printed["robot"], third["joint"], third["antecedent"], third["sigma"]) == ("rrp", "stretch", 2, 1)
    assert third["alpha"] == pytest.approx(np.pi / 2)


@pytest.mark.parametrize(
    ("function", "used"), [("inverse_dynamics", 3), ("bias_torques", 2), ("gravity_torques", 1)]
)
def test_eval(function: str, used: int, dyn: Command) -> None:
    state = {"q": [0.1, -2e-3, 0.2], "qd": [1.0, -1.0, 0.5], "qdd": [3.0, 2.0, -1.0]}
    options = [word for name, x in state.items() for word in (f"--{name}", *map(repr, x))]
    printed = dyn.json("eval", RRP, function, *options)
    model = dyn_core.compile_model(dyn_core.load_robot(RRP))
    assert printed["joint_names"] == ["turn", "lift", "stretch"]
    assert printed["units"] == ["N m", "N m", "N"]
    np.testing.assert_array_equal(printed["values"], getattr(model, function)(*list(state.values())[:used]))


def test_the_old_name_of_the_side_file_option_warns(dyn: Command) -> None:
    urdf, side = (str(ROBOTS / f"five_bar.{ending}") for ending in ("urdf", "yaml"))
    new, old = dyn("mdh", urdf, "--side-file", side), dyn("mdh", urdf, "--loops", side)
    values = {"option": "--loops", "renamed": "--side-file"}
    assert (old.out, new.err) == (new.out, "")
    assert old.err == f"dyn: warning: {sentence('option-renamed', values)}\n"
    assert "tip (revolute)" in new.out


def test_mimic_joints_and_par_files(dyn: Command) -> None:
    table = "ant = {0,1} sigma = {0,1} d = {0,1} theta = {t1,0} r = {0,0.5*t1} M = {1,1} G = {0,9.81,0}"
    path = dyn.write("two.par", f"NL = 2 {table}")
    assert dyn("mdh", path).out.splitlines()[2].split()[-1] == "0.5*t1"
    assert dyn("eval", path, "gravity_torques").out.split() == ["joint_1", "-9.810000", "N", "m"]


def test_numbers_may_be_written_in_several_ways() -> None:
    options = ("--q", "--qd")
    for given, expected in (
        ("eval --q 1 -2e-3 --json", "eval --q=1,-2e-3 --json"),
        ("--q -1,2 --qd 3", "--q=-1,2 --qd=3"),
        ("--q --qd", "--q= --qd="),
        ("--q 1 2 r.urdf", "--q=1,2 r.urdf"),
    ):
        assert joined(given.split(), options) == expected.split()
    assert joined(["--q=-1 2"], options) == ["--q=-1 2"]


@pytest.mark.parametrize(
    ("command", "code", "values"),
    [
        ("mdh nowhere.urdf", "path-or-text-unknown", {"path": "nowhere.urdf", "alternative": "XML text"}),
        (f"mdh {ROBOTS}", "path-is-directory", {"form": "URDF"}),
        ("eval RRP gravity_torques --q 1", "option-numbers-count", {"option": "--q", "given": 1, **THREE}),
        ("eval RRP gravity_torques --q 1 2 nan", "option-not-finite", {"option": "--q", "given": "nan"}),
        ("eval RRP gravity_torques --q=1,2,x", "option-not-finite", {"option": "--q", "given": "x"}),
        ("eval RRP gravity_torques --q pi/2 0 0", "option-not-finite", {"option": "--q", "given": "pi/2"}),
        ("eval --q pi/2 0 0 RRP gravity_torques", "option-not-finite", {"option": "--q", "given": "pi/2"}),
    ],
)
def test_errors(command: str, code: str, values: dict[str, Any], dyn: Command) -> None:
    assert dyn.refused(*command.replace("RRP", RRP).split(), code=code)["values"] == values


@pytest.mark.parametrize(
    ("command", "code", "values"),
    [
        (f"{GRAVITY} --q a b c", "option-not-finite", {"option": "--q", "given": "a"}),
        (f"{GRAVITY} --q -pi 0 0", "option-not-finite", {"option": "--q", "given": "-pi"}),
        (f"{GRAVITY} --q -pi/2 0 0", "option-not-finite", {"option": "--q", "given": "-pi/2"}),
        (f"{GRAVITY} --q 1 2 x", "option-not-finite", {"option": "--q", "given": "x"}),
        (f"{GRAVITY} --gravity 0 0 g", "option-not-finite", {"option": "--gravity", "given": "g"}),
        (f"{GRAVITY} --q=1,2,3 --q 1 2 3", "option-repeated", {"option": "--q"}),
        ("check RRP --gravity=0,0,1 --gravity=0,0,2", "option-repeated", {"option": "--gravity"}),
        ("simulate RRP -o x.csv --qd=1 --qd=2", "option-repeated", {"option": "--qd"}),
        ("eval --q 1 2 3 RRP gravity_torques z", "", {"argparse": "unrecognized arguments: z"}),
        (f"{GRAVITY} --q=1 --json y", "", {"argparse": "unrecognized arguments: y"}),
        ("eval RRP torques", "", {"argparse": "invalid choice: 'torques'"}),
        ("mhd RRP", "", {"argparse": "invalid choice: 'mhd'"}),
        ("", "", {"argparse": "the following arguments are required: COMMAND"}),
    ],
)
def test_errors_of_the_command_line(
    command: str, code: str, values: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(command.replace("RRP", RRP).split())
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    expected = sentence(code, values) if code else values["argparse"]
    assert f"error: {expected}" in err or f": {expected}" in err


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("mhd RRP", "mdh"),
        ("simulte RRP", "simulate"),
        ("eval RRP inverse_dynamic", "inverse_dynamics"),
        ("mdh RRP --sidefile x", "--side-file"),
        ("eval RRP gravity_torques --base fixd", "fixed"),
        ("qqqqq RRP", None),
    ],
)
def test_misspelt_words_of_the_command_line(
    command: str, meant: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(command.replace("RRP", RRP).split())
    ending = capsys.readouterr().err.rstrip().rpartition("; did you mean ")[2]
    assert (ending == f"'{meant}'?") is (meant is not None)


def test_misspelt_names() -> None:
    """Of joints, links and parameters."""
    robot = dyn_core.load_robot(RRP)
    for mistake, meant in (
        (lambda: robot.joint("stretsh"), "stretch"),
        (lambda: robot.link_frame("collumm"), "column"),
        (lambda: robot.with_parameters({"MX_1": 1.0}), "MX1"),
        (lambda: dyn_core.load_robot(RRP, locked_joints={"Lift": 0.0}), "lift"),
        (lambda: robot.joint("gripper"), None),
    ):
        with pytest.raises(dyn_core.DynError) as caught:
            mistake()
        said = str(caught.value)
        assert said.endswith(f"id you mean '{meant}'?") if meant else "you mean" not in said
        assert str(caught.value) == said


@pytest.mark.parametrize("name", ["mdh", "eval", "counts", "emit", "check", "simulate", "base"])
def test_help_describes_command_and_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    shown = capsys.readouterr().out
    _, description, *_ = shown.split("\n\n")
    assert description[0].isupper()
    assert " ".join(description.split()).endswith(".")
    assert ("--q X ..." in shown) is (name in ("eval", "simulate"))
    for option in ("--side-file FILE", "--snap RAD", *(("--gravity X Y Z",) if name != "mdh" else ())):
        assert option in shown


def test_malformed_file(dyn: Command) -> None:
    path = dyn.write("broken.urdf", "<robot name='r'>\n<link</robot>")
    with refused("xml-malformed") as caught:
        dyn_core.load_robot(Path(path))
    assert caught.value.line == 2
    assert dyn("mdh", path, code=1).err == f"dyn: error: {caught.value}\n"


def test_warnings(dyn: Command) -> None:
    """As a sentence on standard error, and with code and place in JSON."""
    body = '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="9"/>'
    text = f'<robot name="r"><link name="a"><inertial>{body}</inertial></link></robot>'
    path = dyn.write("odd.urdf", text)
    out, err = dyn("mdh", path, "--json")
    (warning,) = json.loads(out)["warnings"]
    assert warning["code"] == "link-inertia-impossible"
    assert (warning["element"], warning["line"], warning["file"]) == ("link 'a'", 1, path)
    assert err == f"dyn: warning: {path}: {warning['message']}\n"
    assert "warnings" not in dyn.json("mdh", RRP)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [["counts", RRP], ["check", RRP, "--json"], ["emit", "--help"]])
def test_a_full_disk_is_reported_and_a_closed_pipe_is_not_an_error(arguments: list[str]) -> None:
    assert exit_code_without_reader(*arguments) == 0
    with Path("/dev/full").open("w") as full:
        done = completed(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    values = {"path": "standard output", "reason": "No space left on device"}
    assert done.stderr == f"dyn: error: {sentence('file-unwritable', values)}\n"
    assert done.returncode == 1


@pytest.mark.parametrize("where", ["main._parser", "main._print", "robot_commands.counts.parametrised_robot"])
def test_an_interrupt_ends_every_command_with_one_sentence(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"dyn_core.cli.{where}", interrupted)
    try:
        assert main(["counts", RRP]) == 130
    except KeyboardInterrupt:  # would also end pytest
        pytest.fail("the command lets the interrupt through")
    assert capsys.readouterr() == ("", "dyn: interrupted\n")


@pytest.mark.parametrize(
    ("module", "number", "exit_code", "how"),
    [
        ("dyn_core.cli.main", "SIGINT", 130, "interrupted"),
        ("numpy", "SIGINT", 130, "interrupted"),
        ("dyn_core.core.errors", "SIGINT", 130, "interrupted"),
        ("numpy", "SIGTERM", 143, "ended by SIGTERM"),
        ("dyn_core.cli.main", "SIGHUP", 129, "ended by SIGHUP"),
    ],
)
def test_a_signal_while_modules_are_imported(module: str, number: str, exit_code: int, how: str) -> None:
    """A library that is being imported may convert the exception; still only the sentence is printed."""
    code = f"""
import os, signal, sys
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{number})
sys.meta_path.insert(0, Pressed())
from dyn_command import main
sys.argv = ["dyn", "mdh", {RRP!r}]
sys.exit(main())
"""
    process = started(code)
    assert process.communicate(timeout=60) == ("", f"dyn: {how}\n")
    assert process.returncode == exit_code


def test_version() -> None:
    code = "import sys; sys.argv = ['dyn', '--version']; import dyn_command; sys.exit(dyn_command.main())"
    process = started(code)
    out, err = process.communicate(timeout=60)
    package = ElementTree.parse(Path(__file__).resolve().parents[1] / "package.xml").getroot()
    assert (out, err, process.returncode) == (f"dyn {VERSION}\n", "", 0)
    assert package.findtext("version") == VERSION


def test_errors_as_json(dyn: Command) -> None:
    """The sentence stays on standard error; the exit code is the same."""
    efforts = dyn.write("efforts.csv", "time,turn\n0,1\n0.1,x\n")
    command = ["simulate", RRP, "--effort", efforts, "-o", str(dyn.folder / "out.csv")]
    place = {"file": efforts, "line": 3, "element": "column 'turn'"}
    error = dyn.refused(*command, code="line-value-not-finite", **place)
    assert error["values"] == {"given": "x"}
    assert dyn(*command, code=1) == ("", f"dyn: error: {efforts}: {error['message']}\n")


@pytest.mark.parametrize(
    "words",
    [
        ["emit", RRP, "--function", "gravity_torques", "--lang", "c", "-o", "x.c"],
        ["simulate", RRP, "--duration", "0.01", "--out", "x.csv"],
        ["predict", RRP, "--log", "x.csv", "--parameters", "p.yaml", "--out", "o.csv"],
        ["payload", RRP, "--link", "hand", "--log", "a.csv", "--unloaded", "b.csv"],
    ],
    ids=lambda words: words[0],
)
def test_a_removed_working_directory(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    refused_command(words, "working-directory-removed")


def test_warnings_of_numpy_are_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def overflowing(arguments: object) -> Output:
        return Output(str(np.add.reduce(np.full(2, 1e308))))

    monkeypatch.setattr(command, "called_command", lambda _: ("mdh", options.Command("", overflowing)))
    assert main(["mdh", RRP]) == 0
    assert tuple(capsys.readouterr()) == ("inf\n", "")
