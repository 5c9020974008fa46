# SPDX-License-Identifier: Apache-2.0
"""The log on the command line, and how it is conditioned."""

from __future__ import annotations

from argparse import Action, ArgumentParser, BooleanOptionalAction, Namespace
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dyn_core.cli.options import Once, numbers
from dyn_core.core.errors import DynError, shortened
from dyn_core.signals.protocol import Protocol

_WHOLE = ("order", "half_width", "margin", "decimate")


def add_log_options(parser: ArgumentParser) -> None:
    """Let a command take a log, and what is known of it."""
    parser.add_argument(
        "--log",
        required=True,
        action=Once,
        metavar="LOG",
        help="a CSV, Parquet, NumPy or MATLAB file, or a ROS 2 bag (file or directory); see dyn log",
    )
    parser.add_argument("--map", metavar="FILE", help="what the columns of the log mean (YAML)")


def add_signal_options(parser: ArgumentParser, *, train: bool) -> None:
    """Let a command say how signals are conditioned; with `train`, what part of them is fitted."""
    group = parser.add_argument_group(
        "conditioning of the log", "What is not given is chosen by the data, and told in the report."
    )

    def add(option: str, metavar: str, text: str, action: type[Action] = Once) -> None:
        group.add_argument(option, metavar=metavar, help=text, action=action)

    usual = Protocol()
    if train:
        add(
            "--train",
            "PART",
            f"part of the log that is fitted; the rest is held out (default: {usual.train})",
        )
    add("--cutoff", "HZ", "of the low-pass filter of positions, which has no delay")
    add("--order", "N", f"of that filter, which runs forwards and backwards (default: {usual.order})")
    group.add_argument(
        "--filter-effort",
        action=BooleanOptionalAction,
        default=None,
        help="whether measured efforts get that filter, too (default: no)",
    )
    add("--rate", "HZ", "at which logs with irregular stamps are resampled (default: their own)")
    add("--half-width", "N", f"samples on each side of a difference quotient (default: {usual.half_width})")
    add("--margin", "N", "samples left out at each end (default: until the filter has settled)")
    add("--decimate", "N", "one equation of so many is kept, behind a filter of both sides")


def protocol_of(arguments: Namespace, usual: Protocol | None = None) -> Protocol:
    """Answer the protocol that the command line gives; DynError for a mistake in it.

    Args:
        arguments: the command line.
        usual: has what is not given.
    """
    given: dict[str, Any] = {}
    for field in fields(Protocol):
        value = getattr(arguments, field.name, None)
        if value is None:
            continue
        given[field.name] = value if isinstance(value, bool) else _number(field.name, value)
    return replace(usual or Protocol(), **given)


def map_of(arguments: Namespace) -> Path | None:
    """Answer the map of the log: a path, so that no name of a file is taken for YAML text."""
    return None if arguments.map is None else Path(arguments.map)


def _number(name: str, text: str) -> float | int:
    option = f"--{name.replace('_', '-')}"
    (value,) = numbers(option, text, 1)
    if name not in _WHOLE:
        return value
    if value != int(value):
        raise DynError(f"{option} is '{shortened(text, 40)}': give a whole number")
    return int(value)
