# SPDX-License-Identifier: Apache-2.0
"""The command on a terminal: the same words with styles, and completion in shells."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dyn_process import completed as finished
from robots import ROBOTS

import dyn_core
from dyn_core.core.messages import sentence
from dyn_core.robot.robot_files import robot_files

NO_FILE = {"path": "no-such.urdf", "alternative": "XML text"}
FIVE_BAR = [str(ROBOTS / "five_bar.urdf"), "--side-file", str(ROBOTS / "five_bar.yaml")]
DELTA = [str(ROBOTS / "delta.urdf"), "--side-file", str(ROBOTS / "delta.yaml")]
OURS = {"PYTHONPATH": str(Path(dyn_core.__file__).parents[1]), "TERM": "xterm-256color"}
LEFT_OUT = ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
VARIABLES = {name: value for name, value in os.environ.items() if name not in LEFT_OUT} | OURS
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_terminal(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run the command on a terminal; return its exit code and the text on the terminal."""
    own, theirs = pty.openpty()
    pipes = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs}
    command = [sys.executable, "-m", "dyn_core", *arguments]
    process = subprocess.Popen(command, env=VARIABLES | variables, **pipes)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(own, 65536):
            shown += piece
    except OSError:  # the other end of the terminal is closed
        pass
    os.close(own)
    return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")


def elsewhere(*arguments: str) -> str:
    done = finished(*arguments, env=VARIABLES)
    return done.stdout + done.stderr


def words(text: str) -> list[str]:
    """Return the words of a text, without styles and table lines."""
    return re.sub(r"[\u2500\u2501\u2574-\u2577 ]+", " ", ESCAPES.sub("", text)).split()


COMMANDS = (
    *(["mdh", *FIVE_BAR], ["parallel", *DELTA], ["loops", *FIVE_BAR], ["check", *FIVE_BAR]),
    *(["loops", *FIVE_BAR, "--q", "0.1", "2"], ["lagrange", str(ROBOTS / "rrp.urdf")]),
    *(["check", "no-such.urdf"], ["mdh", "no-such.urdf"]),
)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_terminal_shows_the_same_words_as_a_pipe(arguments: list[str]) -> None:
    _, shown = on_terminal(*arguments)
    assert words(shown) == words(elsewhere(*arguments))
    assert words(shown)


def test_table_heads_are_bold_and_errors_are_red() -> None:
    assert "\x1b[1moperations" in on_terminal("parallel", *DELTA)[1]
    code, shown = on_terminal("mdh", "no-such.urdf")
    assert code == 1
    assert f"\x1b[1;31mdyn: error:\x1b[0m {sentence('path-or-text-unknown', NO_FILE)}" in shown
    code, shown = on_terminal("check", "no-such.urdf")
    assert (code, "\x1b[31merror: robot" in shown) == (1, True)
    assert "\x1b" not in elsewhere("check", "no-such.urdf")
    for variables, beginning in (({"NO_COLOR": "1"}, ""), ({"TERM": "dumb"}, "error: robot")):
        _, shown = on_terminal("check", "no-such.urdf", **variables)
        assert not re.search(r"\x1b\[[\d;]*3\d", shown)
        assert shown.startswith(beginning)
    # The terminal itself wraps long lines; no text is cut.
    _, shown = on_terminal("mdh", "/" + "x" * 199)
    assert sentence("path-or-text-unknown", NO_FILE | {"path": "/" + "x" * 199}) in ESCAPES.sub("", shown)


def test_long_commands_show_their_progress(tmp_path: Path) -> None:
    pytest.importorskip("sympy")
    code, shown = on_terminal("lagrange", str(ROBOTS / "rrp.urdf"), "--expanded")
    assert (code, "expanding and simplifying" in shown) == (0, True)
    command = ["simulate", str(ROBOTS / "rrp.urdf"), "--duration=60", "--out", str(tmp_path / "out.csv")]
    code, shown = on_terminal(*command)
    assert (code, "60 s simulated in" in shown) == (0, True)
    assert re.search(r"\d+%.* of 60 s, [\d.]+ x real time", ESCAPES.sub("", shown))


def completed(line: str, directory: Path) -> list[str]:
    """Return the completions of a command line."""
    choices = directory / "choices"
    given = {
        "": "1",
        "_SHELL": "fish",
        "_DFS": "\t",
        "_STDOUT_FILENAME": str(choices),
        "_SUPPRESS_SPACE": "0",
    }
    variables = {f"_ARGCOMPLETE{name}": value for name, value in given.items()}
    variables |= {"COMP_LINE": line, "COMP_POINT": str(len(line))}
    program = "import sys, dyn_command; sys.argv = ['dyn']; sys.exit(dyn_command.main())"
    subprocess.run([sys.executable, "-c", program], env=VARIABLES | variables, cwd=directory, check=True)
    return [choice.split("\t")[0].strip() for choice in choices.read_text().replace("\v", "\n").splitlines()]


def test_shells_complete_commands_options_and_files(tmp_path: Path) -> None:
    for name in ("arm.urdf", "arm.par", "arm.csv"):
        (tmp_path / name).write_text("")
    (tmp_path / "arms").mkdir()
    assert completed("dyn l", tmp_path) == ["loops", "lagrange", "log"]
    assert completed("dyn mdh --", tmp_path) == [
        "--help",
        "--side-file",
        "--snap",
        "--lock",
        "--joints",
        "--json",
    ]
    robots = [name for name in robot_files() if name.startswith("a")]
    assert set(completed("dyn mdh a", tmp_path)) == {"arm.urdf", "arm.par", "arms/", *robots}
    assert set(completed("dyn log --robot a", tmp_path)) == {"arm.urdf", "arm.par", "arms/", *robots}
    assert "arm.csv" in completed("dyn log a", tmp_path)
    assert completed("dyn eval arm.urdf grav", tmp_path) == ["gravity_torques"]
    # Shells search the program for this text.
    program = Path(dyn_core.__file__).parents[1] / "dyn_command.py"
    assert b"PYTHON_ARGCOMPLETE_OK" in program.read_bytes()[:1024]
