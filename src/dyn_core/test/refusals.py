# SPDX-License-Identifier: Apache-2.0
"""Check expected errors by code and values; `golden/sentences.txt` pins their sentences."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import dyn_core.cli.main as command
from dyn_core.core.errors import ArgumentError, DynError, ModelWarning, shortened
from dyn_core.core.findings import Finding


@contextmanager
def refused(code: str, **values: object) -> Iterator[pytest.ExceptionInfo[DynError | ArgumentError]]:
    """Expect an error with a code that has at least these values."""
    with pytest.raises((DynError, ArgumentError)) as caught:
        yield caught
    check_error(caught.value, code, **values)


def refused_command(words: Sequence[str], code: str, **values: object) -> DynError:
    """Expect the command ``dyn`` to fail with an error that has this code and at least these values."""
    errors: list[DynError] = []

    def recorded(parsed: Namespace) -> object:
        try:
            return run(parsed)
        except DynError as error:
            errors.append(error)
            raise

    run = command._run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_run", recorded)
        assert command.main([*words]) == 1
    check_error(errors[0], code, **values)
    return errors[0]


def check_error(error: DynError | ArgumentError, code: str, **values: object) -> None:
    assert error.code == code, f"expected '{code}', but it is '{error.code}': {error}"
    for name, value in values.items():
        assert name in error.values, f"{code} has no value {name}: {sorted(error.values)}"
        given = list(error.values[name]) if isinstance(value, list) else error.values[name]
        expected = pytest.approx(value, rel=1e-3, nan_ok=True) if isinstance(value, float) else value
        assert given == expected, f"{code}: {name}"
    assert str(error)  # the sentence has all values that it needs


def printed_refusal(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the error of a command with --json as data; standard error has its sentence in one line."""
    out, err = capsys.readouterr()
    error: dict[str, Any] = json.loads(out)["error"]
    assert err == f"dyn: error: {error['file'] + ': ' if error['file'] else ''}{error['message']}\n"
    assert err.count("\n") == 1
    return error


def summary(found: DynError | ArgumentError | ModelWarning | Finding) -> str:
    """Return code, place and values (sorted by name) of a finding, without its sentence."""
    place = str(getattr(found, "place", None) or "")
    if isinstance(found, Finding):
        line = "" if found.line is None else f" (line {found.line})"
        place = f"{found.severity}, {found.element}{line}{found.tag and f', <{found.tag}>'}"
    values = ", ".join(_short(value) for _, value in sorted(found.values.items()))
    return found.code + (f" at {place}" if place else "") + (f": {values}" if values else "")


def _short(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_short, value[:6]))}]"
    text = f"{value:.4g}" if isinstance(value, float) else getattr(value, "code", None) or str(value)
    return shortened(text, 30)


def refusal(function: Callable[..., object], *arguments: object, **named: object) -> str:
    """Return the summary of the error that a call raises."""
    with pytest.raises((DynError, ArgumentError)) as caught:
        function(*arguments, **named)
    assert str(caught.value)
    return summary(caught.value)


def rows(table: str) -> list[tuple[str, ...]]:
    """Return the rows of a table: ``=>`` separates columns, ``-`` is an empty cell, ``\n`` a line end.

    A line that ends with ``=>`` continues on the next line.
    """
    lines = re.sub(r"=>\n", "=> ", table.strip()).splitlines()
    cells = ([cell.strip().replace(r"\n", "\n") for cell in line.split("=>")] for line in lines)
    return [tuple("" if cell == "-" else cell for cell in line) for line in cells]


def replaced(text: str, *cells: str) -> str:
    """Replace each old part, which must be in the text, once by the new part that follows it."""
    for old, new in zip(cells[::2], cells[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text
