# SPDX-License-Identifier: Apache-2.0
"""The C compiler of this machine."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dyn_core.core.errors import DynError

# What changes no result: errno is never read. Nothing here lets the compiler assume that there is no NaN.
FLAGS = ("-O2", "-march=native", "-fno-math-errno", "-fPIC", "-shared", "-w")
LIMIT_S = 600.0


class NoCompiler(DynError):
    """Nothing can be compiled here; the sentence says why."""


@dataclass(frozen=True)
class Compiler:
    """A compiler and all that its output depends on.

    Attributes:
        command: the program and the arguments that always go with it.
        identity: distinguishes compilers, machines, and interpreters.
    """

    command: tuple[str, ...]
    identity: str

    def key(self, source: str) -> str:
        """Name the library that comes of a source."""
        return hashlib.sha256(f"{self.identity}\0{source}".encode()).hexdigest()

    def library(self, source: str) -> bytes:
        """Answer the shared library that the compiler makes of a source."""
        try:
            with tempfile.TemporaryDirectory(prefix="dyn-") as folder:
                return self._library(source, Path(folder))
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoCompiler(f"'{shlex.join(self.command)}' failed: {error}") from error

    def _library(self, source: str, folder: Path) -> bytes:
        c, so = folder / "program.c", folder / "program.so"
        c.write_text(source)
        command = [*self.command, *FLAGS, *include_flags(), str(c), "-o", str(so), "-lm"]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False
        )
        if done.returncode or not so.exists():
            otherwise = f"exit code {done.returncode}" if done.returncode else "it made nothing"
            reason = next(iter(done.stderr.strip().splitlines()), otherwise)
            raise NoCompiler(f"'{shlex.join(self.command)}' failed: {reason}")
        return so.read_bytes()


@functools.cache
def find_compiler(cc: str | None = None) -> Compiler:
    """Answer the compiler that the variable CC names (given as `cc`), or cc, gcc or clang."""
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        raise NoCompiler(f"Python.h is not in '{include}': install the headers of this Python (python3-dev)")
    for candidate in [cc] if cc else ["cc", "gcc", "clang"]:
        try:
            words = shlex.split(candidate)
        except ValueError as error:
            raise NoCompiler(f"the variable CC is {candidate!r}, which is no command: {error}") from error
        if words and (program := shutil.which(words[0])):
            return Compiler((program, *words[1:]), _identity(program, words[1:]))
    raise NoCompiler(f"there is no C compiler{f' {cc}' if cc else ''}: install one (build-essential)")


def _identity(program: str, arguments: list[str]) -> str:
    path = Path(program).resolve()
    status = path.stat()
    parts = (
        *(str(path), str(status.st_size), str(status.st_mtime_ns), *arguments, *FLAGS),
        *(sys.version, str(sysconfig.get_config_var("EXT_SUFFIX")), np.__version__, *include_flags()),
        *(platform.machine(), _processor()),
    )
    return "\n".join(parts)


def _processor() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    described = (
        next((line for line in lines if line.startswith(key)), "") for key in ("model name", "flags")
    )
    return "\n".join(described)


def include_flags() -> tuple[str, ...]:
    """Where the headers of Python and NumPy are."""
    return ("-I", sysconfig.get_paths()["include"], "-I", np.get_include())


def chosen_by_user() -> str | None:
    """The compiler that the environment asks for."""
    return os.environ.get("CC") or None
