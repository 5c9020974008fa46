# SPDX-License-Identifier: Apache-2.0
"""The C compiler of this machine, and the cache of compiled libraries on disk.

The key of a library is a hash of everything that it was made from; its SHA-256 is stored beside it, so that a
truncated or altered entry is made again. Entries are written under other names and renamed, so that several
processes can share the cache. Loading a library runs it: a directory that others can write to is not used.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dyn_core.core.errors import DynError

# Optimisation passes that find nothing in straight-line code, where each expression stands once. Without them
# compiling takes four fifths of the time, and the libraries are as fast. tree-pta and gcse are needed.
# Without the first, small programs, as those of excitation, would take a third more time; without the second,
# programs with parameters at run time a tenth.
USELESS_PASSES = (
    *("tree-pre", "code-hoisting", "tree-dse", "tree-vrp", "thread-jumps", "tree-tail-merge"),
    *("store-merging", "crossjumping", "tree-dominator-opts"),
    *("ipa-icf", "ipa-vrp", "ipa-bit-cp"),
)
# These flags change no result: errno is never read. None lets the compiler assume that there is no NaN.
# Alignment makes the time of a function independent of the others in its library, up to a fifth else.
FLAGS = (
    *("-O2", "-march=native", "-fno-math-errno", "-fPIC", "-shared", "-w"),
    *("-falign-functions=64", "-falign-loops=32"),
    *(f"-fno-{name}" for name in USELESS_PASSES),
)
LIMIT_S = 600.0
MEMORY_EXHAUSTED = "compiler-memory-exhausted"
"""Code of the error for a program that is too large for the memory that the compiler may use."""
_NO_MEMORY = re.compile("out of memory|memory exhausted|bad_alloc", re.IGNORECASE)
_LIMITED = ("/bin/sh", "-c", f'ulimit -t {LIMIT_S:.0f}; exec "$@"', "sh")
"""Before a compiler: a limit of processor time, which also ends one whose caller was ended by kill -9."""


class NoCompiler(DynError):
    """Nothing can be compiled on this machine."""


@dataclass(frozen=True)
class Compiler:
    """A compiler: command, arguments that follow it, and a text that tells compilers and machines apart."""

    command: tuple[str, ...]
    identity: str
    flags: tuple[str, ...] = FLAGS

    def key(self, source: str) -> str:
        """Return the key of the library of a source."""
        return hashlib.sha256(f"{self.identity}\0{source}".encode()).hexdigest()

    def library(self, source: str) -> bytes:
        """Return the shared library of a source."""
        with self.compiling(source) as finished:
            return finished()

    @contextlib.contextmanager
    def compiling(self, source: str) -> Iterator[Callable[[], bytes]]:
        """Start to compile a source; yield a function that waits for the shared library.

        The compiler ends with the block, also where it hangs and the block is interrupted.
        """
        with tempfile.TemporaryDirectory(prefix="dyn-") as folder, contextlib.ExitStack() as stack:
            c, so, errors = (Path(folder, f"program.{kind}") for kind in ("c", "so", "err"))
            command = [*_LIMITED, *self.command, *self.flags, *include_flags(), str(c), "-o", str(so), "-lm"]
            try:
                c.write_text(source)
                with errors.open("w") as file, _signals_deferred():
                    process = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=file,
                        start_new_session=True,
                    )
                    stack.callback(_end, process)
                    _RUNNING.add(process)
            except OSError as error:
                raise self._failed(error) from error

            def finished() -> bytes:
                try:
                    code = process.wait(LIMIT_S)
                    if code == 0 and so.exists():
                        return so.read_bytes()
                    lines = errors.read_text(errors="replace").strip().splitlines()
                except (OSError, subprocess.TimeoutExpired) as error:
                    raise self._failed(error) from error
                if any(_NO_MEMORY.search(line) for line in lines):
                    raise NoCompiler(MEMORY_EXHAUSTED, command=shlex.join(self.command))
                raise self._failed(next(iter(lines), f"exit code {code}" if code else "it made nothing"))

            yield finished

    def _failed(self, reason: object) -> NoCompiler:
        return NoCompiler("compiler-failed", command=shlex.join(self.command), reason=reason)


_RUNNING: set[subprocess.Popen[bytes]] = set()
"""Compilers that run now, each in a process group of its own with the programs that it calls."""


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def _signals_deferred() -> Iterator[None]:
    """Handle signals after the block: in the middle of a start, one would leave a compiler running.

    Signals without a handler of Python, which end the process at once, are left alone.
    """
    before = {number: handler for number in _ENDING if callable(handler := signal.getsignal(number))}
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread only
        return
    pending: list[int] = []
    for number in before:
        signal.signal(number, lambda number, _: pending.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for came in dict.fromkeys(pending):
            signal.raise_signal(came)


def end_compilers() -> None:
    """End the compilers that run now, for a process that ends at once."""
    for process in list(_RUNNING):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    _RUNNING.discard(process)


@functools.cache
def find_compiler(cc: str | None = None, more_flags: str = "") -> Compiler:
    """Return the compiler of the variable CC (given as `cc`), or cc, gcc or clang, with additional flags."""
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        raise NoCompiler("python-headers-missing", folder=include)
    for candidate in [cc] if cc else ["cc", "gcc", "clang"]:
        words = _words("CC", candidate)
        if words and (program := shutil.which(words[0])):
            flags = (*FLAGS, *_words("DYN_CFLAGS", more_flags))
            return Compiler((program, *words[1:]), _identity(program, [*words[1:], *flags]), flags)
    raise NoCompiler("named-compiler-missing", compiler=cc) if cc else NoCompiler("compiler-missing")


def _words(variable: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise NoCompiler("command-malformed", variable=variable, given=text, reason=error) from error


def _identity(program: str, arguments: list[str]) -> str:
    path = Path(program).resolve()
    status = path.stat()
    parts = (
        *(str(path), str(status.st_size), str(status.st_mtime_ns), *arguments),
        *(sys.version, str(sysconfig.get_config_var("EXT_SUFFIX")), np.__version__, *include_flags()),
        *(platform.machine(), _processor()),
    )
    return "\n".join(parts)


def _processor() -> str:
    """Return what -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    keys = ("model name", "flags")
    return "\n".join(next((line for line in lines if line.startswith(key)), "") for key in keys)


