# SPDX-License-Identifier: Apache-2.0
"""Output of commands: text, tables, JSON and progress; files that they read and write.

Rich formats it on a terminal, and is imported only there. Elsewhere the output is plain text.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO

from dyn_core.core.errors import DynError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

    from dyn_core.core.findings import Finding


VERSION = "0.1.0"
"""The version of the package: that of package.xml and setup.py."""


class Table(NamedTuple):
    """A table of words."""

    rows: Sequence[Sequence[str]]  # the words; all rows have the same length
    left: Collection[int] = (0,)  # columns that are left-aligned
    has_head: bool = True  # whether the first row is the head
    indent: str = ""  # text at the beginning of each line

    def __str__(self) -> str:
        """Return lines of columns two spaces apart."""
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = (
            "  ".join(
                word.ljust(width) if k in self.left else word.rjust(width)
                for k, (word, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in self.rows
        )
        return "\n".join(f"{self.indent}{line}".rstrip() for line in lines)


class Output(NamedTuple):
    """Standard output of a command, and its exit code."""

    # A text; or parts, each on lines of its own; or data, which are printed as JSON.
    content: str | Sequence[str | Table | Finding] | Mapping[str, Any] = ""
    exit_code: int = 0

    def __str__(self) -> str:
        """Return the plain text."""
        if isinstance(self.content, Mapping):
            import json

            return json.dumps(self.content, indent=2)
        return self.content if isinstance(self.content, str) else "\n".join(map(str, self.content))


_STYLES = {"error": "red", "warning": "yellow", "note": "dim"}
"""Style of a message by severity."""


def print_output(output: Output) -> None:
    """Print the content of an output, if there is any."""
    text = str(output)
    if not text or not _is_terminal(sys.stdout):
        print(text, end="\n" if text else "", flush=True)
        return
    console = _console(sys.stdout)
    for part in (text,) if isinstance(output.content, str | Mapping) else output.content:
        if isinstance(part, str | Table):
            console.print(_rich_table(part) if isinstance(part, Table) else part)
        else:
            console.print(str(part), style=_STYLES[str(part.severity)])
    sys.stdout.flush()


def report(severity: str, sentence: str) -> None:
    """Print an error or a warning on standard error."""
    if not _is_terminal(sys.stderr):
        print(f"dyn: {severity}: {sentence}", file=sys.stderr)
        return
    from rich.text import Text

    label = (f"dyn: {severity}:", f"bold {_STYLES[severity]}")
    _console(sys.stderr).print(Text.assemble(label, f" {sentence}"))


def _rich_table(table: Table) -> RenderableType:
    """Return a table with a line below its head."""
    from rich.box import SIMPLE_HEAD
    from rich.padding import Padding
    from rich.table import Table as RichTable
    from rich.text import Text

    head, *rows = table.rows if table.has_head else ((), *table.rows)
    made = RichTable(
        box=SIMPLE_HEAD if head else None, show_edge=False, show_header=bool(head), pad_edge=False
    )
    for k, word in enumerate(head or rows[0]):
        title = Text(word if head else "")
        made.add_column(title, justify="left" if k in table.left else "right", no_wrap=True)
    for row in rows:
        made.add_row(*map(Text, row))
    return Padding(made, (0, 0, 0, len(table.indent)), expand=False)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _console(stream: TextIO) -> Console:
    """Return a console that prints words as they are, and breaks no line."""
    from rich.console import Console

    return Console(file=stream, width=10_000, soft_wrap=True, highlight=False, markup=False, emoji=False)


class ProgressBar:
    """A bar on standard error where that is a terminal, and nothing elsewhere."""

    def __init__(self, quiet: bool = False) -> None:
        """Begin; `quiet` shows no bar on a terminal either."""
        self._began = time.monotonic()
        self._bar = None if quiet or not _is_terminal(sys.stderr) else _rich_bar()

    @property
    def is_shown(self) -> bool:
        """Whether there is a bar."""
        return self._bar is not None

    def __enter__(self) -> ProgressBar:
        """Show the bar."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    def show(self, part: float, text: str) -> None:
        """Show which part is done, 0 to 1, and a text after the bar."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], total=1.0, completed=part, description=text, refresh=True)

    def __call__(self, stage: str) -> None:
        """Show the stage that begins now; its duration is not known."""
        if self._bar is not None:
            self._bar.print(f"dyn: {self.elapsed:4.1f} s  {stage} ...")
            self._bar.update(self._bar.task_ids[0], description=stage, refresh=True)

    @property
    def elapsed(self) -> float:
        """Time since the beginning (s)."""
        return time.monotonic() - self._began


def _rich_bar() -> Progress:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.BarColumn(30),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.description}", markup=False),
    )
    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
    bar = progress.Progress(*columns, console=console, transient=True)
    bar.add_task("", total=None)
    return bar


STANDARD_INPUT = "-"
"""The path that stands for standard input: ``xacro robot.xacro | dyn check -``."""
INPUT_NAME = "standard input"
"""Name of standard input in messages."""


def input_stream(expected: str) -> BinaryIO:
    """Return standard input as bytes; DynError, which says what was expected, where it is closed."""
    if not isinstance(sys.stdin, TextIOWrapper):
        raise DynError("input-closed", expected=expected, file=INPUT_NAME)
    stream: BinaryIO = sys.stdin.buffer
    return stream


def write_whole(path: str, text: str) -> None:
    """Write a file completely or not at all; DynError where this fails."""
    with whole_file(path) as file:
        file.write(text)


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[TextIO]:
    """Open a temporary file beside a path for writing, and rename it to the path at the end.

    After an exception nothing is left of it, and what was at the path before stays.

    Raises:
        DynError: the file cannot be written.
    """
    import tempfile

    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        mask = os.umask(0o077)
        os.umask(mask)
        mode = target.stat().st_mode if target.exists() else 0o666 & ~mask
        if target.exists() and not target.is_file():
            raise DynError("output-irregular", path=path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
        temporary.chmod(mode & 0o777)
        temporary.replace(target)
    except OSError as error:
        raise DynError("file-unwritable", path=path, reason=error.strerror or error) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
