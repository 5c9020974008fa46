# SPDX-License-Identifier: Apache-2.0
"""The command: what it prints, its exit codes, and that it never shows a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from dyn_process import exit_code_without_reader, started

import dyn_core
from dyn_core.cli.main import main
from dyn_core.cli.options import joined
from dyn_core.cli.version import VERSION

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
RRP = str(ROBOTS / "rrp.urdf")


def dyn(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dyn_core", *arguments],
        cwd=Path(dyn_core.__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )


def test_mdh_prints_the_table() -> None:
    done = dyn("mdh", RRP)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == dyn_core.load_robot(RRP).mdh_table() + "\n"


def test_mdh_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mdh", RRP, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["robot"] == "rrp"
    third = answer["frames"][2]
    assert (third["joint"], third["antecedent"], third["sigma"]) == ("stretch", 2, 1)
    assert third["alpha"] == pytest.approx(np.pi / 2)


@pytest.mark.parametrize("function", ["inverse_dynamics", "gravity_torques", "bias_torques"])
def test_eval(function: str, capsys: pytest.CaptureFixture[str]) -> None:
    state = {"q": [0.1, -2e-3, 0.2], "qd": [1.0, -1.0, 0.5], "qdd": [3.0, 2.0, -1.0]}
    options = [word for name, x in state.items() for word in (f"--{name}", *map(repr, x))]
    assert main(["eval", RRP, function, *options, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    used = {"inverse_dynamics": 3, "bias_torques": 2, "gravity_torques": 1}[function]
    model = dyn_core.compile_model(dyn_core.load_robot(RRP))
    expected = getattr(model, function)(*list(state.values())[:used])
    assert answer["joint_names"] == ["turn", "lift", "stretch"]
    assert answer["units"] == ["N m", "N m", "N"]
    np.testing.assert_array_equal(answer["values"], expected)


def test_eval_prints_a_table_of_named_torques() -> None:
    done = dyn("eval", RRP, "gravity_torques")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == ["turn", "lift", "stretch"]
    assert float(lines[1][1]) == pytest.approx((3.0 * 0.4 + 1.5 * 0.6) * 9.81)
    assert [line[2] for line in lines] == ["N m", "N m", "N"]


def test_mimic_joints_and_par_files(tmp_path: Path) -> None:
    path = tmp_path / "two.par"
    path.write_text(
        "NL = 2 ant = {0,1} sigma = {0,1} d = {0,1} theta = {t1,0} r = {0,0.5*t1} M = {1,1} G = {0,9.81,0}"
    )
    done = dyn("mdh", str(path))
    assert (done.returncode, done.stdout.splitlines()[2].split()[-1]) == (0, "0.5*t1")
    done = dyn("eval", str(path), "gravity_torques")
    assert (done.returncode, done.stdout.split()) == (0, ["joint_1", "-9.810000", "N", "m"])


def test_numbers_may_be_written_in_several_ways() -> None:
    options = ("--q", "--qd")
    assert joined(["eval", "--q", "1", "-2e-3", "--json"], options) == ["eval", "--q=1,-2e-3", "--json"]
    assert joined(["--q", "-1,2", "--qd", "3"], options) == ["--q=-1,2", "--qd=3"]
    assert joined(["--q=-1 2"], options) == ["--q=-1 2"]
    assert joined(["--q", "--qd"], options) == ["--q=", "--qd="]
    assert joined(["--q", "1", "2", "r.urdf"], options) == ["--q=1,2", "r.urdf"]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["mdh", "nowhere.urdf"], 1, "dyn: error: no such file: 'nowhere.urdf'"),
        (["mdh", str(ROBOTS)], 1, "this is a directory"),
        (["eval", RRP, "gravity_torques", "--q", "1"], 1, "--q has 1 number, but the robot has 3"),
        (["eval", RRP, "gravity_torques", "--q", "1", "2", "nan"], 1, "'nan': give finite numbers"),
        (["eval", RRP, "gravity_torques", "--q=1,2,x"], 1, "--q holds 'x': give finite numbers"),
        (
            ["eval", RRP, "gravity_torques", "--q", "pi/2", "0", "0"],
            1,
            "--q holds 'pi/2': give finite numbers",
        ),
        (
            ["eval", "--q", "pi/2", "0", "0", RRP, "gravity_torques"],
            1,
            "--q holds 'pi/2': give finite numbers",
        ),
        (["eval", RRP, "gravity_torques", "--q", "a", "b", "c"], 2, "--q holds 'a': give finite numbers"),
        (["eval", RRP, "gravity_torques", "--q", "-pi", "0", "0"], 2, "--q holds '-pi': give finite"),
        (["eval", "--q", "1", "2", "3", RRP, "gravity_torques", "z"], 2, "unrecognized arguments: z"),
        (["eval", RRP, "gravity_torques", "--q", "-pi/2", "0", "0"], 2, "--q holds '-pi/2': give finite"),
        (["eval", RRP, "gravity_torques", "--gravity", "0", "0", "g"], 2, "--gravity holds 'g': give finite"),
        (["eval", RRP, "gravity_torques", "--q=1", "--json", "y"], 2, "unrecognized arguments: y"),
        (["eval", RRP, "gravity_torques", "--q=1,2,3", "--q", "1", "2", "3"], 2, "--q is given twice"),
        (["check", RRP, "--gravity=0,0,1", "--gravity=0,0,2"], 2, "--gravity is given twice"),
        (["simulate", RRP, "-o", "x.csv", "--qd=1", "--qd=2"], 2, "--qd is given twice"),
        (["eval", RRP, "torques"], 2, "invalid choice: 'torques'"),
        (["eval", RRP, "gravity_torques", "--q", "1", "2", "x"], 2, "--q holds 'x': give finite numbers"),
        ([], 2, "the following arguments are required: COMMAND"),
    ],
)
def test_mistakes_end_in_a_sentence(arguments: list[str], code: int, sentence: str) -> None:
    done = dyn(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    package = ElementTree.parse(Path(__file__).resolve().parents[1] / "package.xml").getroot()
    assert capsys.readouterr().out == f"dyn {package.findtext('version')}\n"


@pytest.mark.parametrize("name", ["mdh", "eval", "counts", "emit", "check", "simulate"])
def test_every_command_says_what_it_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    shown = capsys.readouterr().out
    _, description, *_ = shown.split("\n\n")
    assert description[0].isupper()
    assert " ".join(description.split()).endswith(".")
    assert ("--q X ..." in shown) is (name in ("eval", "simulate"))


def test_malformed_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.urdf"
    path.write_text("<robot name='r'>\n<link</robot>")
    done = dyn("mdh", str(path))
    assert done.returncode == 1
    assert done.stderr == f"dyn: error: {path}: malformed XML in line 2: not well-formed (invalid token)\n"


def test_warnings_are_shown_as_sentences(tmp_path: Path) -> None:
    path = tmp_path / "odd.urdf"
    path.write_text(
        '<robot name="r"><link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="9"/></inertial></link></robot>'
    )
    done = dyn("mdh", str(path))
    assert done.returncode == 0
    assert done.stderr.startswith(f"dyn: warning: {path}: link 'a' (line 1): no body has its inertia")
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_goes_away_is_no_error() -> None:
    assert exit_code_without_reader("mdh", RRP) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [["counts", RRP], ["check", RRP, "--json"], ["emit", "--help"]])
def test_a_full_disk_ends_in_a_sentence(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dyn_core", *arguments],
            cwd=Path(dyn_core.__file__).parents[1],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == "dyn: error: cannot write to standard output: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize("where", ["main._parser", "main._print", "robot_commands.counts.described_robot"])
def test_an_interrupt_ends_every_command_in_a_sentence(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"dyn_core.cli.{where}", interrupted)
    try:
        code = main(["counts", RRP])
    except KeyboardInterrupt:  # which would end pytest, too
        pytest.fail("the command lets the interrupt through")
    assert code == 130
    assert capsys.readouterr() == ("", "dyn: interrupted\n")


@pytest.mark.parametrize("module", ["dyn_core.cli.main", "numpy", "dyn_core.core.errors"])
def test_ctrl_c_while_modules_are_imported(module: str) -> None:
    """A library that is being imported makes anything of the exception; nothing of it is seen."""
    code = f"""
import os, signal, sys
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed())
from dyn_command import main
sys.exit(main())
"""
    process = started(code)
    assert process.communicate(timeout=60) == ("", "dyn: interrupted\n")
    assert process.returncode == 130


def test_the_program_is_the_command() -> None:
    process = started(
        "import sys; sys.argv = ['dyn', '--version']; import dyn_command; sys.exit(dyn_command.main())"
    )
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == (f"dyn {VERSION}\n", "", 0)
