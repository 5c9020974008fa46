# SPDX-License-Identifier: Apache-2.0
"""The repository as a whole: interfaces, installation, public surface, static checks, a short soak."""

from __future__ import annotations

import ast
import difflib
import importlib
import re
import sys
from collections import Counter
from pathlib import Path

import lint
import pytest
import yaml
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from program_runs import finished
from public_surface import SURFACES, golden_file
from robot_files import ROOT

from dyn_nodes.compose import NODES

# Interfaces of dyn_msgs

SOURCES = sorted((ROOT / "src" / "dyn_msgs").glob("*/*.*"))
FIELD = re.compile(r"^(?!#|---|$)(?P<type>\S+)\s+(?P<name>\w+)\s*(?:#.*)?$")
CONSTANT = re.compile(r"^\S+\s+[A-Z_0-9]+\s*=")
PARTS = {"srv": ("Request", "Response"), "action": ("Goal", "Result", "Feedback")}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_interface_is_built_from_its_source_and_commented(path: Path) -> None:
    """A comment is above the field, or above the first line of a group."""
    kind = path.parent.name
    interface = getattr(importlib.import_module(f"dyn_msgs.{kind}"), path.stem)
    generated = [getattr(interface, part, None) for part in PARTS[kind]] if kind in PARTS else [interface]
    for part, text in zip(generated, path.read_text().split("\n---\n"), strict=True):
        lines = [line for line in text.splitlines() if not CONSTANT.match(line)]
        names = [found["name"] for line in lines if (found := FIELD.match(line))]
        assert list(part.get_fields_and_field_types()) == names
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# "), "the interface begins with its purpose"
    covered = False
    for line in lines[1:]:
        covered = line.startswith("#") or (covered and line not in ("", "---"))
        assert covered or line in ("", "---") or "#" in line, f"{path.name}: '{line}' has no comment"


@pytest.mark.parametrize("package", ["dyn_core", "dyn_nodes"])
def test_each_name_at_the_top_of_a_module_is_given_once(package: str) -> None:
    """A second value would change what the functions above it compute, and no tool warns of it."""
    repeated = []
    for path in sorted((ROOT / "src" / package / package).rglob("*.py")):
        targets = [
            target
            for node in ast.parse(path.read_text()).body
            for target in ([node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", []))
        ]
        names = Counter(n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
        repeated += [f"{path.name}: {name}" for name, count in names.items() if count > 1]
    assert not repeated


# Installation by colcon


@pytest.mark.parametrize(
    "pattern",
    ["launch/*.launch.py", "config/*.yaml", "config/robots/*", "config/ros2_control/*", "config/profiles/*"],
)
def test_launch_and_config_are_installed_with_dyn_nodes(pattern: str) -> None:
    share = Path(get_package_share_directory("dyn_nodes"))
    sources = {path.relative_to(ROOT): path.read_bytes() for path in ROOT.glob(pattern)}
    assert sources
    assert sources == {path.relative_to(share): path.read_bytes() for path in share.glob(pattern)}


@pytest.mark.parametrize("package", ["dyn_core", "dyn_msgs", "dyn_nodes"])
def test_packages_are_in_the_ament_index_and_announce_their_types(package: str) -> None:
    assert (Path(get_package_share_directory(package)) / "package.xml").is_file()
    assert list(Path(get_package_prefix(package)).rglob(f"{package}/py.typed")) or package == "dyn_msgs"


def test_the_command_dyn_is_on_the_path(ros_environment: dict[str, str]) -> None:
    done = finished("dyn", "mdh", ROOT / "config" / "robots" / "rrp.urdf", env=ros_environment)
    assert done.returncode == 0, done.stderr
    assert "gamma" in done.stdout


@pytest.mark.parametrize("node", NODES)
def test_each_node_is_installed_as_a_program_with_files(node: str, ros_environment: dict[str, str]) -> None:
    share = Path(get_package_share_directory("dyn_nodes"))
    assert (share / "launch" / f"{node}.launch.py").is_file()
    assert (share / "config" / f"{node}.yaml").is_file()
    program = Path(get_package_prefix("dyn_nodes")) / "lib" / "dyn_nodes" / node
    done = finished(program, "--ros-args", "-p", "description_file:=/no/such.urdf", env=ros_environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"{node}: ")


# The public surface, checks and documentation


@pytest.mark.parametrize("part", SURFACES)
def test_the_public_surface_agrees_with_the_golden_file(part: str, ros_environment: dict[str, str]) -> None:
    expected, found = golden_file(part).read_text(), SURFACES[part]()
    if found != expected:
        names = golden_file(part).name, "now"
        changes = difflib.unified_diff(expected.splitlines(), found.splitlines(), *names, lineterm="", n=4)
        meant = "If this is meant: python test/public_surface.py, and say it in CHANGELOG.md."
        pytest.fail("\n".join(["the public surface has changed", *changes, meant]), pytrace=False)


def test_pre_commit_runs_exactly_the_checks_of_make_lint() -> None:
    text = (lint.ROOT / ".pre-commit-config.yaml").read_text()
    (repository,) = yaml.safe_load(text)["repos"]
    assert repository["repo"] == "local"
    assert re.findall(r"tools/lint\.py (\w+)'", text) == list(lint.CHECKS)
    assert {hook["language"] for hook in repository["hooks"]} == {"system", "pygrep"}


SAFETY = ROOT / "docs" / "safety.md"
PROMISE = re.compile(r"(?:\(`(?P<item>[a-z0-9-]+)`\)|\| `(?P<row>[a-z0-9-]+)` \|)$")
HEAD = re.compile(r"\| (?:input|event).*\| promise \|$|\|[-|]+\|$")


def promises() -> list[str]:
    """Return the keys of the page on safety; each table row and each list item has one."""
    title, how_to_read, *sections = re.split(r"^## ", SAFETY.read_text(), flags=re.MULTILINE)
    assert title.startswith("# ")
    assert how_to_read.startswith("How to read this page\n")
    keys = []
    for section in sections:
        _, text = section.split("\n", 1)
        for line in filter(None, text.replace("\n  ", " ").split("\n")):
            if HEAD.match(line) or line == ">" or line.startswith("> "):
                continue
            found = PROMISE.search(line)
            assert line.startswith(("* ", "| ")), f"a promise is a list item or a table row: {line}"
            assert found, f"this promise has no key: {line}"
            keys.append(found["item"] or found["row"])
    return keys


def promised_by_tests() -> set[str]:
    """Return the keys that tests carry in `pytest.mark.promise(...)`."""
    files = [*ROOT.glob("test/test_*.py"), *ROOT.glob("src/*/test/test_*.py")]
    marks = (mark for file in files for mark in re.findall(r"mark\.promise\(([^)]*)\)", file.read_text()))
    return {key for mark in marks for key in re.findall(r'"([^"]+)"', mark)}


def test_each_promise_of_the_page_on_safety_has_a_test_and_each_marker_a_promise() -> None:
    keys, tested = promises(), promised_by_tests()
    assert len(keys) > 100
    assert len(set(keys)) == len(keys), "each key stands once"
    assert sorted(set(keys) - tested) == [], "these promises have no test"
    assert sorted(tested - set(keys)) == [], "the page does not have these promises"


@pytest.mark.exhaustive
def test_half_a_minute_at_1_khz() -> None:
    """A short `make soak`: memory, rates and stale data."""
    options = ("--strict", "--only", "soak", "--soak", "30")
    done = finished(sys.executable, ROOT / "bench" / "run_nodes.py", *options, limit_s=3600.0)
    assert done.returncode == 0, done.stdout + done.stderr
