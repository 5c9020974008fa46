# SPDX-License-Identifier: Apache-2.0
"""The tool behind the Makefile: what it says when something is missing, broken or killed."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from robot_files import ROOT

BARE_PYTHON = Path(sys.executable).resolve()
"""The interpreter from which the virtual environment of the tests was made, without its packages."""
TARGETS = [
    "demo",
    "test",
    "build",
    "lint",
    "exact",
    "bench",
    "truth",
    "soak",
    "docs",
    "shell",
    "pins",
    "clean",
    "distclean",
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a space in its path, without anything built."""
    copy = tmp_path / "a checkout"
    for directory in ("tools", "requirements", "src", "launch", "config"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / directory, copy / directory, ignore=ignored)
    shutil.copy(ROOT / "Makefile", copy)
    return copy


def fresh(**variables: str) -> dict[str, str]:
    """The environment of a shell in which no ROS 2 is sourced."""
    kept = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE")
    return {name: os.environ[name] for name in kept if name in os.environ} | variables


def make(checkout: Path, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *words], cwd=checkout, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def only_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one line with which a target failed, beside make's own."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("workspace: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def path_without(tmp_path: Path, *programs: str) -> str:
    """A directory with links to the programs of the PATH, but for some."""
    directory = tmp_path / "programs"
    directory.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*") if Path(folder).is_dir() else ():
            link = directory / program.name
            if program.name not in programs and not link.exists() and not link.is_symlink():
                link.symlink_to(program)
    return str(directory)


def test_help_lists_every_target(checkout: Path) -> None:
    done = make(checkout, "help", env=fresh())
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["help", *TARGETS]
    assert make(checkout, env=fresh()).stdout == done.stdout


def test_missing_programs_are_named_with_their_packages(checkout: Path, tmp_path: Path) -> None:
    path = path_without(tmp_path, "cmake", "c++", "g++", "clang++")
    sentence = only_sentence(make(checkout, "build", f"PYTHON={sys.executable}", env=fresh(PATH=path)))
    assert "lacks a C++ compiler (c++), CMake" in sentence
    assert "apt install build-essential cmake" in sentence


def test_no_usable_python_is_said(checkout: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for version in ("", ".14", ".13", ".12", ".11", ".10"):
        (old / f"python3{version}").write_text("#!/bin/sh\nexit 1\n")
        (old / f"python3{version}").chmod(0o755)
    done = make(checkout, "build", env=fresh(PATH=f"{old}:{os.environ['PATH']}"))
    assert done.returncode != 0
    assert "no Python >= 3.10 on the PATH" in done.stderr


def test_a_sourced_ros_without_rclpy_is_refused(checkout: Path) -> None:
    done = make(checkout, "build", f"PYTHON={BARE_PYTHON}", env=fresh(ROS_DISTRO="jazzy"))
    sentence = only_sentence(done)
    assert "ROS 2 'jazzy' is sourced" in sentence
    assert "ros-jazzy-rclpy" in sentence


def test_a_sourced_ros_is_used_and_nothing_is_installed(checkout: Path) -> None:
    question = "import environment; print(environment.prepare().description)"
    done = subprocess.run(
        [sys.executable, "-B", "-c", question],
        env={**os.environ, "PYTHONPATH": str(checkout / "tools" / "workspace"), "ROS_DISTRO": "jazzy"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "ROS 2 jazzy, sourced\n", done.stderr
    assert not list(checkout.glob(".venv*"))


def test_a_path_that_ros_cannot_use_is_refused(checkout: Path) -> None:
    bad = checkout.rename(checkout.with_name("a:b"))
    sentence = only_sentence(make(bad, "build", f"PYTHON={sys.executable}", env=fresh()))
    assert "move the checkout" in sentence


def test_a_failed_installation_is_explained_and_tried_again(checkout: Path) -> None:
    (checkout / "requirements" / "workspace.txt").write_text("no-such-package-of-ours==1.0\n")
    environment = fresh(PIP_NO_INDEX="1")
    for _ in range(2):
        done = make(checkout, "build", f"PYTHON={BARE_PYTHON}", env=environment)
        assert "pip could not install the pinned packages" in only_sentence(done)
        assert "no-such-package-of-ours" in done.stderr


def test_what_is_no_longer_there_is_removed_and_the_rest_is_kept(checkout: Path) -> None:
    """A removed source takes what was built of its package along; a build by hand is continued."""
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
    done = subprocess.run(
        [sys.executable, "-B", "-c", question],
        env={**os.environ, "PYTHONPATH": str(checkout / "tools" / "workspace")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "by-hand dyn_core dyn_msgs dyn_nodes",
        "removed dyn_core dyn_msgs",
        "touched dyn_core dyn_msgs dyn_nodes",
        "workspace: the last build was interrupted; building from scratch",
        "interrupted",
    ], done.stderr


def test_settings_of_pip_that_lead_elsewhere_are_overruled(checkout: Path, tmp_path: Path) -> None:
    """An environment for tools, made offline from nothing, with pip told to install elsewhere.

    A pin for other versions of Python is not looked for.
    """
    (checkout / "requirements" / "bench.txt").write_text("nothing==1 ; python_full_version < '3'\n")
    environment = fresh(PIP_TARGET=str(tmp_path / "elsewhere"), PIP_USER="1", PIP_NO_INDEX="1")
    question = """
import layout, wheels
layout.prepare()
print(wheels.prepare_tools(layout.ROOT / ".venv-bench", layout.REQUIREMENTS / "bench.txt").is_file())
"""
    done = subprocess.run(
        [BARE_PYTHON, "-B", "-c", question],
        env={**environment, "PYTHONPATH": str(checkout / "tools" / "workspace")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["True"], done.stderr
    assert not (tmp_path / "elsewhere").exists()


HOLD = """
import os, subprocess, sys, lock
with lock.exclusive():
    child = subprocess.Popen(
        ["sleep", "600"],
        env={**os.environ, "DYN_WORKSPACE_RUN": str(lock.ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    print(child.pid, flush=True)
    sys.stdin.readline()
    child.kill()
"""


def test_one_command_at_a_time_and_no_orphans(checkout: Path) -> None:
    """The second command waits for the first; when that is killed, its processes are ended."""
    (checkout / ".workspace").mkdir()

    def holder() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-B", "-c", HOLD],
            env={**os.environ, "PYTHONPATH": str(checkout / "tools" / "workspace")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    with holder() as first:
        orphan = os.pidfd_open(int(first.stdout.readline()))
        with holder() as second:
            assert f"process {first.pid}) uses this checkout" in second.stderr.readline()
            assert select.select([second.stdout], [], [], 0)[0] == []
            first.kill()
            assert int(second.stdout.readline()) > 0
            assert select.select([orphan], [], [], 10)[0] == [orphan]
            second.communicate("\n", timeout=30)


JUNIT = """<testsuites><testsuite>
<testcase classname="a" name="good"/>
<testcase classname="a" name="bad"><failure message="no"/></testcase>
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
    assert totals.skipped == (
        "a::absent: launch is not installed",
        "::file: could not import 'hypothesis'",
    )
    assert results.read(tmp_path / "none.xml").failed
    file.write_text(JUNIT[:80])
    assert results.read(file).failed
    assert (totals + totals).ran == 6
