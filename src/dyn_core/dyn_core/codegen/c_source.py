# SPDX-License-Identifier: Apache-2.0
"""C source of straight-line programs, compiled to extension modules of Python and loaded.

The straight-line code stands twice in a source: for `double`, one sample, and for `Lanes`, a vector with one
sample in each lane. Each copy has two parts: the angles whose sines and cosines are needed, and the rest,
which takes the sines and cosines as given. So they are all computed together, several in one instruction.
Values prepared from parameters are one vector of numbers, `p`, for all lanes.

The unknowns of a program, which `closure.h` solves for, are one more vector after its inputs. The code that
determines them, Newton's step, and the other programs of an integration step (`stepping.h`) take one sample.
"""

from __future__ import annotations

import errno
import importlib.machinery
import importlib.util
import json
import logging
import math
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import NamedTuple

from dyn_core.codegen import c_compiler as cache
from dyn_core.codegen.c_compiler import Compiler, NoCompiler, find_compiler
from dyn_core.codegen.straight_line import ARITHMETIC, Dialect, operand, statements
from dyn_core.codegen.traced_program import Closure, Program, Stepping, given_program, open_program
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message
from dyn_core.symbolic.expression_graph import Expr, Op, Symbolic, needed

DIALECT = Dialect(
    ARITHMETIC
    | {Op.SQRT: "OF(sqrt)({0})", Op.SIGN: "OF(sign)({0})", Op.ABS: "OF(abs)({0})"}
    | {Op.LARGER: "OF(larger)({0} - ZERO, {1} - ZERO, {2} - ZERO, {3} - ZERO)"}
)
"""For both kinds of numbers: T is the type, OF(f) the function f of that type."""

ONE_SAMPLE = """
#define T double
#define OF(function) function##_double
#define P(index) p[index]
#define AT(rank, place) place
#define ZERO 0.0
"""
# x - 0.0 turns a number into a vector without an instruction, because it is x for every x.
LANES = """
#define T Lanes
#define OF(function) function##_lanes
#define P(index) (p[index] - ZERO)
#define AT(rank, place) rank
#define ZERO (Lanes){0.0}
"""
NO_MORE = """
#undef T
#undef OF
#undef P
#undef AT
#undef ZERO
"""


def c_source(program: Program) -> str:
    """Return the macros and the code of a program, for one sample and for lanes."""
    sizes = [len(vector) for vector in program.inputs.values()]
    straight, places = open_program(program), _stored(program.results)
    angles, code = _code(straight, places)
    unknowns = len(program.closure.unknowns) if program.closure else 0
    parts = [
        f'#define FUNCTION_NAME "{program.name}"',
        f"#define FUNCTION_DOC {json.dumps(program.documentation)}",
        f"#define INPUTS {len(sizes)}",
        "#define INPUT_NAMES " + ", ".join(f'"{name}"' for name in program.inputs),
        f"#define UNKNOWNS {unknowns}",
        f"#define VECTORS {len(straight.inputs)}",
        f"#define VECTOR_SIZES {{{', '.join(map(str, map(len, straight.inputs.values())))}}}",
        f"#define VECTOR_ROWS {{{', '.join(str(program.rows.get(name, 0)) for name in straight.inputs)}}}",
        f"#define VECTOR_TOTAL {sum(sizes) + unknowns}",
        f"#define RESULTS {len(program.results)}",
        f"#define RESULT_SHAPE {{{', '.join(map(str, program.shape))}}}",
        f"#define RESULT_DIMENSIONS {len(program.shape)}",
        f"#define STORED {len(places)}",
        f"#define PLACES {{{', '.join(map(str, places or [0]))}}}",
        f"#define ANGLES {angles}",
        f"#define TUNABLE {int(program.prepared is not None)}",
        f"#define PREPARED {len(program.prepared or ())}",
        f"#define GUARDED {program.guarded}",
        *(ONE_SAMPLE, code, *(_closure_code(program, program.closure) if program.closure else ())),
        *(_stepping_code(program.stepping) if program.stepping else ()),
        NO_MORE,
        *(LANES, code, NO_MORE),
    ]
    return "\n".join(parts)


