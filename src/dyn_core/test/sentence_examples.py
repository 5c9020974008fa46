# SPDX-License-Identifier: Apache-2.0
"""All sentences with example values: `golden/sentences.txt`, which a person can read from top to bottom.

`python src/dyn_core/test/sentence_examples.py` writes the file again after a change of the catalogue: known
codes keep their values, a new code gets placeholders.
"""

from __future__ import annotations

from ast import literal_eval
from importlib import import_module
from pathlib import Path
from string import Formatter
from textwrap import indent
from types import SimpleNamespace
from typing import Any

from dyn_core.core.messages import CATALOGUES, sentence

FILE = Path(__file__).parent / "golden" / "sentences.txt"


def values_of(text: str) -> dict[str, dict[str, Any]]:
    """Return the values by code: each line has a code and its values, and the sentence follows below."""
    heads = [line.split("  ", 1) for line in text.splitlines() if line and line[0] not in " #"]
    return {code: literal_eval(values) for code, values in heads}


def placeholders(template: str) -> dict[str, Any]:
    """Return a placeholder for each field of a sentence; a mapping stands for a value with attributes."""
    kinds = {"names": ["a", "b"], "list": ["a", "b"], "groups": [["a", "b"], ["c"]]}
    kinds |= {"count": 2, "each": [0.5, 1.5]}
    found: dict[str, Any] = {}
    for _, field, form, _ in Formatter().parse(template):
        name, _, attribute = (field or "").partition(".")
        kind = next((value for start, value in kinds.items() if (form or "").startswith(start)), None)
        if attribute:
            found[name] = {attribute: attribute}
        elif kind is not None:
            found[name] = kind
        elif name:
            number = 2 if (form or "").endswith(("d", "x")) else 1.5
            found.setdefault(name, number if form and form[-1] in "defgtx%" else name)
    return found


def example(code: str, values: dict[str, Any]) -> str:
    """Return the lines of a code: its values, and the sentence below them."""
    objects = {key: SimpleNamespace(**x) if isinstance(x, dict) else x for key, x in values.items()}
    return f"{code}  {values!r}\n{indent(sentence(code, objects), ' ' * 4)}"


def examples(known: dict[str, dict[str, Any]]) -> str:
    """Return the text of the file."""
    lines = ["# Every sentence with example values; `sentence_examples.py` writes this file."]
    for module in CATALOGUES:
        lines += ["", f"# {module}", ""]
        sentences = import_module(f"dyn_core.core.sentences.{module}").SENTENCES
        lines += [example(code, known.get(code) or placeholders(text)) for code, text in sentences.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(examples(values_of(FILE.read_text()) if FILE.exists() else {}))
