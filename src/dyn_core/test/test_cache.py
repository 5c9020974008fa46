# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled programs: use, damage, races, permissions and missing compilers."""

from __future__ import annotations

import errno
import json
import logging
import os
import select
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from dyn_process import started
from refusals import refused
from robots import ROBOTS

import dyn_core
from dyn_core.cli.main import main
from dyn_core.codegen import c_compiler
from dyn_core.codegen import c_source as c_backend
from dyn_core.codegen.c_compiler import NoCompiler
from dyn_core.core.errors import DynError
from dyn_core.core.messages import sentence
from dyn_core.model.builder import compiled_or_none
from dyn_core.model.fixed_base.dynamics_programs import traced

RRP = ROBOTS / "rrp.urdf"
FUNCTIONS = ("gravity_torques", "bias_torques")
"""Two programs of a model: the cache has one entry for each program."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DYN_CFLAGS", raising=False)
    c_backend._logged.clear()
    return tmp_path / "cache"


def works() -> bool:
    robot = dyn_core.load_robot(RRP)
    functions = compiled_or_none(robot.name, [traced(robot, name) for name in FUNCTIONS], "c")
    return functions is not None and np.isfinite(functions[0].run((), np.array([0.1, 0.2, 0.3]))).all()


def test_entries_are_private_and_reused(cache: Path) -> None:
    assert works()
    assert cache.stat().st_mode & 0o777 == 0o700
    before, after = ((works(), {x.name: x.stat().st_mtime_ns for x in cache.iterdir()}) for _ in range(2))
    assert before == after
    assert not list(cache.glob(".new-*"))


def test_other_flags_make_other_entries(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, entries in (("", 2), ("-O0 -DX='1 2'", 4), ("", 4)):
        monkeypatch.setenv("DYN_CFLAGS", flags)
        assert works()
        assert len(list(cache.glob("*.so"))) == entries
    monkeypatch.setenv("DYN_CFLAGS", "'")
    with refused("command-malformed", variable="DYN_CFLAGS", given="'"):
        works()


@pytest.mark.parametrize("damage", ["truncated", "altered", "empty", "no checksum"])
def test_a_damaged_entry_is_made_again(cache: Path, damage: str) -> None:
    """In another process, as this one has the intact library loaded."""
    assert works()
    for library in cache.glob("*.so"):
        data = library.read_bytes()
        library.unlink()
        if damage == "no checksum":
            library.with_suffix(".sha256").unlink()
        content = {"truncated": data[:4096], "altered": b"\x7fELF" + data[9:], "empty": b""}
        library.write_bytes(content.get(damage, data))
    done = run(COMPILE)
    assert (done.returncode, done.stdout) == (0, "c\n"), done.stderr


COMPILE = f"""
import dyn_core
from dyn_core.model.builder import compiled_or_none
from dyn_core.model.fixed_base.dynamics_programs import traced
robot = dyn_core.load_robot({str(RRP)!r})
programs = [traced(robot, name) for name in {FUNCTIONS}]
print("c" if compiled_or_none(robot.name, programs, "auto") else "python")
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command, env = [sys.executable, "-c", code], {**os.environ, **variables}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_several_processes_compile_the_same_model_at_once(cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert [done.stdout for done in pool.map(run, [COMPILE] * 4)] == ["c\n"] * 4


def unused_cache(caplog: pytest.LogCaptureFixture) -> DynError:
    """Compile twice, and return why the cache was not used, which is logged once."""
    with caplog.at_level(logging.WARNING, "dyn_core"):
        assert (works(), works()) == (True, True)
    (record,) = caplog.records
    assert record.msg.code == "programs-not-cached"
    return record.msg.values["problem"]


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_directory_that_others_can_write_to_is_not_used(cache: Path, mode: int, caplog) -> None:
    cache.mkdir()
    cache.chmod(mode)
    assert unused_cache(caplog).code == "cache-writable-by-others"
    assert not list(cache.iterdir())


def test_a_directory_that_cannot_be_made_gives_one_warning(cache: Path, monkeypatch, caplog) -> None:
    (path := cache.parent / "file" / "cache").parent.write_text("")
    monkeypatch.setenv("DYN_CACHE_DIR", str(path))
    problem = unused_cache(caplog)
    assert (problem.code, problem.values["path"]) == ("cache-not-created", path)


@pytest.mark.parametrize("error", [errno.EACCES, errno.ENOSPC, errno.EROFS])
def test_a_directory_that_cannot_be_written_gives_a_warning(cache: Path, monkeypatch, caplog, error) -> None:
    """The error of the operating system contains the name of the temporary file, which differs each time."""
    real, reason, tried = tempfile.mkstemp, os.strerror(error), []

    def mkstemp(*args: object, **options: object) -> tuple[int, str]:
        if str(options.get("dir")) != str(cache):
            return real(*args, **options)
        tried.append(f"{cache}/.new-{len(tried)}")
        raise OSError(error, reason, tried[-1])

    monkeypatch.setattr(c_backend.cache.tempfile, "mkstemp", mkstemp)
    problem = unused_cache(caplog)
    assert len(tried) > 1
    assert (problem.code, problem.values) == ("cache-not-writable", {"path": cache, "reason": reason})


def test_a_library_that_cannot_be_loaded_is_compiled_again(cache: Path, monkeypatch, caplog) -> None:
    real = c_backend._loaded

    def loaded(library: Path):
        if library.parent == cache:
            raise NoCompiler("compiled-program-not-loaded", path=cache, reason="not permitted")
        return real(library)

    monkeypatch.setattr(c_backend, "_loaded", loaded)
    assert unused_cache(caplog).code == "compiled-program-not-loaded"


def test_without_a_compiler_python_is_used_with_one_warning(cache: Path) -> None:
    robot = f"dyn_core.load_robot({str(RRP)!r})"
    done = run(f"import dyn_core; print(dyn_core.compile_model({robot}).backend)", CC="/no/such/compiler")
    assert (done.returncode, done.stdout) == (0, "python\n"), done.stderr
    problem = NoCompiler("named-compiler-missing", compiler="/no/such/compiler")
    assert done.stderr == sentence("model-in-python", {"robot": "rrp", "problem": problem}) + "\n"


COMPILERS = [
    ("exit 0", "compiler-failed", "it made nothing"),
    ("exit 1", "compiler-failed", "exit code 1"),
    ("printf 'na\\357ve\\n' >&2; exit 1", "compiler-failed", "na\N{REPLACEMENT CHARACTER}ve"),
    ('while [ "$1" != -o ]; do shift; done; echo text > "$2"', "compiled-program-not-loaded", ""),
    (None, "command-malformed", "No closing quotation"),
]


@pytest.mark.parametrize(("script", "code", "reason"), COMPILERS)
def test_unusable_compilers_are_named_and_python_is_used(
    cache: Path, monkeypatch, caplog, script: str | None, code: str, reason: str
) -> None:
    compiler = cache.parent / "compiler"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler) if script else '"')
    with refused(code) as caught:
        works()
    assert reason in str(caught.value.values["reason"])
    assert code != "compiler-failed" or caught.value.values["command"] == str(compiler)
    with caplog.at_level(logging.WARNING, "dyn_core"):
        model = dyn_core.compile_model(dyn_core.load_robot(RRP), functions=FUNCTIONS)
    assert model.backend == "python"
    last = caplog.records[-1].msg
    assert (last.code, last.values["robot"], last.values["problem"].code) == ("model-in-python", "rrp", code)


