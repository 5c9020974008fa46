# SPDX-License-Identifier: Apache-2.0
"""The public names of `dyn_core` as text: signatures, attributes and methods."""

from __future__ import annotations

import ast
import collections.abc
import enum
import importlib
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from robot_files import ROOT

import dyn_core

WIDTH = 100
WRITTEN = {None: "None", type(None): "None", inspect.Parameter.empty: "?", Ellipsis: "..."}
OPERATORS = ("__call__", "__contains__", "__enter__", "__getitem__", "__iter__", "__len__")


def python_surface() -> str:
    """Return every public name of `dyn_core`, with signatures."""
    names = {name: getattr(dyn_core, name) for name in dyn_core.__all__}
    beside = [thing for thing in _documented() if thing not in names.values()]
    written = _Written()
    of_package = [written.described(name, thing) for name, thing in sorted(names.items())]
    of_pages = [written.described(thing.__name__, thing) for thing in beside]
    reached: list[str] = []
    done = {id(thing) for thing in (*names.values(), *beside)}
    while new := [kind for kind in written.seen if id(kind) not in done]:
        done |= {id(kind) for kind in new}
        reached += [written.described(kind.__name__, kind, made_by_users=False) for kind in new]
    pages = ["# Beside it in docs/api.md", *sorted(of_pages)]
    types_ = ["# Types of attributes, arguments and results", *sorted(reached)]
    return together(["# dyn_core", *of_package, *pages, *types_])


def _documented() -> list[Any]:
    """Return the classes and functions that docs/api.md names, by module."""
    text = (ROOT / "docs" / "api.md").read_text()
    paths = re.findall(r"^\.\. auto(?:class|function):: (dyn_core\.\S+)\.(\w+)$", text, re.MULTILINE)
    return [getattr(importlib.import_module(module), name) for module, name in paths]


