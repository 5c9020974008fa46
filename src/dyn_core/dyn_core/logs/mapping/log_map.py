# SPDX-License-Identifier: Apache-2.0
"""Map of a log: the meaning of its columns as a few lines of YAML, all optional.

::

    time: {column: stamp, unit: ms}
    topic: /joint_states             # of a bag, where it has several
    units: {position: deg, effort: A}    # where the columns do not say
    delays: {effort: 0.005}         # delay of the recorded values (s)
    joints:
      shoulder:
        position: q1                 # name of the column
        velocity: {column: w1, unit: rpm}
        effort: {column: i1, unit: A, gain: 0.12, topic: /drives}   # N m on the motor's side for 1 A
        ratio: 101                   # turns of the motor for one of the joint
        sign: -1                     # the drive turns the other way
      elbow:
        position: {column: p2, unit: counts, counts_per_revolution: 4096, zero: 1812, side: joint}
    coupling:
      - {joints: [wrist_2, wrist_3], matrix: [[1, 0], [-1, 1]]}
    ignore: [gripper]
    control:                         # the law kp (q_r - q) + kd (qd_r - qd) + effort, within limit
      shoulder: {position: q1_ref, velocity: w1_ref, effort: ff1, kp: 900, kd: 60, limit: 150}
    held: {finger: 0.02}             # positions of joints that did not move and are not in the log (rad or m)

`joint_side` has the equations.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.text import path_text, read_text
from dyn_core.logs.log import EFFORT, POSITION, TIME, UNITS, VELOCITY, Unit, unit
from dyn_core.robot.yaml_text import (
    Node,
    Scalar,
    as_node,
    entries,
    items,
    name,
    not_negative,
    number,
    parse_yaml,
    place_in,
)

QUANTITIES = (POSITION, VELOCITY, EFFORT)
MOTOR, JOINT = "motor", "joint"
NOTHING = Scalar("")
_LONGEST_DELAY_S = 1.0
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class ColumnMap:
    """Column of a quantity, and its conversion to SI units; see `joint_side`.

    Attributes:
        column: name of the column; None if it is to be recognised.
        topic: topic of a bag; None for the topic of the other quantities.
        unit: unit of the values; None for the unit in the name of the column, or SI.
        gain: factor after the conversion of the unit (``N m/A``, rated torque for ``%``).
        sign: 1 or -1.
        zero: value at which the quantity is 0, in its unit.
        side: ``motor`` or ``joint``; None for the motor side if the joint has a ratio.
        delay: delay of the recorded values (s); None for the delay of all joints.
    """

    column: str | None = None
    topic: str | None = None
    unit: Unit | None = None
    gain: float | None = None
    sign: float = 1.0
    zero: float = 0.0
    side: str | None = None
    delay: float | None = None


@dataclass(frozen=True)
class JointMap:
    """Columns and drive of one joint.

    Attributes:
        columns: by quantity.
        ratio: turns of the motor per turn of the joint (rad/m for a prismatic joint with a motor).
        sign: direction of the drive, 1 or -1.
    """

    columns: dict[str, ColumnMap] = field(default_factory=dict)
    ratio: float = 1.0
    sign: float = 1.0


@dataclass(frozen=True)
class ControlMap:
    """Control law of a joint: ``kp (q_r - q) + kd (qd_r - qd) + feedforward``, on the joint side.

    Attributes:
        columns: columns of the set points, by quantity; efforts are the feedforward.
        kp: gain (N m/rad or N/m).
        kd: gain (N m s/rad or N s/m).
        limit: greatest effort (N m or N).
        follows: whether the velocity, without a column, is the derivative of the position; otherwise it is 0.
    """

    columns: dict[str, ColumnMap]
    kp: float
    kd: float = 0.0
    limit: float = math.inf
    follows: bool = True


@dataclass(frozen=True)
class Coupling:
    """Joints that their motors move together: ``q = matrix q_drives``, after ratios and signs.

    Attributes:
        joints: the joints, and their drives in the same order.
        matrix: one row per joint.
        side: ``joint`` if all signals are already on the joint side; the matrix then applies only to rotors
            and friction of the motors.
    """

    joints: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    side: str | None = None


@dataclass(frozen=True)
class LogMap:
    """Contents of the map of a log."""

    time: ColumnMap = ColumnMap()
    topic: str | None = None
    units: dict[str, Unit] = field(default_factory=dict)
    delays: dict[str, float] = field(default_factory=dict)
    joints: dict[str, JointMap] = field(default_factory=dict)
    couplings: tuple[Coupling, ...] = ()
    ignore: tuple[str, ...] = ()
    held: dict[str, float] = field(default_factory=dict)
    control: dict[str, ControlMap] = field(default_factory=dict)

    @property
    def names_columns(self) -> bool:
        """Whether it names columns of joints; then no other columns are used."""
        return any(column.column for joint in self.joints.values() for column in joint.columns.values())

    def delay(self, quantity: str, column: ColumnMap) -> float:
        """Return the delay of the recorded values of a column (s)."""
        return self.delays.get(quantity, 0.0) if column.delay is None else column.delay


def read_log_map(source: str | os.PathLike[str] | Mapping[str, object] | None) -> LogMap:
    """Return a map from the path of a YAML file, or from its contents; None gives an empty map.

    Raises:
        DynError: the map cannot be used; the message names the line.
    """
    if source is None:
        return LogMap()
    if isinstance(source, Mapping):
        return log_map(as_node(source))
    text = read_text(source, "YAML", "YAML")
    try:
        return log_map(parse_yaml(text))
    except DynError as error:
        raise error.in_file(path_text(source)) from error


def log_map(root: Node) -> LogMap:
    """Return the map of a YAML document; DynError, with the line, if it is invalid."""
    known = ("time", "topic", "units", "delays", "joints", "coupling", "ignore", "held", "control")
    given = entries("the map", root, known)

    def by_joint(key: str, owner: str, read: Callable[[str, Node], _Value]) -> dict[str, _Value]:
        nodes = entries(key, given.get(key, NOTHING))
        return {joint: read(f"{owner} '{shortened(joint, 40)}'", node) for joint, node in nodes.items()}

    units = entries("units", given.get("units", NOTHING), (TIME, *QUANTITIES))
    delays = entries("delays", given.get("delays", NOTHING), QUANTITIES)
    return LogMap(
        time=_column("time", TIME, given["time"]) if "time" in given else ColumnMap(),
        topic=name("topic", given["topic"]) if "topic" in given else None,
        units={what: _unit(f"units, {what}", what, node) for what, node in units.items()},
        delays={what: _delay(f"delays, {what}", node) for what, node in delays.items()},
        joints=by_joint("joints", "joint", _joint),
        couplings=_couplings(items("coupling", given.get("coupling", NOTHING))),
        ignore=tuple(name("ignore", node) for node in items("ignore", given.get("ignore", NOTHING))),
        held=by_joint("held", "held, joint", number),
        control=by_joint("control", "control, joint", _control),
    )


def _optional(
    owner: str, given: Mapping[str, Node], key: str, read: Callable[[str, Node], _Value], default: _Value
) -> _Value:
    """Return an entry, or its default."""
    return read(f"{owner}, {key}", given[key]) if key in given else default


def _unit(owner: str, quantity: str, node: Node) -> Unit:
    text, known = name(owner, node), list(UNITS[quantity])
    found = unit(quantity, text)
    if found is None:
        place = place_in(owner, node)
        raise DynError("unit-unknown", place=place, given=text, quantity=quantity, known=known)
    return found


def _columns(owner: str, given: Mapping[str, Node]) -> dict[str, ColumnMap]:
    return {what: _column(f"{owner}, {what}", what, given[what]) for what in QUANTITIES if what in given}


def _joint(owner: str, node: Node) -> JointMap:
    given = entries(owner, node, (*QUANTITIES, "ratio", "sign"))
    ratio = _optional(owner, given, "ratio", number, 1.0)
    if ratio == 0.0:
        raise DynError("ratio-zero", place=place_in(f"{owner}, ratio", given["ratio"]))
    return JointMap(_columns(owner, given), ratio, _optional(owner, given, "sign", _sign, 1.0))


def _control(owner: str, node: Node) -> ControlMap:
    given = entries(owner, node, (*QUANTITIES, "kp", "kd", "limit"))
    for key in (POSITION, "kp"):
        if key not in given:
            raise DynError("map-entry-missing", place=place_in(owner, node), entry=key)
    # The velocity 0 is not a column: columns without names are numbered from 1.
    velocity = given.get(VELOCITY)
    is_zero = isinstance(velocity, Scalar) and velocity.text.strip() == "0"
    columns = _columns(owner, {k: v for k, v in given.items() if not (k == VELOCITY and is_zero)})
    unnamed = [what for what, column in columns.items() if column.column is None]
    if unnamed:
        raise DynError("control-column-missing", place=place_in(owner, node), quantity=unnamed[0])
    return ControlMap(
        columns,
        kp=not_negative(f"{owner}, kp", given["kp"]),
        kd=_optional(owner, given, "kd", not_negative, 0.0),
        limit=_optional(owner, given, "limit", not_negative, math.inf),
        follows=not is_zero,
    )


def _column(owner: str, quantity: str, node: Node) -> ColumnMap:
    if isinstance(node, Scalar):
        return ColumnMap(column=name(owner, node))
    known = ("column", "topic", "unit", "gain", "sign", "zero", "side", "delay", "counts_per_revolution")
    given = entries(owner, node, known[:3] if quantity == TIME else known)
    gain = _optional(owner, given, "gain", number, None)
    if gain == 0.0:
        raise DynError("gain-zero", place=place_in(f"{owner}, gain", given["gain"]))
    if "counts_per_revolution" in given:
        at = f"{owner}, counts_per_revolution"
        counts = number(at, given["counts_per_revolution"])
        if counts <= 0.0 or gain is not None:
            code = "counts-not-positive" if gain is None else "counts-with-gain"
            raise DynError(code, place=place_in(at, given["counts_per_revolution"]), given=counts)
        gain = 2.0 * math.pi / counts
    return ColumnMap(
        column=_optional(owner, given, "column", name, None),
        topic=_optional(owner, given, "topic", name, None),
        unit=_unit(f"{owner}, unit", quantity, given["unit"]) if "unit" in given else None,
        gain=gain,
        sign=_optional(owner, given, "sign", _sign, 1.0),
        zero=_optional(owner, given, "zero", number, 0.0),
        side=_optional(owner, given, "side", _side, None),
        delay=_optional(owner, given, "delay", _delay, None),
    )


def _side(owner: str, node: Node) -> str:
    side = name(owner, node)
    if side not in (MOTOR, JOINT):
        raise DynError("side-unknown", place=place_in(owner, node), given=side)
    return side


def _delay(owner: str, node: Node) -> float:
    value = number(owner, node)
    if abs(value) > _LONGEST_DELAY_S:
        raise DynError("delay-too-long", place=place_in(owner, node), given=value, limit=_LONGEST_DELAY_S)
    return value


def _sign(owner: str, node: Node) -> float:
    value = number(owner, node)
    if value not in (1.0, -1.0):
        raise DynError("sign-invalid", place=place_in(owner, node), given=value)
    return value


def _couplings(nodes: tuple[Node, ...]) -> tuple[Coupling, ...]:
    couplings = tuple(_coupling(f"coupling[{k}]", node) for k, node in enumerate(nodes))
    joints = Counter(joint for coupling in couplings for joint in coupling.joints)
    repeated = sorted(joint for joint, count in joints.items() if count > 1)
    if repeated:
        raise DynError("coupling-joint-repeated", repeated=repeated)
    return couplings


def _coupling(owner: str, node: Node) -> Coupling:
    import numpy as np

    given = entries(owner, node, ("joints", "matrix", "side"))
    for key in ("joints", "matrix"):
        if key not in given:
            raise DynError("map-entry-missing", place=place_in(owner, node), entry=key)
    joints = tuple(name(f"{owner}, joints", item) for item in items(f"{owner}, joints", given["joints"]))
    at, matrix = f"{owner}, matrix", given["matrix"]
    rows = tuple(tuple(number(at, item) for item in items(at, row)) for row in items(at, matrix))
    if len(rows) != len(joints) or any(len(row) != len(joints) for row in rows):
        raise DynError("coupling-shape", place=place_in(owner, matrix), count=len(joints))
    if not rows or float(np.linalg.cond(np.array(rows))) > 1e8:
        raise DynError("coupling-singular", place=place_in(owner, matrix))
    return Coupling(joints, rows, _optional(owner, given, "side", _side, None))
