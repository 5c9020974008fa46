# SPDX-License-Identifier: Apache-2.0
"""Pose, velocity, acceleration and forces of a moving base on the command line."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from dyn_core.cli.options import Once, counted_numbers
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError
from dyn_core.model.moving_base.argument_checks import refuse_lengths
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.model.moving_base.named_entries import input_entries

OF_BASE = {
    "--pose": "pose: x y z (m) and quaternion x y z w, or x y (m) and angle (rad) in the plane (default: "
    "that of the world)",
    "--V": "velocity on its axes: linear (m/s), angular (rad/s); of a planar one along x, y, and about the "
    "normal (default: zeros)",
    "--Vd": "acceleration on its axes, that of a point (m/s^2), and angular (rad/s^2) (default: zeros)",
    "--F": "forces on it, on its axes (N) and about its origin (N m) (default: none)",
}
"""Options that take numbers of a base, and what they are."""

_WORDS = {"pose": "a pose", "V": "a velocity", "Vd": "an acceleration", "F": "a force"}


def add_base_vectors(parser: ArgumentParser, names: Iterable[str]) -> None:
    """Let a command take these numbers of a base."""
    for name in names:
        parser.add_argument(
            f"--{name}", action=Once, metavar="X ...", help=f"of a base that moves, {OF_BASE[f'--{name}']}"
        )


def base_vector(base: MovingBase, name: str, arguments: Namespace) -> Array:
    """Answer the numbers of an option, or what stands for them; DynError where they cannot be used."""
    entries = input_entries(base, name)
    text = getattr(arguments, name)
    if text is None:
        return as_floats(name, [1.0 if entry.name == "qw" else 0.0 for entry in entries])
    names = " ".join(f"{entry.name.replace(' ', '-')}" for entry in entries)
    values = counted_numbers(
        f"--{name}", text, len(entries), f"{_WORDS[name]} of a {base.kind} base has {len(entries)}: {names}"
    )
    vector = as_floats(name, values)
    if name == "pose" and base.kind != "planar":
        try:
            refuse_lengths(vector)
        except ValueError as error:
            raise DynError(f"--{error}") from error
    return vector


def refuse_base_vectors(
    arguments: Namespace, names: Iterable[str], kinds: str = "free, planar or given"
) -> None:
    """Stop where numbers of a base that moves are given for one that stands still.

    Args:
        arguments: of the command line.
        names: of these numbers.
        kinds: what --base can be.
    """
    for name in names:
        if getattr(arguments, name) is not None:
            raise DynError(
                f"--{name} is of a base that moves, and this one stands still: leave it out, "
                f"or give --base {kinds}"
            )


def only_on_base(function: str) -> DynError:
    """Answer the error for a function of robots on a moving base where the base stands still."""
    return DynError(
        f"{function} is a function of robots on a moving base, and this one stands still: "
        "give --base free, planar or given"
    )