def test_a_program_that_is_too_large_for_the_compiler_is_not_run_in_python(cache: Path, monkeypatch) -> None:
    compiler = cache.parent / "compiler"
    compiler.write_text("#!/bin/sh\necho 'cc1: out of memory allocating 65536 bytes' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with refused("compiler-memory-exhausted", command=str(compiler)):
        dyn_core.compile_model(dyn_core.load_robot(RRP), functions=FUNCTIONS)


def test_an_unknown_backend_is_refused() -> None:
    with refused("argument-choice-unknown", known="'auto', 'c' or 'python'", given="fortran"):
        dyn_core.compile_model(dyn_core.load_robot(RRP), backend="fortran")


def test_a_cache_below_a_directory_that_others_can_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    monkeypatch.setenv("DYN_CACHE_DIR", str(open_to_all / "cache"))
    for mode in (0o777, 0o757):
        open_to_all.chmod(mode)
        with refused("cache-below-writable-directory", parent=open_to_all):
            c_compiler.prepared_directory()
    for mode in (0o1777, 0o755):  # with the sticky bit, others cannot rename the cache
        open_to_all.chmod(mode)
        assert c_compiler.prepared_directory() == open_to_all / "cache"


def test_least_recently_used_programs_are_removed(tmp_path: Path) -> None:
    for k in range(5):
        c_compiler.put(tmp_path, f"key{k}", bytes(1000))
        os.utime(tmp_path / f"key{k}.so", (k, k))
    assert c_compiler.find(tmp_path, "key0") is not None  # used now
    assert c_compiler.prune(tmp_path, 5000) == (0, 0)
    assert c_compiler.prune(tmp_path, 2500) == (3, 3000)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"key{k}.{kind}" for k in (0, 4) for kind in ("sha256", "so")
    ]


def test_the_command_shows_and_clears_the_cache(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert works()
    assert main(["cache", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["directory"], shown["programs"]) == (str(cache), len(FUNCTIONS))
    assert 0 < shown["bytes"] < shown["most"] == 10**9
    assert main(["cache", "--clear"]) == 0
    removed = capsys.readouterr().out
    assert f"removed: {len(FUNCTIONS)} programs" in removed
    assert "holds: 0 programs" in removed
    assert works()


def test_compilers_have_a_limit_of_processor_time(cache: Path) -> None:
    """One that is left behind by kill -9 of its caller ends by itself."""
    compiler, limit = cache.parent / "cc", cache.parent / "limit"
    compiler.write_text(f"#!/bin/sh\nulimit -t > '{limit}'\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(NoCompiler):
        c_compiler.find_compiler(str(compiler)).library("int x;")
    assert float(limit.read_text()) == c_compiler.LIMIT_S


@pytest.mark.parametrize(
    ("number", "code", "sentence"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
def test_a_signal_ends_a_compiler_that_hangs(
    number: signal.Signals, code: int, sentence: str, tmp_path: Path
) -> None:
    compiler, begun, pipe = tmp_path / "cc", tmp_path / "begun", tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    compiler.write_text(f"#!/bin/sh\necho $$ >> {begun}\necho > {pipe}\nsleep 1000\n")
    compiler.chmod(0o700)
    words = ["simulate", str(RRP), "--duration", "1", "-o", str(tmp_path / "out.csv")]
    variables = {**os.environ, "CC": str(compiler), "DYN_CACHE_DIR": str(tmp_path / "cache")}
    program = f"import sys; from dyn_core.cli.main import main; sys.exit(main({words!r}))"
    with started(
        program, env={**variables, "PYTHONPATH": str(Path(dyn_core.__file__).parents[1])}
    ) as process:
        assert select.select([reader], [], [], 60.0)[0]  # a compiler writes to the pipe
        os.close(reader)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, "", f"dyn: {sentence}\n")
    for pid in begun.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