class _Written:
    """Write classes and functions as text."""

    def __init__(self) -> None:
        self.seen: dict[type, None] = {}  # classes of `dyn_core` that occur as types

    def described(self, name: str, thing: Any, made_by_users: bool = True) -> str:
        """Return the signature of a function, or the public interface of a class."""
        if not isinstance(thing, type):
            return self._call(name, thing)
        base = next(base.__name__ for base in thing.__mro__ if not _ours(base))
        title = f"class {name}" + ("" if base in ("object", "Generic", "Protocol", "ABC") else f"({base})")
        own = [kind for kind in reversed(thing.__mro__) if _ours(kind)]
        attributes = {key: text for kind in own for key, text in self._attributes(kind).items()}
        made, fields = self._constructor(name, thing, attributes) if made_by_users else ([], set())
        methods = []
        for key, member in sorted({key: value for kind in own for key, value in vars(kind).items()}.items()):
            function = getattr(member, "__func__", member)
            if key in attributes or (key.startswith("_") and key not in OPERATORS):
                continue
            if isinstance(member, (property, cached_property)):
                getter = member.fget if isinstance(member, property) else member.func
                attributes[key] = f": {self._type(getter, getter.__annotations__.get('return'))}"
            elif function is not member:
                methods.append("static " + self._call(key, function, bound=isinstance(member, classmethod)))
            elif inspect.isfunction(function):
                methods.append(self._call(key, function, bound=True))
        if issubclass(thing, enum.Enum):
            made = [f"{member.name} = {member.value!r}" for member in thing]
        shown = [key + text for key, text in sorted(attributes.items()) if key not in fields]
        return section(title, [*made, *shown, *methods])

    def _constructor(
        self, name: str, thing: type, attributes: Mapping[str, str]
    ) -> tuple[list[str], set[str]]:
        """Return the constructor where users call it, and which arguments are its attributes."""
        if issubclass(thing, (BaseException, enum.Enum)):
            return [], set()
        made_of = inspect.signature(thing).parameters
        if any(parameter.startswith("_") for parameter in made_of):
            return [], set()
        if is_dataclass(thing) or issubclass(thing, tuple):
            arguments = [self._argument(p, attributes[p.name].removeprefix(": ")) for p in made_of.values()]
            return [_wrapped(name, arguments, "")], set(made_of)
        return [self._call(name, thing.__init__, bound=True).removesuffix(" -> None")], set()

    def _attributes(self, kind: type) -> dict[str, str]:
        """Return the attributes that a class itself declares, or that its constructor sets, with types."""
        found = {
            key: f": {self._type(kind, hint)}"
            for key, hint in inspect.get_annotations(kind).items()
            if not key.startswith("_")
        }
        constructor = vars(kind).get("__init__")
        if is_dataclass(kind) or not inspect.isfunction(constructor):
            return found
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(constructor)))):
            if not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            hint = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else None
            if isinstance(node.value, ast.Name):
                hint = hint or constructor.__annotations__.get(node.value.id)
            groups = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in (target for group in groups for target in getattr(group, "elts", [group])):
                path = ast.unparse(target)
                if re.fullmatch(r"self\.[a-zA-Z]\w*", path):
                    found[path.removeprefix("self.")] = f": {self._type(constructor, hint)}" if hint else ""
        return found

    def _call(self, name: str, function: Any, bound: bool = False) -> str:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())[1 if bound else 0 :]
        arguments = [self._argument(p, self._type(function, p.annotation)) for p in parameters]
        by_name = [p.kind is p.KEYWORD_ONLY for p in parameters]
        if True in by_name and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            arguments.insert(by_name.index(True), "*")
        returned = signature.return_annotation
        result = "" if returned is signature.empty else f" -> {self._type(function, returned)}"
        return _wrapped(name, arguments, result)

    def _argument(self, parameter: inspect.Parameter, kind: str) -> str:
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        text = f"{stars}{parameter.name}: {kind}"
        if parameter.default is parameter.empty:
            return text
        if inspect.isroutine(default := parameter.default):
            return f"{text} = <function>"
        if is_dataclass(default) and default == type(default)():
            return f"{text} = {type(default).__name__}()"
        return f"{text} = {default!r}"

    def _type(self, owner: Any, hint: Any) -> str:
        """Return an annotation, resolved in the module of its owner."""
        if isinstance(hint, typing.ForwardRef):
            hint = hint.__forward_arg__
        if isinstance(hint, str):
            hint = eval(hint, _namespace(owner.__module__))  # annotations come from this project only
        return self._shown(hint)

    def _shown(self, hint: Any) -> str:
        if isinstance(hint, (str, typing.ForwardRef)):
            return str(getattr(hint, "__forward_arg__", hint))
        if hint in WRITTEN:
            return WRITTEN[hint]
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is np.ndarray:
            (scalar,) = typing.get_args(arguments[1])
            return f"NDArray[{self._shown(scalar)}]"
        if origin in (typing.Union, types.UnionType):
            like_array = typing.get_args(npt.ArrayLike)
            if set(arguments) >= set(like_array):
                arguments = ("ArrayLike", *(part for part in arguments if part not in like_array))
            return " | ".join(dict.fromkeys(map(self._shown, arguments)))
        if origin is typing.Literal:
            return f"Literal[{', '.join(map(repr, arguments))}]"
        if origin is typing.Annotated:
            return self._shown(arguments[0])
        if origin is collections.abc.Callable:
            *taken, given = arguments
            inside = ", ".join(map(self._shown, taken[0] if isinstance(taken[0], list) else taken))
            return f"Callable[[{inside}], {self._shown(given)}]"
        if origin is not None:
            return f"{self._shown(origin)}[{', '.join(map(self._shown, arguments))}]"
        if isinstance(hint, type) and _ours(hint):
            self.seen.setdefault(hint)
        return str(getattr(hint, "__name__", hint))


def _ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "dyn_core"


def section(title: str, parts: Iterable[str]) -> str:
    return "\n".join([title, *(textwrap.indent(part, "    ") for part in parts)])


def together(sections: Iterable[str]) -> str:
    return "\n\n".join(sections) + "\n"


def _wrapped(name: str, arguments: Iterable[str], result: str) -> str:
    """Return a signature in one line, or with one argument per line."""
    arguments = list(arguments)
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), f"){result}"])


@cache
def _namespace(module: str) -> dict[str, Any]:
    """Return the names of a module, with those that it imports for type checkers only."""
    found = sys.modules[module]
    names = dict(vars(found))
    for block in ast.parse(inspect.getsource(found)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING"):
            for statement in block.body:
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    exec(ast.unparse(statement), names)
    return names
