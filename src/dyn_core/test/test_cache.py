# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled programs survives what can happen to it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.codegen import c_backend
from dyn_core.codegen.compiler import NoCompiler
from dyn_core.facade.compile import compiled_or_none
from dyn_core.model.fixed_base.dynamics_programs import traced

RRP = Path(__file__).resolve().parents[3] / "config" / "robots" / "rrp.urdf"
FUNCTIONS = ("gravity_torques", "bias_torques")
"""Two of a model: the cache has an entry for each, and knows nothing of models."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYN_CACHE_DIR", str(tmp_path / "cache"))
    c_backend._said.clear()
    return tmp_path / "cache"


def works() -> bool:
    robot = dyn_core.load_robot(RRP)
    functions = compiled_or_none(robot, [traced(robot, name) for name in FUNCTIONS], "c")
    return functions is not None and np.isfinite(functions[0].run((), np.array([0.1, 0.2, 0.3]))).all()


def test_entries_are_private_and_used_again(cache: Path) -> None:
    assert works()
    assert cache.stat().st_mode & 0o777 == 0o700
    before = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert works()
    assert before == {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert not list(cache.glob(".new-*"))


@pytest.mark.parametrize("damage", ["truncated", "altered", "empty", "no checksum"])
def test_a_damaged_entry_is_made_again(cache: Path, damage: str) -> None:
    """In another process, as this one has the good library open."""
    assert works()
    for library in cache.glob("*.so"):
        data = library.read_bytes()
        library.unlink()
        if damage == "no checksum":
            library.with_suffix(".sha256").unlink()
        content = {"truncated": data[:4096], "altered": b"\x7fELF" + data[9:], "empty": b""}
        library.write_bytes(content.get(damage, data))
    done = run(COMPILE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "c\n"


COMPILE = f"""
import dyn_core
from dyn_core.facade.compile import compiled_or_none
from dyn_core.model.fixed_base.dynamics_programs import traced
robot = dyn_core.load_robot({str(RRP)!r})
print("c" if compiled_or_none(robot, [traced(robot, name) for name in {FUNCTIONS}], "auto") else "python")
"""
MODEL = f"import dyn_core; print(dyn_core.compile_model(dyn_core.load_robot({str(RRP)!r})).backend)"


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_several_processes_compile_the_same_model_at_once(cache: Path) -> None:
    command = [sys.executable, "-c", COMPILE]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["c\n"] * 4


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_directory_that_others_can_write_to_is_not_used(cache: Path, mode: int, caplog) -> None:
    cache.mkdir()
    cache.chmod(mode)
    with caplog.at_level(logging.WARNING, "dyn_core"):
        assert works()
        assert works()
    assert not list(cache.iterdir())
    assert len(caplog.records) == 1
    assert "others can write" in caplog.text


def test_a_directory_that_cannot_be_made_gives_one_warning(
    tmp_path: Path, cache: Path, monkeypatch, caplog
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DYN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING, "dyn_core"):
        assert works()
    assert len(caplog.records) == 1
    assert "cannot be made" in caplog.text


@pytest.mark.parametrize(
    ("number", "reason"), [(13, "Permission denied"), (28, "No space left on device"), (30, "Read-only")]
)
def test_a_directory_that_cannot_be_written_gives_one_warning(
    cache: Path, monkeypatch, caplog, number: int, reason: str
) -> None:
    """The operating system names the temporary file in its error, which is another one each time."""
    real = tempfile.mkstemp
    refused: list[str] = []

    def mkstemp(*args: object, **options: object) -> tuple[int, str]:
        if str(options.get("dir")) != str(cache):
            return real(*args, **options)
        refused.append(f"{cache}/.new-{len(refused)}")
        raise OSError(number, reason, refused[-1])

    monkeypatch.setattr(c_backend.cache.tempfile, "mkstemp", mkstemp)
    with caplog.at_level(logging.WARNING, "dyn_core"):
        assert works()
        assert works()
    assert len(refused) > 1
    (record,) = caplog.records
    assert f"the cache directory '{cache}' cannot be written ({reason})" in record.getMessage()


def test_a_library_that_cannot_be_loaded_is_made_for_this_process(cache: Path, monkeypatch, caplog) -> None:
    """As from a file system that is mounted without execution."""
    real = c_backend._loaded

    def loaded(library: Path):
        if library.parent == cache:
            raise NoCompiler(f"the compiled program in '{cache}' cannot be loaded: not permitted")
        return real(library)

    monkeypatch.setattr(c_backend, "_loaded", loaded)
    with caplog.at_level(logging.WARNING, "dyn_core"):
        assert works()
    assert len(caplog.records) == 1


def test_without_a_compiler_python_takes_over_with_one_line(cache: Path) -> None:
    done = run(MODEL, CC="/no/such/compiler")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "python\n"
    assert len(done.stderr.splitlines()) == 1
    assert "there is no C compiler /no/such/compiler" in done.stderr


def test_a_compiler_that_fails_is_named(cache: Path, monkeypatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(dyn_core.DynError, match="false' failed: exit code 1"):
        works()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 0", "it made nothing"),
        ("printf 'na\\357ve\\n' >&2; exit 1", "na\N{REPLACEMENT CHARACTER}ve"),
        ('while [ "$1" != -o ]; do shift; done; echo text > "$2"', "cannot be loaded"),
        (None, "is no command: No closing quotation"),
    ],
)
def test_odd_compilers_are_said_once_and_python_takes_over(
    cache: Path, tmp_path: Path, script: str | None, reason: str
) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    done = run(MODEL, CC=str(compiler) if script else '"')
    assert (done.returncode, done.stdout) == (0, "python\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert reason in done.stderr.splitlines()[-1]


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 'auto', 'c' or 'python', but it is 'fortran'"):
        dyn_core.compile_model(dyn_core.load_robot(RRP), backend="fortran")
