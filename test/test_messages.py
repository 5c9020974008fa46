# SPDX-License-Identifier: Apache-2.0
"""The interfaces of dyn_msgs: complete, commented, and carried by DDS as they are defined."""

from __future__ import annotations

import importlib
import re

import pytest
from robot_files import ROOT

AGREED = {
    *("JointTorques", "JointReference", "DynamicParameters", "IdentificationResult"),
    "Intervention",
    *("IdentificationProgress", "Payload", "ExternalWrench", "ModelInfo"),
}
SOURCES = sorted((ROOT / "src" / "dyn_msgs").glob("*/*.*"))
FIELD = re.compile(r"^(?!#|---|$)(?P<type>\S+)\s+(?P<name>\w+)\s*(?:#.*)?$")
CONSTANT = re.compile(r"^\S+\s+[A-Z_0-9]+\s*=")


def test_the_agreed_names_exist() -> None:
    messages = importlib.import_module("dyn_msgs.msg")
    assert set(dir(messages)) >= AGREED


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_interface_is_built_from_this_source(path) -> None:
    module = importlib.import_module(f"dyn_msgs.{path.parent.name}")
    interface = getattr(module, path.stem)
    generated = {
        "msg": (interface,),
        "srv": tuple(getattr(interface, part, None) for part in ("Request", "Response")),
        "action": tuple(getattr(interface, part, None) for part in ("Goal", "Result", "Feedback")),
    }[path.parent.name]
    for part, text in zip(generated, path.read_text().split("\n---\n"), strict=True):
        names = [
            m["name"] for line in text.splitlines() if not CONSTANT.match(line) and (m := FIELD.match(line))
        ]
        assert list(part.get_fields_and_field_types()) == names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_field_is_commented(path) -> None:
    """A comment stands above the field or above the group of lines that it begins."""
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# "), "the interface begins with what it is for"
    covered = False
    for line in lines[1:]:
        if line.startswith("#"):
            covered = True
        elif not line or line == "---":
            covered = False
        else:
            assert covered or "#" in line, f"{path.name}: '{line}' has no comment"