def _code(program: Program, places: Sequence[int], prefix: str = "") -> tuple[int, str]:
    """Return the number of angles that a program needs, and its two functions."""
    nodes = program.nodes
    trigonometric = [node for node in nodes if node.op in (Op.SIN, Op.COS)]
    angles = list(dict.fromkeys(node.args[0] for node in trigonometric))
    names = {
        node.number: f"in[{i}][{k}]"
        for i, vector in enumerate(program.inputs.values())
        for k, node in enumerate(vector)
    } | {node.number: f"P({k})" for k, node in enumerate(program.prepared or ())}
    rank = {angle.number: k for k, angle in enumerate(angles)}
    for node in trigonometric:
        names[node.number] = f"{'s' if node.op is Op.SIN else 'c'}[{rank[node.args[0].number]}]"
    angle_places = {f"a[{k}]": angle for k, angle in enumerate(angles)}
    stored = {f"out[AT({k}, {place})]": program.results[place] for k, place in enumerate(places)}
    lines = (
        f"static inline void OF({prefix}angles)(",
        "    const T *const *in, const double *restrict p, T *restrict a)",
        *_body(needed(angles), angle_places, names),
        f"static inline void OF({prefix}program)(",
        "    const T *const *in, const double *restrict p, const T *restrict s, const T *restrict c,",
        "    T *restrict out)",
        *_body(nodes, stored, names),
    )
    return len(angles), "\n".join(lines)


def _closure_code(program: Program, closure: Closure) -> list[str]:
    """Return the code for `closure.h`: what determines the unknowns, and a step towards them."""
    equations, given = closure.equations, given_program(program)
    step_angles, step = _code(equations.step, range(len(equations.step.results)), "step_")
    given_angles, given_code = _code(given, range(len(given.results)), "given_")
    assert given_angles == 0, "what determines unknowns is linear in the inputs"
    start, scales = equations.start, equations.scales
    vectors = {
        "START_GIVEN": start[0],
        "START": start[1],
        "GIVEN_SCALES": scales.given,
        "SCALES": scales.unknowns,
        "GIVEN_TURNS": scales.given_turns,
        "TURNS": scales.unknown_turns,
    }
    constants = {
        name: ", ".join("HUGE_VAL" if value == math.inf else repr(value) for value in values)
        for name, values in vectors.items()
    }
    return [
        f"#define GIVEN {len(closure.given)}",
        f"#define STEP_RESULTS {len(equations.step.results)}",
        f"#define STEP_ANGLES {step_angles}",
        *(f"#define {name} {{{values}}}" for name, values in constants.items()),
        *(given_code, step),
    ]


def _stepping_code(stepping: Stepping) -> list[str]:
    """Return the code for `stepping.h`."""
    sum_angles, sum_code = _code(stepping.sum, range(len(stepping.sum.results)), "sum_")
    assert sum_angles == 0, "a weighted sum has no angles"
    passive = stepping.passive
    angles, code = _code(open_program(passive), range(len(passive.results)), "passive_")
    given: tuple[str, ...] = ()
    if passive.closure:
        given = _code(given_program(passive), range(len(passive.closure.given)), "passive_given_")[1:]
    return [
        f"#define SUM_RESULTS {len(stepping.sum.results)}",
        f"#define PASSIVE {stepping.joints}",
        f"#define PASSIVE_SIGNS {stepping.signs}",
        f"#define PASSIVE_RESULTS {len(passive.results)}",
        f"#define PASSIVE_ANGLES {angles}",
        *(sum_code, code, *given),
    ]


def _stored(results: Sequence[Symbolic]) -> list[int]:
    """Return the places of results that the code stores: where most are 0, zeros are written all at once."""
    nonzero = [k for k, result in enumerate(results) if isinstance(result, Expr) or result != 0.0]
    return nonzero if 2 * len(nonzero) < len(results) else list(range(len(results)))


