# SPDX-License-Identifier: Apache-2.0
"""Names that a language accepts."""

from __future__ import annotations

import re

FORTRAN_LENGTH = 63
"""The longest name of Fortran."""


def identifier(name: str) -> str:
    """Answer a name with `_` for what identifiers do not hold; it may be empty, or begin with a digit."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def cpp_namespace(robot: str) -> str:
    """Answer the namespace of a robot.

    What begins with ``robot_`` is no word of C++, and no name or macro of its headers: a robot can be
    called double, gamma or NAN.
    """
    return f"robot_{identifier(robot)}".rstrip("_")


def linked_name(robot: str, function: str) -> str:
    """Answer the name that a function has for a linker, which knows no namespaces."""
    return f"{_prefix(robot)}_{function}"


def fortran_name(robot: str, function: str) -> str:
    """Answer the same for Fortran: a long name of the robot is cut."""
    room = FORTRAN_LENGTH - len(function) - 1
    return f"{_prefix(robot)[: max(room, 1)]}_{function}"[:FORTRAN_LENGTH]


def _prefix(robot: str) -> str:
    word = identifier(robot)
    return word if word[:1].isalpha() else f"robot_{word}".rstrip("_")


def camel_case(name: str) -> str:
    """Answer `inverseDynamics` for `inverse_dynamics`: an underscore is an operator of Mathematica."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
