# SPDX-License-Identifier: Apache-2.0
"""The tool behind the Makefile: messages about missing or broken parts, and killed commands."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from program_runs import finished
from robot_files import ROOT
from ros_graph import GENEROUS_S

BARE_PYTHON = Path(sys.executable).resolve()
"""The interpreter from which the virtual environment of the tests was made, without its packages."""
TARGETS = [
    *("demo", "test", "test-all", "build", "lint", "exact", "bench"),
    *("truth", "guards", "soak", "fuzz", "docs", "shell", "pins", "clean", "distclean"),
]
Done = subprocess.CompletedProcess[str]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a space in its path and without a build."""
    copy = tmp_path / "a checkout"
    for directory in ("tools", "requirements", "src", "launch", "config"):
        shutil.copytree(ROOT / directory, copy / directory, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Makefile", copy)
    return copy


def fresh(**variables: str) -> dict[str, str]:
    """The environment of a shell without a sourced ROS 2."""
    kept = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE")
    return {name: os.environ[name] for name in kept if name in os.environ} | variables


def make(checkout: Path, *words: str, **variables: str) -> Done:
    return finished("make", *words, env=fresh(**variables), cwd=checkout)


def build(checkout: Path, python: str | Path = sys.executable, **variables: str) -> str:
    """Return the single line with which a build fails, apart from the output of make."""
    return only_sentence(make(checkout, "build", f"PYTHON={python}", **variables))


def run_tool(python: str | Path, program: str, checkout: Path, env: Mapping[str, str]) -> Done:
    """Run a program that imports modules of the tool."""
    path = str(checkout / "tools" / "workspace")
    return finished(python, "-B", "-c", program, env={**env, "PYTHONPATH": path})


def only_sentence(done: Done) -> str:
    """The single line with which a target failed, apart from the output of make."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("workspace: ")]
    return line


def test_help_lists_every_target(checkout: Path) -> None:
    done = make(checkout, "help")
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["help", *TARGETS]
    assert make(checkout).stdout == done.stdout


def test_missing_programs_are_named_with_their_packages(checkout: Path, tmp_path: Path) -> None:
    """On a PATH with links to all programs except some."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.glob("*"):
            link = programs / program.name
            if program.name not in ("cmake", "c++", "g++", "clang++") and not link.is_symlink():
                link.symlink_to(program)
    sentence = build(checkout, PATH=str(programs))
    assert "lacks a C++ compiler (c++), CMake" in sentence
    assert "apt install build-essential cmake" in sentence


def test_a_missing_python_is_reported(checkout: Path, tmp_path: Path) -> None:
    for version in ("", ".14", ".13", ".12", ".11", ".10"):
        program = tmp_path / f"python3{version}"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    done = make(checkout, "build", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode != 0
    assert "no Python >= 3.10 on the PATH" in done.stderr


def test_a_sourced_ros_without_rclpy_is_refused(checkout: Path) -> None:
    sentence = build(checkout, BARE_PYTHON, ROS_DISTRO="jazzy")
    assert "ROS 2 'jazzy' is sourced" in sentence
    assert "ros-jazzy-rclpy" in sentence


def test_a_sourced_ros_is_used_and_nothing_is_installed(checkout: Path) -> None:
    question = "import environment; print(environment.prepare().description)"
    done = run_tool(sys.executable, question, checkout, {**os.environ, "ROS_DISTRO": "jazzy"})
    assert done.stdout == "ROS 2 jazzy, sourced\n", done.stderr
    assert not list(checkout.glob(".venv*"))


def test_a_path_that_ros_cannot_use_is_refused(checkout: Path) -> None:
    assert "move the checkout" in build(checkout.rename(checkout.with_name("a:b")))


def test_a_failed_installation_is_explained_and_repeated(checkout: Path) -> None:
    (checkout / "requirements" / "workspace.txt").write_text("no-such-package-of-ours==1.0\n")
    for _ in range(2):
        done = make(checkout, "build", f"PYTHON={BARE_PYTHON}", PIP_NO_INDEX="1")
        assert "pip could not install the pinned packages" in only_sentence(done)
        assert "no-such-package-of-ours" in done.stderr


def test_outdated_files_are_removed_and_the_rest_is_kept(checkout: Path) -> None:
    """Removing a source rebuilds its package; a manual build is continued."""
    question = """
import json, packages, environment, layout
layout.prepare()
packages._colcon_build = lambda e: layout.BUILD.mkdir(exist_ok=True)
packages._built_variables = lambda e: {}
layout.INSTALL.mkdir(exist_ok=True); (layout.INSTALL / "setup.bash").touch()
made = environment.Environment("test", layout.ROOT, {"AMENT_PREFIX_PATH": ""})
def build(mark):
    for folder in (layout.BUILD / p for p in packages.PACKAGES):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / mark).touch()
    packages.build(made)
    print(mark, *sorted(f.parent.name for f in layout.BUILD.glob("*/" + mark)))
build("by-hand")
(layout.ROOT / "config" / "robots" / "rrp.urdf").unlink()
build("removed")
(layout.ROOT / "src" / "dyn_core" / "setup.py").touch()
build("touched")
packages._UNFINISHED.touch(); packages._STAMP.unlink()
build("interrupted")
"""
    done = run_tool(sys.executable, question, checkout, os.environ)
    assert done.stdout.splitlines() == [
        "by-hand dyn_core dyn_msgs dyn_nodes",
        "removed dyn_core dyn_msgs",
        "touched dyn_core dyn_msgs dyn_nodes",
        "workspace: the last build was interrupted; building from scratch",
        "interrupted",
    ], done.stderr


def test_pip_settings_for_other_paths_are_overruled(checkout: Path, tmp_path: Path) -> None:
    """An environment for tools, made offline, with pip settings for another target directory.

    A pin for other versions of Python is ignored.
    """
    (checkout / "requirements" / "bench.txt").write_text("nothing==1 ; python_full_version < '3'\n")
    environment = fresh(PIP_TARGET=str(tmp_path / "elsewhere"), PIP_USER="1", PIP_NO_INDEX="1")
    question = """
import layout, wheels
layout.prepare()
print(wheels.prepare_tools(layout.ROOT / ".venv-bench", layout.REQUIREMENTS / "bench.txt").is_file())
"""
    done = run_tool(BARE_PYTHON, question, checkout, environment)
    assert done.stdout.splitlines()[-1:] == ["True"], done.stderr
    assert not (tmp_path / "elsewhere").exists()


HOLD = """
import os, subprocess, sys, lock
with lock.exclusive():
    env = {**os.environ, "DYN_WORKSPACE_RUN": str(lock.ROOT)}
    child = subprocess.Popen(["sleep", "600"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(child.pid, flush=True)
    sys.stdin.readline()
    child.kill()
"""


def test_one_command_at_a_time_and_no_orphans(checkout: Path) -> None:
    """The second command waits for the first; after that is killed, its processes are ended."""
    (checkout / ".workspace").mkdir()

    def holder() -> subprocess.Popen[str]:
        env = {**os.environ, "PYTHONPATH": str(checkout / "tools" / "workspace")}
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen([sys.executable, "-B", "-c", HOLD], env=env, text=True, **pipes)

    with holder() as first:
        orphan = os.pidfd_open(int(first.stdout.readline()))
        with holder() as second:
            assert f"process {first.pid}) uses this checkout" in second.stderr.readline()
            assert select.select([second.stdout], [], [], 0)[0] == []
            first.kill()
            assert int(second.stdout.readline()) > 0
            assert select.select([orphan], [], [], GENEROUS_S)[0] == [orphan]
            second.communicate("\n", timeout=GENEROUS_S)


JUNIT = """<testsuites><testsuite>
<testcase classname="a" name="good"/> <testcase classname="a" name="bad"><failure message="no"/></testcase>
<testcase classname="a" name="worse"><error message="no"/></testcase>
<testcase classname="a" name="absent"><skipped message="launch is not installed"/></testcase>
<testcase classname="" name="file"><skipped message="collection skipped">('/a/test_b.py', 9,
"Skipped: could not import 'hypothesis'")</skipped></testcase>
</testsuite></testsuites>"""


def test_totals_count_what_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools" / "workspace")
    import results

    file = tmp_path / "pytest.xml"
    file.write_text(JUNIT)
    totals = results.read(file)
    assert str(totals) == "1 passed, 2 failed, 2 skipped"
    assert totals.skipped == ("a::absent: launch is not installed", "::file: could not import 'hypothesis'")
    assert results.read(tmp_path / "none.xml").failed
    file.write_text(JUNIT[:80])
    assert results.read(file).failed
    assert (totals + totals).ran == 6
