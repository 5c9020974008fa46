# SPDX-License-Identifier: Apache-2.0
"""``dyn cache``: the compiled programs on disk, and their removal."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dyn_core.cli.console import Output
from dyn_core.cli.options import Command
from dyn_core.codegen.c_compiler import MOST_BYTES, prepared_directory, prune, usage
from dyn_core.core.errors import counted


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    parser.add_argument("--clear", action="store_true", help="remove all compiled programs")


def cache(arguments: Namespace) -> Output:
    """Return directory, number and size of the compiled programs, after removing them with --clear."""
    folder = prepared_directory()
    removed = prune(folder, 0) if arguments.clear else None
    held = usage(folder)
    if arguments.json:
        entries = {
            "directory": str(folder),
            "programs": held.programs,
            "bytes": held.size,
            "most": MOST_BYTES,
            "removed": removed.programs if removed else 0,
        }
        return Output(entries)
    lines = [f"directory: {folder}"]
    if removed:
        lines.append(f"removed: {counted(removed.programs, 'program')}, {1e-6 * removed.size:.1f} MB")
    limit = f"{1e-6 * MOST_BYTES:.0f} MB"
    lines.append(f"holds: {counted(held.programs, 'program')}, {1e-6 * held.size:.1f} MB of at most {limit}")
    return Output(lines)


COMMAND = Command(
    description="Show the cache of compiled programs. When it is full, those that were not used for the "
    "longest time are removed. DYN_CACHE_DIR sets its directory.",
    run=cache,
    add_arguments=add_arguments,
    robot=False,
)
