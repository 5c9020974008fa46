# SPDX-License-Identifier: Apache-2.0
"""Run a command of ``dyn`` in this process; return its output, its JSON and its errors by code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refusals import printed_refusal

from dyn_core.cli.main import main


class Command:
    """A command and its first arguments, with a folder for its files."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> None:
        self.folder, self._capsys, self._words = folder, capsys, words

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        """Run it, expect an exit code, and return what it prints on `out` and `err`."""
        self._capsys.readouterr()
        assert main([*self._words, *arguments]) == code
        return self._capsys.readouterr()

    def json(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self(*arguments, "--json", code=code).out)
        return data

    def refused(self, *arguments: str, code: str, **values: object) -> dict[str, Any]:
        """Expect an error with a code on `err`, with values or a place (`element`, `line`, `file`)."""
        self._capsys.readouterr()
        assert main([*self._words, *arguments, "--json"]) == 1
        error = printed_refusal(self._capsys)
        assert error["code"] == code, error
        found = error["values"] | {name: error[name] for name in ("element", "line", "file")}
        for name, value in values.items():
            expected = pytest.approx(value, rel=1e-3) if isinstance(value, float) else value
            assert found[name] == expected, f"{code}: {name}"
        return error