def include_flags() -> tuple[str, ...]:
    """Return the include paths of Python and NumPy."""
    return ("-I", sysconfig.get_paths()["include"], "-I", np.get_include())


# The cache on disk

MOST_BYTES = 1_000_000_000
"""Greatest size of the libraries in the cache (bytes): some thousand programs."""


class CacheUnusable(DynError):
    """The cache directory cannot be used."""


def directory() -> Path:
    """Return the cache directory: DYN_CACHE_DIR, or dyn_core in the user's cache."""
    if chosen := os.environ.get("DYN_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dyn_core"


def prepared_directory() -> Path:
    """Return the directory, created if necessary, readable and writable by this user alone."""
    path = directory()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError) as error:
        raise CacheUnusable("cache-not-created", path=path, reason=error) from error
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheUnusable("cache-writable-by-others", path=path)
    for parent in path.resolve().parents:
        if _others_can_replace_in(parent):
            raise CacheUnusable("cache-below-writable-directory", path=path, parent=parent)
    return path


def _others_can_replace_in(directory: Path) -> bool:
    """Return whether another user can rename what is in a directory, which the sticky bit of /tmp prevents.

    The group of the user counts as the user: many systems give each user a group.
    """
    status = directory.stat()
    if status.st_mode & stat.S_ISVTX:
        return False
    of_group = status.st_mode & stat.S_IWGRP and status.st_gid not in (os.getgid(), 0)
    return bool(status.st_mode & stat.S_IWOTH or of_group)


def find(folder: Path, key: str) -> Path | None:
    """Return the library of a key if it exists and is undamaged."""
    library, checksum = folder / f"{key}.so", folder / f"{key}.sha256"
    try:
        whole = checksum.read_text() == _digest(library.read_bytes())
    except (OSError, ValueError):
        return None
    if not whole:
        return None
    with contextlib.suppress(OSError):  # the time of the last use, for `prune`
        os.utime(library, (time.time(), library.stat().st_mtime))
    return library


class Usage(NamedTuple):
    """Contents of a cache."""

    programs: int
    size: int  # bytes


def usage(folder: Path) -> Usage:
    """Return what a cache holds."""
    sizes = [size for _, size, _ in _entries(folder)]
    return Usage(len(sizes), sum(sizes))


def prune(folder: Path, most: int = MOST_BYTES) -> Usage:
    """Remove the programs that were not used for the longest time, down to `most` bytes; return what went."""
    entries = sorted(_entries(folder))
    excess = sum(size for _, size, _ in entries) - most
    programs, removed = 0, 0
    for _, size, library in entries:
        if removed >= excess:
            break
        for file in (library, library.with_suffix(".sha256")):
            with contextlib.suppress(OSError):  # another process has removed it
                file.unlink()
        programs, removed = programs + 1, removed + size
    return Usage(programs, removed)


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """Return time of the last use (s), size (bytes) and path of each library of a cache."""
    found = []
    for library in folder.glob("*.so"):
        with contextlib.suppress(OSError):
            status = library.stat()
            found.append((status.st_atime, status.st_size, library))
    return found


def put(folder: Path, key: str, library: bytes) -> Path:
    """Store a library under a key and return its path."""
    target = folder / f"{key}.so"
    try:
        _write(target, library)
        _write(folder / f"{key}.sha256", _digest(library).encode())
    except OSError as error:
        # The temporary file's name is left out: a repeated message is logged once.
        reason = error.strerror or type(error).__name__
        raise CacheUnusable("cache-not-writable", path=folder, reason=reason) from error
    return target


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