def _body(nodes: Iterable[Expr], results: Mapping[str, Symbolic], names: Mapping[int, str]) -> list[str]:
    """Return the lines of a function that computes results, by where they are stored."""
    stores: dict[str, list[str]] = {}
    for place, result in results.items():
        text = operand(result, DIALECT, names)
        # A number does not become a vector by itself.
        value = text if isinstance(result, Expr) else f"(T){{0.0}} + {text}"
        stores.setdefault(text, []).append(f"    {place} = {value};")
    lines = ["{"]
    # A result is stored as soon as it is known: kept until the end, many would not fit into registers.
    for variable, text in statements(nodes, DIALECT, names):
        lines.append(f"    const T {variable} = {text};")
        if variable in stores:
            lines.extend(stores.pop(variable))
    lines.extend(line for remaining in stores.values() for line in remaining)
    lines.append("}")
    return lines


# Several modules in one file

_HEADERS = """
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <math.h>
#include <numpy/arrayobject.h>
#include <string.h>
"""
_DECLARED = re.compile(
    r"^static (?:[\w*]+ )*?\**(\w+)(?=[\[(;]| =)"
    r"|^\} (\w+);|^typedef \w+ (?:\w+ )*?(\w+)(?=;| __)"
    r"|^WHOLE\((\w+)",
    re.MULTILINE,
)
_OF_BOTH = re.compile(r"^static inline void OF\((\w+)\)", re.MULTILINE)
_LANEWISE = re.compile(r"^LANEWISE\((\w+)\)", re.MULTILINE)
_DEFINED = re.compile(r"^#define (\w+)", re.MULTILINE)
MODULE = "PyInit_dyn_program"


def together(sources: Mapping[str, str]) -> str:
    """Return one C source of the modules of several, by their names.

    Names that a source declares get its number as a suffix; macros end with their source.
    """
    parts = [_HEADERS]
    for number, (module, text) in enumerate(sources.items()):
        names = {name for found in _DECLARED.findall(text) for name in found if name} - {MODULE}
        names.update(f"{name}_{kind}" for name in _OF_BOTH.findall(text) for kind in ("double", "lanes"))
        names.update(f"{name}_lanes" for name in _LANEWISE.findall(text))
        macros = {*names, *_DEFINED.findall(text), MODULE} - set(_DEFINED.findall(_HEADERS))
        parts.append(f"#define {MODULE} PyInit_{module}")
        parts.extend(f"#define {name} {name}_{number}" for name in sorted(names))
        parts.append(text)
        parts.extend(f"#undef {name}" for name in sorted(macros))
    return "\n".join(parts)


# Compilation and loading

_log = logging.getLogger("dyn_core")


def c_functions(programs: Sequence[Program]) -> list[ModuleType]:
    """Return programs as modules with `bind` and `into`; NoCompiler where they cannot be compiled."""
    return c_modules([module_source(program) for program in programs])


def c_modules(sources: Sequence[str]) -> list[ModuleType]:
    """Return the modules of C sources: load those in the cache, compile the others in parallel."""
    compiler = find_compiler(os.environ.get("CC") or None, os.environ.get("DYN_CFLAGS", ""))
    folder = _folder()
    keys = [compiler.key(source) for source in sources]
    libraries = {key: found for key in keys if (found := cache.find(folder, key)) is not None}
    by_key = dict(zip(keys, sources, strict=True))
    if missing := {key: source for key, source in by_key.items() if key not in libraries}:
        libraries |= _compiled(compiler, folder, missing)
    return [_loaded_or_made_again(compiler, libraries[key], key, by_key[key]) for key in keys]


def module_source(program: Program) -> str:
    """Return the whole C source of the module of a program."""
    before = ["closure.h"] if program.closure else []
    after = ["stepping.h"] if program.stepping else []
    headers = ("prelude.h", *before, "module.h", *after, "functions.h", "definition.h")
    texts = [hand_written(name) for name in headers]
    return "\n".join((texts[0], c_source(program), *texts[1:]))


