# SPDX-License-Identifier: Apache-2.0
"""Programs compiled to extension modules of Python."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from types import ModuleType

from dyn_core.codegen import c_compiler as cache
from dyn_core.codegen.c_source import c_source
from dyn_core.codegen.compiler import Compiler, NoCompiler, chosen_by_user, find_compiler
from dyn_core.codegen.traced_program import Program

_log = logging.getLogger("dyn_core")


def c_functions(programs: Sequence[Program]) -> list[ModuleType]:
    """Answer the programs as modules with `bind` and `into`; NoCompiler where they cannot be compiled.

    What is in the cache is loaded; the rest is compiled, several at once.
    """
    return _modules([module_source(program) for program in programs])


def c_module(source: str) -> ModuleType:
    """Answer the module of a C source that is no program; NoCompiler where it cannot be compiled."""
    return _modules([source])[0]


def _modules(sources: Sequence[str]) -> list[ModuleType]:
    compiler = find_compiler(chosen_by_user())
    folder = _folder()
    keys = [compiler.key(source) for source in sources]
    libraries = {key: found for key in keys if (found := cache.find(folder, key)) is not None}
    missing = {key: source for key, source in zip(keys, sources, strict=True) if key not in libraries}
    if missing:
        libraries |= _compiled(compiler, folder, missing)
    return [
        _loaded_or_made_again(compiler, libraries[key], key, source)
        for key, source in zip(keys, sources, strict=True)
    ]


def module_source(program: Program) -> str:
    """Answer the whole C source of the module of a program."""
    before = ["closure.h"] if program.closure else []
    after = ["stepping.h"] if program.stepping else []
    headers = ("prelude.h", *before, "module.h", *after, "functions.h", "definition.h")
    texts = [hand_written(name) for name in headers]
    return "\n".join((texts[0], c_source(program), *texts[1:]))


def hand_written(name: str) -> str:
    """Answer a file of C that is written by hand."""
    return (Path(__file__).parent / "c" / name).read_text()


def _compiled(compiler: Compiler, folder: Path, sources: Mapping[str, str]) -> dict[str, Path]:
    """Compile sources, several at once, and answer where the libraries are, by the same keys."""
    # Only here imported: what is in the cache needs no threads.
    from concurrent.futures import ThreadPoolExecutor

    # The largest first: no processor waits in the end for one that has just begun it.
    keys = sorted(sources, key=lambda key: -len(sources[key]))
    with ThreadPoolExecutor(max_workers=min(len(keys), os.cpu_count() or 1)) as pool:
        libraries = pool.map(lambda key: _put(compiler, folder, key, sources[key]), keys)
        return dict(zip(keys, libraries, strict=True))


def _put(compiler: Compiler, folder: Path, key: str, source: str) -> Path:
    library = compiler.library(source)
    try:
        return cache.put(folder, key, library)
    except cache.CacheUnusable as problem:
        _warn_once(f"{problem}; compiled programs are kept until this process ends")
        return cache.put(_own_folder(), key, library)


def _loaded_or_made_again(compiler: Compiler, library: Path, key: str, source: str) -> ModuleType:
    """Load a library; where that fails, as from a directory without execution, one made for this process."""
    try:
        return _loaded(library)
    except NoCompiler as problem:
        if library.parent == _own_folder():
            raise
        _warn_once(f"{problem}; compiled programs are kept until this process ends")
        return _loaded(cache.put(_own_folder(), key, compiler.library(source)))


def _loaded(library: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader("dyn_program", str(library))
    spec = importlib.util.spec_from_loader("dyn_program", loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise NoCompiler(f"the compiled program '{library}' cannot be loaded: {error}") from error
    return module


def _folder() -> Path:
    try:
        return cache.prepared_directory()
    except cache.CacheUnusable as problem:
        _warn_once(f"{problem}; compiled programs are kept until this process ends")
        return _own_folder()


def _own_folder() -> Path:
    """A directory of this process alone, which is removed when it ends."""
    with _guard:
        if not _own_folders:
            _own_folders.append(tempfile.TemporaryDirectory(prefix="dyn-cache-"))
        return Path(_own_folders[0].name)


def _warn_once(sentence: str) -> None:
    """Log a warning that has not been logged before; several threads compile at once."""
    with _guard:
        if sentence not in _said:
            _said.add(sentence)
            _log.warning(sentence)


_guard = Lock()
_said: set[str] = set()
_own_folders: list[tempfile.TemporaryDirectory[str]] = []
