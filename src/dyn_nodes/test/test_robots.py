# SPDX-License-Identifier: Apache-2.0
"""Robots by name or path."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyn_core import DynError
from dyn_nodes import robots


def test_installed_robots_are_found_by_name() -> None:
    assert {"rrp", "rx90", "two_branch"} <= set(robots.names())
    for name in robots.names():
        assert robots.find(name).is_file()


@pytest.mark.parametrize("path", ["arm.urdf", "./arm", "/somewhere/arm.xml"])
def test_paths_are_left_to_their_reader(path: str) -> None:
    assert robots.find(path) == Path(path)


@pytest.mark.parametrize("name", ["rx91", "", "arm.xml"])
def test_an_unknown_name_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(DynError, match=f"no robot named '{name}': choose one of .*rx90.*"):
        robots.find(name)
