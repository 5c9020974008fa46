# SPDX-License-Identifier: Apache-2.0
"""A `ParRobot` as .par text, in the order in which SYMORO+ and OpenSYMORO write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from dyn_core.robot.dynamic_parameters import INERTIAL
from dyn_core.robot.mdh_table import QUARTERS
from dyn_core.robot.par.reader import ParFrame, ParRobot
from dyn_core.robot.urdf.writer import number_text
from dyn_core.symbolic.scalar import quarter_turns

_DIGITS = 40
_PLAIN_NAME = re.compile(r"[^,*()\s](?:[^,*()\n\r]*[^,*()\s])?")


def par_text(par: ParRobot) -> str:
    """Return .par text: every number with all its digits, multiples of pi/2 in terms of ``Pi``."""
    return "\n".join([*_head(par), *_frames(par), *_links(par), *_base(par), "(* End of definition *)", ""])


def _head(par: ParRobot) -> Iterator[str]:
    yield f"(* Robotname = '{re.sub(r'[^ -&+-~]', '_', par.name)}' *)"
    if par.joint_names and all(map(_PLAIN_NAME.fullmatch, par.joint_names)):
        yield f"(* Joint names: {', '.join(par.joint_names)} *)"
    antecedents = [frame.antecedent for frame in par.frames[: len(par.links)]]
    yield f"NL = {len(par.links)}"
    yield f"NJ = {par.joint_count}"
    yield f"NF = {len(par.frames)}"
    is_chain = antecedents == list(range(len(antecedents)))
    yield f"Type = {2 if par.joint_count > len(par.links) else 0 if is_chain else 1}"
    yield "is_mobile = 0"


def _frames(par: ParRobot) -> Iterator[str]:
    columns: dict[str, Callable[[ParFrame], str]] = {
        "ant": lambda frame: str(frame.antecedent),
        "sigma": lambda frame: str(frame.sigma),
        "b": lambda frame: _exact_text(frame.b, frame.exact_b),
        "d": lambda frame: number_text(frame.d),
        "r": lambda frame: _sum(number_text(frame.r), frame, par, moves=1),
        "gamma": lambda frame: angle_text(frame.gamma),
        "alpha": lambda frame: angle_text(frame.alpha),
        "mu": lambda frame: str(frame.mu),
        "theta": lambda frame: _sum(angle_text(frame.theta), frame, par, moves=0),
    }
    yield "\n(* Geometric parameters *)"
    for key, text in columns.items():
        yield _entry(key, map(text, par.frames))


def _links(par: ParRobot) -> Iterator[str]:
    yield "\n(* Dynamic parameters and external forces *)"
    for k, key in enumerate(INERTIAL):
        yield _entry(key, (number_text(link.inertial[k]) for link in par.links))
    for key, attribute in (("IA", "Ia"), ("FV", "Fv"), ("FS", "Fs")):
        yield _entry(key, (number_text(getattr(link, attribute)) for link in par.links))
    for key in ("FX", "FY", "FZ", "CX", "CY", "CZ"):
        yield _entry(key, ("0" for _ in par.links))


def _base(par: ParRobot) -> Iterator[str]:
    yield "\n(* Speed and acceleration of the base *)"
    for key in ("W0", "WP0", "V0", "VP0"):
        yield _entry(key, "000")
    yield "\n(* Acceleration of gravity *)"
    yield _entry("G", map(number_text, par.gravity or ()))
    yield "\n(* Transformation of 0 frame position fT0 *)"
    yield _entry("Z", map(number_text, par.Z))
    yield ""


def angle_text(angle: float) -> str:
    """Return an angle (rad) with all its digits, or as a multiple of ``Pi/2``."""
    turns = quarter_turns(angle)
    return number_text(angle) if turns is None else QUARTERS.get(turns, number_text(angle))


def _entry(key: str, values: Iterable[str]) -> str:
    return f"{key} = {{{','.join(values)}}}"


def _exact_text(value: float, exact: Fraction) -> str:
    """Return a length, with more digits than a float has if they are known."""
    if Fraction(value) == exact:
        return number_text(value)
    with localcontext() as context:
        context.prec = _DIGITS
        return str(Decimal(exact.numerator) / Decimal(exact.denominator))


def _sum(constant: str, frame: ParFrame, par: ParRobot, moves: int) -> str:
    """Return theta (`moves` 0) or r (1) as ``2*t1 + 0.3``."""
    if frame.sigma != moves or frame.variable is None:
        return constant
    leader, coefficient = frame.variable.frame, frame.variable.coefficient
    symbol = f"{'tr'[par.frames[leader - 1].sigma]}{leader}"
    text = {1.0: symbol, -1.0: f"-{symbol}"}.get(coefficient, f"{number_text(coefficient)}*{symbol}")
    if constant == "0":
        return text
    return f"{text} - {constant[1:]}" if constant.startswith("-") else f"{text} + {constant}"