def hand_written(name: str) -> str:
    """Return the text of a hand-written C file."""
    return (Path(__file__).parent / "c" / name).read_text()


def _compiled(compiler: Compiler, folder: Path, sources: Mapping[str, str]) -> dict[str, Path]:
    """Compile sources and return the paths of the libraries, by the same keys.

    Each processor compiles one file, because starting a file, reading the headers of Python and NumPy, and
    linking take as long as compiling a small program.
    """
    shares: list[dict[str, str]] = [{} for _ in range(min(len(sources), os.cpu_count() or 1))]
    # The largest first, so that no processor begins it when the others are done.
    for key in sorted(sources, key=lambda key: -len(sources[key])):
        min(shares, key=lambda share: sum(map(len, share.values())))[key] = sources[key]
    with ExitStack() as stack:
        running = [(share, stack.enter_context(compiler.compiling(_together(share)))) for share in shares]
        parts = [_put(folder, share, finished()) for share, finished in running]
    cache.prune(folder)
    return {key: path for part in parts for key, path in part.items()}


def _together(sources: Mapping[str, str]) -> str:
    return together({_module_name(key): text for key, text in sources.items()})


def _put(folder: Path, sources: Mapping[str, str], library: bytes) -> dict[str, Path]:
    """Store the library of sources under each of their keys."""
    try:
        return {key: cache.put(folder, key, library) for key in sources}
    except cache.CacheUnusable as problem:
        _warn_once(problem)
        return {key: cache.put(_own_folder(), key, library) for key in sources}


def _module_name(key: str) -> str:
    return f"dyn_program_{key[:16]}"


def _loaded_or_made_again(compiler: Compiler, library: Path, key: str, source: str) -> ModuleType:
    """Load a library; where that fails, as on a file system without execution, make one for this process."""
    try:
        return _loaded(library)
    except NoCompiler as problem:
        if library.parent == _own_folder():
            raise
        _warn_once(problem)
        return _loaded(_compiled(compiler, _own_folder(), {key: source})[key])


class Library(NamedTuple):
    """A compiled program for another process of this user."""

    key: str
    content: bytes | None  # the library; None where it is in the cache


def kept_library(module: ModuleType) -> Library:
    """Return the library of a module that was loaded here."""
    path = Path(str(module.__file__))
    return Library(path.stem, path.read_bytes() if path.parent == _own_folder() else None)


def library_module(library: Library) -> ModuleType:
    """Return the module of a library that another process has compiled.

    Raises:
        NoCompiler: it was removed meanwhile, or cannot be loaded.
    """
    key, content = library
    if content is not None:
        return _loaded(cache.put(_own_folder(), key, content))
    folder = _folder()
    path = cache.find(folder, key)
    if path is None:
        path = folder / f"{key}.so"
        raise NoCompiler("compiled-program-not-loaded", path=path, reason=os.strerror(errno.ENOENT))
    return _loaded(path)


def _loaded(library: Path) -> ModuleType:
    name = _module_name(library.stem)
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise NoCompiler("compiled-program-not-loaded", path=library, reason=error) from error
    return module


def _folder() -> Path:
    try:
        return cache.prepared_directory()
    except cache.CacheUnusable as problem:
        _warn_once(problem)
        return _own_folder()


def _own_folder() -> Path:
    """Return a directory of this process, which is removed when it ends."""
    with _guard:
        if not _own_folders:
            _own_folders.append(tempfile.TemporaryDirectory(prefix="dyn-cache-"))
        return Path(_own_folders[0].name)


def _warn_once(problem: DynError) -> None:
    """Log, once for each problem, that the cache is not used; several threads compile at once."""
    warning = Message("programs-not-cached", problem=problem)
    with _guard:
        if warning not in _logged:
            _logged.add(warning)
            _log.warning(warning)


_guard = Lock()
_logged: set[str] = set()
_own_folders: list[tempfile.TemporaryDirectory[str]] = []
