# SPDX-License-Identifier: Apache-2.0
"""Read a SYMORO+ .par file: text to a `ParRobot` (SYMORO+ 2003, sec. 5.4.1).

Read are the geometric parameters of the frames (``Ant Sigma B d R gamma Alpha Mu Theta``), the inertial
parameters and drives of the links (``XX ... M IA FV FS``), gravity ``G`` and the placement ``Z`` of frame 0;
names of entries may be in capitals or not. Velocities and accelerations of joints and base and the forces on
links are states, which are arguments of the functions of the model.

Values are numbers or expressions of numbers such as ``-Pi/2``. The only symbols are the variables of joints
in ``Theta`` or ``R``: ``t3``, ``th3`` or ``theta3`` of a revolute joint, ``r3`` of a prismatic one, ``q3`` of
either. In ``t3 + Pi/2`` the zero of the joint is turned, and a joint with the variable of another joint,
``2*t1 + 0.3``, mimics it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dyn_core.core.errors import DynError, ModelWarning, shortened
from dyn_core.core.findings import Place
from dyn_core.core.text import finite_number, printed_digits
from dyn_core.robot.description import Triple
from dyn_core.robot.dynamic_parameters import INERTIAL
from dyn_core.robot.mdh_table import FIXED
from dyn_core.robot.par.linear_expression import Linear, linear_expression
from dyn_core.robot.xml_text import LARGEST_LENGTH, LARGEST_MASS

# Entries: ``name = {expression, ...}`` and ``name = number``

MAX_CHARACTERS = 1_000_000

_ENTRY = re.compile(r"\s*([A-Za-z_]\w*)\s*=[ \t]*(\{[^{}=]*\}|[^\s{}=]+)", re.ASCII)
_ROBOT = re.compile(r"\s*Robot\s*name\s*=\s*'([^'\n]*)'\s*")
_JOINTS = re.compile(r"\s*Joint names:([^\n]*)")


@dataclass(frozen=True)
class ParItem:
    """One expression of an entry: `index` is its number in a list, from 1, or 0."""

    text: str
    entry: str
    index: int
    line: int

    @property
    def place(self) -> Place:
        """Place in the file: ``alpha[2] (line 14)``."""
        index = f"[{self.index}]" if self.index else ""
        return Place(f"{self.entry}{index}", line=self.line)

    def linear(self) -> Linear:
        """Return the value, which may be linear in symbols."""
        try:
            return linear_expression(self.text)
        except DynError as error:
            raise error.at_place(self.place) from error

    def number(self) -> float:
        """Return the value, which must be a number."""
        value = self.linear()
        for symbol in value.coefficients:
            raise self.no_value(symbol)
        return value.constant

    def no_value(self, symbol: str) -> DynError:
        """Return the error about a symbol, which is shown as it is written: in capitals or not."""
        as_written = re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", self.text, re.ASCII | re.IGNORECASE)
        shown = as_written[0] if as_written else symbol
        return DynError("par-symbol-unknown", place=self.place, symbol=shown)


@dataclass(frozen=True)
class ParEntries:
    """The entries by name in lower case, and the names in the comments."""

    entries: Mapping[str, tuple[ParItem, ...]]
    robot_name: str | None
    joint_names: tuple[str, ...]

    def all(self, name: str) -> tuple[ParItem, ...]:
        """Return the expressions of an entry; none where it is absent."""
        return self.entries.get(name.lower(), ())

    def count(self, name: str, default: int | None = None) -> int:
        """Return an entry that must be one count; `default` if it is absent."""
        items = self.all(name)
        if not items:
            if default is None:
                raise DynError("par-number-missing", entry=name, element=name)
            return default
        value = items[0].number()
        if len(items) != 1 or value != int(value) or value < 0:
            raise DynError("par-count-invalid", place=items[0].place)
        return int(value)


def par_entries(text: str) -> ParEntries:
    """Return the entries of a .par file; DynError, with the line, if the text is malformed."""
    if len(text) > MAX_CHARACTERS:
        raise DynError("par-text-too-long", count=len(text), limit=MAX_CHARACTERS)
    robot_name: str | None = None
    joint_names: tuple[str, ...] = ()
    body, comments = _without_comments(text.removeprefix("\ufeff"))
    for comment in comments:
        if robot := _ROBOT.fullmatch(comment):
            robot_name = robot.group(1).strip() or None
        if joints := _JOINTS.fullmatch(comment):
            joint_names = tuple(name.strip() for name in joints.group(1).split(","))
    entries: dict[str, tuple[ParItem, ...]] = {}
    position, line, end = 0, 1, len(body.rstrip())
    while position < end:
        if (match := _ENTRY.match(body, position)) is None:
            rest = body[position:]
            line += rest[: len(rest) - len(rest.lstrip())].count("\n")
            shown = shortened(rest.lstrip().split("\n")[0].strip(), 40)
            raise DynError("par-entry-malformed", place=Place(line=line), given=shown)
        name, value = match.groups()
        line_of_name = line + body.count("\n", position, match.start(1))
        if name.lower() in entries:
            raise DynError("par-entry-repeated", place=Place(line=line_of_name), element=name, entry=name)
        line_of_value = line + body.count("\n", position, match.start(2))
        entries[name.lower()] = _items(name, value, line_of_value)
        line += body.count("\n", position, match.end())
        position = match.end()
    return ParEntries(entries, robot_name, joint_names)


def _without_comments(text: str) -> tuple[str, list[str]]:
    """Return the text with only the line ends of its comments, and the comments."""
    parts, comments = [], []
    position = 0
    while (begin := text.find("(*", position)) != -1:
        end = text.find("*)", begin + 2)
        if end == -1:
            line = text.count("\n", 0, begin) + 1
            raise DynError("comment-unclosed", place=Place(line=line))
        comments.append(text[begin + 2 : end])
        parts += [text[position:begin], "\n" * comments[-1].count("\n")]
        position = end + 2
    return "".join([*parts, text[position:]]), comments


def _items(name: str, value: str, line: int) -> tuple[ParItem, ...]:
    if not value.startswith("{"):
        return (ParItem(value.strip(), name, 0, line),)
    items = []
    for k, text in enumerate(value[1:-1].split(","), start=1):
        begins = line + text[: len(text) - len(text.lstrip())].count("\n")
        items.append(ParItem(" ".join(text.split()), name, k, begins))
        line += text.count("\n")
    return tuple(items) if len(items) > 1 or items[0].text else ()


# Entries as frames and links

GEOMETRIC = ("ant", "sigma", "mu", "gamma", "b", "alpha", "d", "theta", "r")
STATES = ("FX", "FY", "FZ", "CX", "CY", "CZ", "W0", "WP0", "V0", "VP0")
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

    Angles (rad) and lengths (m) are those with all variables at 0. `exact_b` is b with all the digits of the
    text, which may be more than a float has. `words` are gamma, alpha and theta as written, if plain numbers.
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
    """Contents of a .par file; `frames` 1 to NF, `links` 1 to NL, and the number NJ of joints.

    `gravity` is that in frame 0 (m/s^2), None if the file has symbols for it; `Z` are the rows of the
    placement of frame 0.
    """

    name: str
    joint_names: tuple[str, ...]
    joint_count: int
    frames: tuple[ParFrame, ...]
    links: tuple[ParLink, ...]
    gravity: Triple | None
    Z: tuple[float, ...]
    remarks: tuple[ModelWarning, ...]


def parse_par(text: str, name_if_none: str = "robot") -> ParRobot:
    """Return the contents of .par text; DynError, with element and line, if it cannot be a robot."""
    given = par_entries(text)
    NL = given.count("NL")
    NJ = given.count("NJ", NL)
    NF = given.count("NF", 2 * NJ - NL)
    if not NL <= NJ <= NF or NF < 2 * NJ - NL:
        raise DynError("frame-counts-inconsistent", links=NL, joints=NJ, frames=NF, element="NF")
    for moving in ("is_mobile", "is_floating"):
        if any(item.text not in ("0", "False") for item in given.all(moving)):
            raise DynError("par-base-moves", place=given.all(moving)[0].place)
    columns = {key: _column(given, key, (NF,)) for key in GEOMETRIC}
    for needed in ("ant", "sigma"):
        if NF > 0 and columns[needed] is None:
            raise DynError("par-column-missing", entry=needed, element=needed)
    sigmas = [_choice(item, (0, 1, FIXED)) for item in columns["sigma"] or ()]
    frames = tuple(_frame(j, sigmas, _row(columns, j - 1), j <= NL) for j in range(1, NF + 1))
    inertial = {key: _column(given, key, (NL,)) for key in INERTIAL}
    drives = {key: _column(given, key, (NL, NJ)) for key in ("IA", "FV", "FS")}
    links = tuple(_link(_row(inertial | drives, k)) for k in range(NL))
    remarks = tuple(
        _state_ignored(items[0])
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


def _state_ignored(item: ParItem) -> ModelWarning:
    entry, line = item.entry, item.line
    if item.index:
        return ModelWarning("par-state-ignored", entry=entry, element=entry, line=line)
    return ModelWarning("par-state-in-line-ignored", entry=entry, line_number=line, element=entry, line=line)


def _column(given: ParEntries, key: str, lengths: tuple[int, ...]) -> tuple[ParItem, ...] | None:
    items = given.all(key)
    if items and len(items) not in lengths:
        raise DynError("par-values-count", place=items[0].place, count=len(items), expected=lengths[0])
    return items or None


def _row(columns: Mapping[str, tuple[ParItem, ...] | None], k: int) -> dict[str, ParItem | None]:
    return {key: column[k] if column else None for key, column in columns.items()}


def _choice(item: ParItem, choices: tuple[int, ...]) -> int:
    value = item.number()
    if value not in choices:
        known = ", ".join(map(str, choices))
        raise DynError("par-choice-unknown", place=item.place, given=item.text, known=known)
    return int(value)


def _bounded(item: ParItem | None, greatest: float) -> float:
    value = 0.0 if item is None else item.number()
    if item is not None and abs(value) > greatest:
        raise DynError("value-too-large", place=item.place, limit=greatest)
    return value


def _frame(j: int, sigmas: list[int], items: dict[str, ParItem | None], in_tree: bool) -> ParFrame:
    """Return frame j; by default a joint of the tree has an actuator and a cut joint has none."""
    sigma, ant, mu = sigmas[j - 1], items["ant"], items["mu"]
    assert ant is not None
    antecedent = ant.number()
    if antecedent not in range(j):
        raise DynError("antecedent-range", place=ant.place, given=ant.text, frame=j, last=j - 1)
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
    """Return theta (`moves` 0) or r (1) with its variable at 0, and the variable, if it has one."""
    if item is None:
        return 0.0, None
    if sigmas[j - 1] != moves:
        return _bounded(item, LARGEST_MASS if moves else LARGEST_LENGTH), None
    value = item.linear()
    if not abs(value.constant) <= LARGEST_MASS:
        raise DynError("value-too-large", place=item.place, limit=LARGEST_MASS)
    variables = [
        ParVariable(_joint_of(item, symbol, sigmas), coefficient)
        for symbol, coefficient in value.coefficients.items()
        if coefficient != 0.0
    ]
    if len(variables) > 1:
        raise DynError("par-variables-several", place=item.place, expression=item.text)
    variable = variables[0] if variables else None
    if variable and variable.frame == j and variable.coefficient != 1.0:
        scale = variable.coefficient
        raise DynError("par-variable-scaled", place=item.place, expression=item.text, coefficient=scale)
    return value.constant, variable


def _joint_of(item: ParItem, symbol: str, sigmas: list[int]) -> int:
    """Return the number of the joint with a symbol as its variable."""
    letters = symbol.rstrip("0123456789")
    digits = symbol[len(letters) :]
    if 0 < len(digits) < 7 and digits.isascii() and 1 <= int(digits) <= len(sigmas):
        sigma = sigmas[int(digits) - 1]
        if sigma != FIXED and letters in _VARIABLES[sigma]:
            return int(digits)
    raise item.no_value(symbol)


def _exact(item: ParItem | None, value: float) -> Fraction:
    """Return a value with all digits of the text, which may be more than a float has."""
    word = _word(item)
    if printed_digits(word).figures <= _FLOAT_FIGURES or len(word) > 400 or abs(value) < 1e-300:
        return Fraction(value)
    return Fraction(word)


def _word(item: ParItem | None) -> str:
    """Return the text of a plain number; an empty text for an expression."""
    return item.text if item is not None and finite_number(item.text) is not None else ""


def _link(items: dict[str, ParItem | None]) -> ParLink:
    mass = items["M"]
    if _bounded(mass, LARGEST_MASS) < 0.0 and mass is not None:
        raise DynError("par-mass-negative", place=mass.place, mass=mass.text)
    return ParLink(
        inertial=tuple(_bounded(items[key], LARGEST_MASS) for key in INERTIAL),
        Ia=_not_negative(items["IA"]),
        Fv=_not_negative(items["FV"]),
        Fs=_not_negative(items["FS"]),
    )


def _not_negative(item: ParItem | None) -> float:
    value = _bounded(item, LARGEST_MASS)
    if item is not None and value < 0.0:
        raise DynError("value-negative", place=item.place, given=value)
    return value


def _gravity(given: ParEntries) -> Triple | None:
    items = _column(given, "G", (3,))
    if items is None or any(item.linear().coefficients for item in items):
        return None
    x, y, z = (_bounded(item, LARGEST_LENGTH) for item in items)
    return (x, y, z)
