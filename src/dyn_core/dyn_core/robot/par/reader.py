# SPDX-License-Identifier: Apache-2.0
"""SYMORO+ .par text to a `ParRobot` (SYMORO+ 2003, sec. 5.4.1).

Read are the geometric parameters of the frames (``Ant Sigma B d R gamma Alpha Mu Theta``), the
inertial parameters and drives of the links (``XX ... M IA FV FS``), gravity ``G`` and the placement
``Z`` of frame 0; names of entries may be in capitals or not. Velocities and accelerations of joints
and base and the forces on links are states, which are given to the functions of the model.

Values are numbers or expressions of numbers such as ``-Pi/2``. A symbol has a value only where it
is the variable of a joint in ``Theta`` or ``R``: ``t3``, ``th3`` or ``theta3`` of a revolute joint,
``r3`` of a prismatic one, ``q3`` of either. ``t3 + Pi/2`` is a joint whose zero is turned, and a
joint with the variable of another joint, ``2*t1 + 0.3``, mimics it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dyn_core.core.errors import DynError
from dyn_core.io.attributes import LARGEST_LENGTH, LARGEST_MASS
from dyn_core.io.digits import printed_digits
from dyn_core.io.number import finite_number
from dyn_core.io.par_lists import ParEntries, ParItem, par_entries
from dyn_core.robot.description import Triple

INERTIAL = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
GEOMETRIC = ("ant", "sigma", "mu", "gamma", "b", "alpha", "d", "theta", "r")
STATES = ("FX", "FY", "FZ", "CX", "CY", "CZ", "W0", "WP0", "V0", "VP0")
FIXED = 2
_FLOAT_FIGURES = 17
_VARIABLES = ({"t", "th", "theta", "q"}, {"r", "q"})  # of revolute and of prismatic joints


@dataclass(frozen=True)
class ParVariable:
    """The position of a joint: ``coefficient`` times the variable of joint `frame`."""

    frame: int
    coefficient: float


@dataclass(frozen=True)
class ParFrame:
    """Frame j: its antecedent, its type (0 revolute, 1 prismatic, 2 fixed), and its parameters.

    Angles (rad) and lengths (m) are those with all variables at 0. `exact_b` is b with all the digits
    of the text, which may be more than a float has. `words` are the texts of gamma, alpha and theta
    where these are plain numbers.
    """

    line: int
    antecedent: int
    sigma: int
    mu: int
    gamma: float
    b: float
    alpha: float
    d: float
    theta: float
    r: float
    exact_b: Fraction
    words: tuple[str, str, str]
    variable: ParVariable | None


@dataclass(frozen=True)
class ParLink:
    """Link j: the ten inertial parameters in the order of `INERTIAL`, and the drive of joint j."""

    inertial: tuple[float, ...]
    Ia: float
    Fv: float
    Fs: float


@dataclass(frozen=True)
class ParRobot:
    """What a .par file says; `frames` 1 to NF, `links` 1 to NL, and the number NJ of joints.

    `gravity` is that in frame 0 (m/s^2), None where the file has symbols for it; `Z` are the rows
    of the placement of frame 0.
    """

    name: str
    joint_names: tuple[str, ...]
    joint_count: int
    frames: tuple[ParFrame, ...]
    links: tuple[ParLink, ...]
    gravity: Triple | None
    Z: tuple[float, ...]
    remarks: tuple[str, ...]


def is_par_text(text: str) -> bool:
    """Tell .par text by the comment that it begins with."""
    return text.lstrip("\ufeff \t\r\n").startswith("(*")


def parse_par(text: str, name_if_none: str = "robot") -> ParRobot:
    """Answer what .par text says; DynError, with element and line, where it cannot be a robot."""
    given = par_entries(text)
    NL = given.count("NL")
    NJ = given.count("NJ", NL)
    NF = given.count("NF", 2 * NJ - NL)
    if not NL <= NJ <= NF or NF < 2 * NJ - NL:
        raise DynError(
            f"NL = {NL}, NJ = {NJ}, NF = {NF}: NL <= NJ and 2 NJ - NL <= NF must hold", element="NF"
        )
    for moving in ("is_mobile", "is_floating"):
        if any(item.text not in ("0", "False") for item in given.all(moving)):
            raise given.all(moving)[0].fail("moving bases are not supported yet")
    columns = {key: _column(given, key, (NF,)) for key in GEOMETRIC}
    for needed in ("ant", "sigma"):
        if NF > 0 and columns[needed] is None:
            raise DynError(f"there is no entry {needed}: add {needed} = {{...}}", element=needed)
    sigmas = [_choice(item, (0, 1, FIXED)) for item in columns["sigma"] or ()]
    frames = tuple(
        _frame(
            j, sigmas, {key: column[j - 1] if column else None for key, column in columns.items()}, j <= NL
        )
        for j in range(1, NF + 1)
    )
    inertial = {key: _column(given, key, (NL,)) for key in INERTIAL}
    drives = {key: _column(given, key, (NL, NJ)) for key in ("IA", "FV", "FS")}
    links = tuple(
        _link({key: column[k] if column else None for key, column in (inertial | drives).items()})
        for k in range(NL)
    )
    remarks = tuple(
        f"{items[0].place.split('[')[0]} is a state, not a part of the robot: it is ignored"
        for items in map(given.all, STATES)
        if any(finite_number(item.text) not in (None, 0.0) for item in items)
    )
    return ParRobot(
        name=given.robot_name or name_if_none,
        joint_names=given.joint_names,
        joint_count=NJ,
        frames=frames,
        links=links,
        gravity=_gravity(given),
        Z=tuple(_bounded(item, LARGEST_LENGTH) for item in _column(given, "Z", (16,)) or ()),
        remarks=remarks,
    )


def _column(given: ParEntries, key: str, lengths: tuple[int, ...]) -> tuple[ParItem, ...] | None:
    items = given.all(key)
    if items and len(items) not in lengths:
        raise items[0].fail(f"it has {len(items)} values, not {lengths[0]}")
    return items or None


def _choice(item: ParItem, choices: tuple[int, ...]) -> int:
    value = item.number()
    if value not in choices:
        raise item.fail(f"it is {item.text}: use one of {', '.join(map(str, choices))}")
    return int(value)


def _bounded(item: ParItem | None, greatest: float) -> float:
    value = 0.0 if item is None else item.number()
    if item is not None and abs(value) > greatest:
        raise item.fail(f"it exceeds {greatest:g}: check its unit")
    return value


def _frame(j: int, sigmas: list[int], items: dict[str, ParItem | None], in_tree: bool) -> ParFrame:
    """Answer frame j; unless the file says, a joint of the tree has an actuator, a cut joint none."""
    sigma, ant, mu = sigmas[j - 1], items["ant"], items["mu"]
    assert ant is not None
    antecedent = ant.number()
    if antecedent not in range(j):
        raise ant.fail(f"it is {ant.text}: the antecedent of frame {j} is one of the frames 0 to {j - 1}")
    theta, theta_variable = _position(items["theta"], j, sigmas, 0)
    r, r_variable = _position(items["r"], j, sigmas, 1)
    own = ParVariable(j, 1.0) if sigma != FIXED else None
    gamma, alpha = items["gamma"], items["alpha"]
    b = _bounded(items["b"], LARGEST_MASS)
    return ParFrame(
        line=ant.line,
        antecedent=int(antecedent),
        sigma=sigma,
        mu=int(in_tree) if mu is None else _choice(mu, (0, 1)),
        gamma=_bounded(gamma, LARGEST_LENGTH),
        b=b,
        alpha=_bounded(alpha, LARGEST_LENGTH),
        d=_bounded(items["d"], LARGEST_LENGTH),
        theta=theta,
        r=r,
        exact_b=_exact(items["b"], b),
        words=(_word(gamma), _word(alpha), _word(items["theta"])),
        variable=theta_variable or r_variable or own,
    )


def _position(
    item: ParItem | None, j: int, sigmas: list[int], moves: int
) -> tuple[float, ParVariable | None]:
    """Answer theta (`moves` 0) or r (1) with its variable at 0, and the variable, where it has one."""
    if item is None:
        return 0.0, None
    if sigmas[j - 1] != moves:
        return _bounded(item, LARGEST_MASS if moves else LARGEST_LENGTH), None
    value = item.linear()
    if not abs(value.constant) <= LARGEST_MASS:
        raise item.fail(f"it exceeds {LARGEST_MASS:g}: check its unit")
    variables = [
        ParVariable(_joint_of(item, symbol, sigmas), coefficient)
        for symbol, coefficient in value.coefficients.items()
        if coefficient != 0.0
    ]
    if len(variables) > 1:
        raise item.fail(f"'{item.text}' has several variables: a joint can follow one other joint only")
    if variables and variables[0].frame == j and variables[0].coefficient != 1.0:
        raise item.fail(
            f"'{item.text}' has its own variable {variables[0].coefficient:g} times: write it once"
        )
    return value.constant, (variables[0] if variables else None)


def _joint_of(item: ParItem, symbol: str, sigmas: list[int]) -> int:
    """Answer the number of the joint whose variable a symbol is."""
    letters = symbol.rstrip("0123456789")
    digits = symbol[len(letters) :]
    if 0 < len(digits) < 7 and digits.isascii() and 1 <= int(digits) <= len(sigmas):
        sigma = sigmas[int(digits) - 1]
        if sigma != FIXED and letters in _VARIABLES[sigma]:
            return int(digits)
    raise item.no_value(symbol)


def _exact(item: ParItem | None, value: float) -> Fraction:
    """Answer a value with all its digits where the text has more of them than a float."""
    word = _word(item)
    if printed_digits(word).figures <= _FLOAT_FIGURES or len(word) > 400 or abs(value) < 1e-300:
        return Fraction(value)
    return Fraction(word)


def _word(item: ParItem | None) -> str:
    """Answer the text of a plain number; nothing where there is an expression."""
    return item.text if item is not None and finite_number(item.text) is not None else ""


def _link(items: dict[str, ParItem | None]) -> ParLink:
    mass = items["M"]
    if _bounded(mass, LARGEST_MASS) < 0.0 and mass is not None:
        raise mass.fail(f"the mass is {mass.text} kg: it cannot be negative")
    return ParLink(
        inertial=tuple(_bounded(items[key], LARGEST_MASS) for key in INERTIAL),
        Ia=_not_negative(items["IA"]),
        Fv=_not_negative(items["FV"]),
        Fs=_not_negative(items["FS"]),
    )


def _not_negative(item: ParItem | None) -> float:
    value = _bounded(item, LARGEST_MASS)
    if item is not None and value < 0.0:
        raise item.fail(f"it is {value:g}: it cannot be negative")
    return value


def _gravity(given: ParEntries) -> Triple | None:
    items = _column(given, "G", (3,))
    if items is None or any(item.linear().coefficients for item in items):
        return None
    x, y, z = (_bounded(item, LARGEST_LENGTH) for item in items)
    return (x, y, z)
