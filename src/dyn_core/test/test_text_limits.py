# SPDX-License-Identifier: Apache-2.0
"""Files beside logs: readers refuse longer ones than docs/logs.md says, by name, and take linear time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from growth_of_time import assert_nearly_linear
from robots import ROBOTS

import dyn_core
from dyn_core.excitation.excitation_settings import read_boxes
from dyn_core.logs.mapping.log_map import read_log_map

RRP = dyn_core.load_robot(ROBOTS / "rrp.urdf")
READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "par": (".par", dyn_core.load_robot),
    "side file": (".yaml", lambda path: dyn_core.load_robot(ROBOTS / "rrp.urdf", loops=path)),
    "limits": (".yaml", lambda path: dyn_core.read_limits(path, RRP)),
    "map": (".yaml", read_log_map),
    "boxes": (".yaml", read_boxes),
    "parameters": (".yaml", dyn_core.load_parameters),
}
LONGEST = {".par": ("par-text-too-long", 1_000_000), ".yaml": ("yaml-too-long", 200_000)}


def refusal(read: Callable[[Path], Any], path: Path) -> tuple[str, str, int]:
    """Return code, file and limit of the error of a reader."""
    with pytest.raises(dyn_core.DynError) as caught:
        read(path)
    entries = caught.value.entries()
    return entries["code"], entries["file"], entries["values"]["limit"]


@pytest.mark.parametrize("name", READERS)
def test_a_longer_file_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    suffix, read = READERS[name]
    code, longest = LONGEST[suffix]
    path = tmp_path / f"long{suffix}"
    comment = {".par": "(* {} *)", ".yaml": "# {}\n"}[suffix]
    path.write_text(comment.format("x" * longest))
    assert refusal(read, path) == (code, str(path), longest)
    path.write_bytes(b" " * 20_000_001)
    assert refusal(read, path) == ("description-file-too-large", str(path), 20_000_000)


def _listed(head: str, entry: str, tail: str = "") -> Callable[[int], str]:
    return lambda count: head + "".join(entry.format(k) for k in range(count)) + tail


REPEATED: dict[str, tuple[str, Callable[[int], str]]] = {
    "passive joints": ("side file", _listed("passive: [", "a{0},", "b]\n")),
    "friction": ("side file", _listed("friction:\n", "  a{0}: {{viscous: 1}}\n")),
    "boxes": ("boxes", _listed("boxes:\n", "  - {{name: b{0}, joints: {{turn: [0, 1]}}}}\n")),
    "joints of a map": ("map", _listed("joints:\n", "  j{0}: {{position: q{0}}}\n")),
    "couplings": (
        "map",
        _listed(
            "joints: {a: {position: q}}\ncoupling:\n",
            "  - {{joints: [a{0}, b{0}], matrix: [[1, 0], [0, 1]]}}\n",
        ),
    ),
    "curve": ("limits", _listed("joints:\n  turn: {curve: [", "[{0}, 1], ", "[1e6, 1]]}\n")),
    "entries of .par": ("par", _listed("(* *)", "a{0} = 1\n")),
    "parameters": ("parameters", _listed("robot: r\nparameters:\n", "  M{0}: {{value: 1}}\n")),
}


@pytest.mark.parametrize("name", REPEATED)
def test_time_grows_with_the_number_of_entries(name: str, tmp_path: Path) -> None:
    """Eight times as many entries take at most 24 times as long; with the square of their number it is 64."""
    reader, text = REPEATED[name]
    suffix, read = READERS[reader]
    path = tmp_path / f"many{suffix}"

    def work(count: int) -> Callable[[], None]:
        path.write_text(text(count))

        def read_it() -> None:
            with contextlib.suppress(dyn_core.DynError):
                read(path)

        return read_it

    most = next(n for n in range(40_000, 0, -800) if len(text(n)) < LONGEST[suffix][1])
    assert_nearly_linear(work, most)
