# SPDX-License-Identifier: Apache-2.0
"""Output directories that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import signal
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from dyn_core.identification.output import result_directory as whole_directory
from dyn_core.identification.output.result_directory import check_place, write_directory

NAMES = ("a.txt", "made.json")
OLD = {"a.txt": "old", "made.json": '{"made_by": "us 1"}'}
NEW = {"a.txt": "new", "made.json": '{"made_by": "us 2"}'}


def contents(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


def put(directory: Path, *, force: bool = False) -> None:
    write_directory(check_place(directory, NAMES, "us", force=force), NEW)


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("before", ["none", "empty", "ours"])
def test_a_directory_is_replaced_as_a_whole(
    tmp_path: Path, before: str, can_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(whole_directory, "_exchanged", lambda one, other: False)
    if before == "ours":
        write_directory(tmp_path / "out", OLD)
    elif before == "empty":
        (tmp_path / "out").mkdir()
    put(tmp_path / "out")
    assert contents(tmp_path / "out") == NEW
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_link_stays_a_link_and_the_working_directory_stays_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell in the directory would otherwise be in a removed directory."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to("real")
    put(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert contents(real) == NEW
    monkeypatch.chdir(real)
    before = real.stat().st_ino
    put(Path())
    put(Path())
    assert real.stat().st_ino == before
    assert contents(real) == NEW


def test_a_mount_and_a_directory_in_one_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are prepared inside the directory, as any other place is on another disk or not writable."""
    beside = tempfile.mkdtemp

    def forbidden(dir: Path, prefix: str) -> str:  # noqa: A002
        if dir == tmp_path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return beside(dir=dir, prefix=prefix)

    monkeypatch.setattr(whole_directory.tempfile, "mkdtemp", forbidden)
    (tmp_path / "out").mkdir()
    put(tmp_path / "out")
    assert contents(tmp_path / "out") == NEW
    with refused("file-unwritable", reason="Permission denied"):
        put(tmp_path / "new")
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "out")
    put(tmp_path / "out")
    assert contents(tmp_path / "out") == NEW


def test_foreign_files_are_refused_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("work")
    with refused("directory-occupied", files=["thesis.tex"]):
        put(tmp_path)
    put(tmp_path, force=True)
    assert contents(tmp_path) == {**NEW, "thesis.tex": "work"}
    (tmp_path / "thesis.tex").unlink()
    for text in ("", "{}", "[]", '{"made_by": "them"}'):
        (tmp_path / "made.json").write_text(text)
        with refused("directory-files-foreign"):
            put(tmp_path)


def test_unusable_paths_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "locked").mkdir(mode=0o500)
    places = {"file": "directory-is-file", "no/out": "directory-missing", "a\0b": "file-unwritable"}
    if os.geteuid() != 0:  # root may write anywhere
        places["locked/out"] = "directory-not-writable"
    for place, code in places.items():
        with refused(code):
            put(tmp_path / place)
    monkeypatch.setattr(whole_directory.os, "access", lambda *given: False)
    with refused("directory-not-writable"):
        put(tmp_path / "out")


@pytest.mark.parametrize("target", ["out", "old"])
def test_a_full_disk_leaves_the_old_directory(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_directory(tmp_path / "old", OLD)
    place = check_place(tmp_path / target, NAMES, "us")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(whole_directory.os, "fsync", full)
    with refused("file-unwritable", reason="No space left on device"):
        write_directory(place, NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert contents(tmp_path / "old") == OLD


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files open at Ctrl-C
@pytest.mark.parametrize("where", ["new", "ours", "others"])
def test_ctrl_c_at_any_moment_leaves_the_old_or_the_new(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGINT comes before each line of the writing code in turn."""
    outcomes = set()
    for interrupted_at in range(1, 400):
        directory = tmp_path / f"{interrupted_at}" / "out"
        directory.parent.mkdir()
        if where == "ours":
            write_directory(directory, OLD)
        elif where == "others":
            write_directory(directory, {**OLD, "mine": "work"})
        before = contents(directory) if directory.exists() else {}
        place = check_place(directory, NAMES, "us", force=True)
        lines = count(1)

        def trace(frame: Any, event: str, _: object, at: int = interrupted_at, lines: Any = lines) -> Any:
            if frame.f_code.co_filename != whole_directory.__file__:
                return None
            if event == "line" and next(lines) == at:
                signal.raise_signal(signal.SIGINT)
            return trace

        interrupted = False
        sys.settrace(trace)
        try:
            write_directory(place, NEW)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
        after = contents(directory) if directory.exists() else {}
        new = {**before, **NEW}
        assert after in (before, new), (interrupted_at, sorted(after))
        outcomes.add((interrupted, after == new))
        if next(lines) <= interrupted_at:
            break
    else:
        pytest.fail("the writing has more lines than were tried")
    assert outcomes >= {(True, False), (False, True)}
