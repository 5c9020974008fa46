# SPDX-License-Identifier: Apache-2.0
"""What the columns of a log mean, as the user says it: a mapping of a few lines of YAML, all optional.

::

    time: {column: stamp, unit: ms}
    topic: /joint_states             # of a bag, where it has several
    units: {position: deg, effort: A}    # where the columns do not say
    delays: {effort: 0.005}         # s by which they are recorded later than they were
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
    control:                         # what moved it: kp (q_r - q) + kd (qd_r - qd) + effort, within limit
      shoulder: {position: q1_ref, velocity: w1_ref, effort: ff1, kp: 900, kd: 60, limit: 150}
    held: {finger: 0.02}             # did not move while the log was made, and is not in it (rad or m)

`joint_side` says what is computed with it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.core.text import path_text, read_text
from dyn_core.io.yaml_values import entries, fail, items, name, not_negative, number
from dyn_core.logs.units import EFFORT, POSITION, TIME, VELOCITY, Unit, unit_of
from dyn_core.robot.yaml_text import Node, Scalar, as_node, parse_yaml

QUANTITIES = (POSITION, VELOCITY, EFFORT)
MOTOR, JOINT = "motor", "joint"
NOTHING = Scalar("")
_LONGEST_DELAY_S = 1.0


@dataclass(frozen=True)
class ColumnMap:
    """Where a quantity is, and how its values become SI units; see `joint_side`.

    Attributes:
        column: name of the column; None where it is to be recognised.
        topic: topic of a bag; None for that of the other quantities.
        unit: of the values; None where the column says it, or SI.
        gain: what a value is multiplied by after its unit (``N m/A``, rated torque for ``%``).
        sign: 1 or -1.
        zero: the value where the quantity is 0, in its unit.
        side: ``motor`` or ``joint``; None: that of the motor where the joint has a ratio.
        delay: time by which values are recorded later than they were (s); None for that of all joints.
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
    """What is said of one joint.

    Attributes:
        columns: by quantity.
        ratio: turns of the motor for one of the joint (rad/m where a motor drives a prismatic joint).
        sign: direction of the drive, 1 or -1.
    """

    columns: dict[str, ColumnMap] = field(default_factory=dict)
    ratio: float = 1.0
    sign: float = 1.0


@dataclass(frozen=True)
class ControlMap:
    """What moved a joint: ``kp (q_r - q) + kd (qd_r - qd) + feedforward``, on the side of the joint.

    Attributes:
        columns: of what was asked for, by quantity; efforts are those of the feedforward.
        kp: gain (N m/rad or N/m).
        kd: gain (N m s/rad or N s/m).
        limit: greatest effort (N m or N).
        follows: whether the velocity that was asked for is that of the position, where no column has it; else
            it is 0.
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
        matrix: a row for each joint.
        side: ``joint`` where all signals are those of joints already; then only rotors and friction of the
            motors act as the matrix says.
    """

    joints: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    side: str | None = None


@dataclass(frozen=True)
class LogMap:
    """What the user says of a log."""

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
        """Whether columns of joints are named, so that no others are looked for."""
        return any(column.column for joint in self.joints.values() for column in joint.columns.values())

    def delay(self, quantity: str, column: ColumnMap) -> float:
        """Answer by which time the values of a column are recorded later than they were (s)."""
        return self.delays.get(quantity, 0.0) if column.delay is None else column.delay


def read_log_map(source: str | os.PathLike[str] | Mapping[str, object] | None) -> LogMap:
    """Answer what a mapping says.

    Args:
        source: path of a YAML file, or what it would hold; None for nothing.

    Raises:
        DynError: it cannot be used; the message names the line.
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
    """Answer what a YAML document says; DynError, with the line, where it is no map of a log."""
    known = ("time", "topic", "units", "delays", "joints", "coupling", "ignore", "held", "control")
    given = entries("the map", root, known)
    units = entries("units", given.get("units", NOTHING), (TIME, *QUANTITIES))
    delays = entries("delays", given.get("delays", NOTHING), QUANTITIES)
    joints = entries("joints", given.get("joints", NOTHING))
    held = entries("held", given.get("held", NOTHING))
    control = entries("control", given.get("control", NOTHING))
    return LogMap(
        time=_column("time", TIME, given["time"]) if "time" in given else ColumnMap(),
        topic=name("topic", given["topic"]) if "topic" in given else None,
        units={what: _unit(f"units, {what}", what, node) for what, node in units.items()},
        delays={what: _delay(f"delays, {what}", node) for what, node in delays.items()},
        joints={joint: _joint(f"joint '{shortened(joint, 40)}'", node) for joint, node in joints.items()},
        couplings=_couplings(items("coupling", given.get("coupling", NOTHING))),
        ignore=tuple(name("ignore", node) for node in items("ignore", given.get("ignore", NOTHING))),
        held={joint: number(f"held, joint '{shortened(joint, 40)}'", node) for joint, node in held.items()},
        control={
            joint: _control(f"control, joint '{shortened(joint, 40)}'", node)
            for joint, node in control.items()
        },
    )


def _unit(owner: str, quantity: str, node: Node) -> Unit:
    try:
        return unit_of(owner, quantity, name(owner, node))
    except DynError as error:
        raise fail(owner, node, error.message.removeprefix(f"{owner}: ")) from error


def _joint(owner: str, node: Node) -> JointMap:
    given = entries(owner, node, (*QUANTITIES, "ratio", "sign"))
    ratio = number(f"{owner}, ratio", given["ratio"]) if "ratio" in given else 1.0
    if ratio == 0.0:
        raise fail(
            f"{owner}, ratio", given["ratio"], "it is 0: give the turns of the motor for one of the joint"
        )
    return JointMap(
        columns={
            what: _column(f"{owner}, {what}", what, given[what]) for what in QUANTITIES if what in given
        },
        ratio=ratio,
        sign=_sign(f"{owner}, sign", given["sign"]) if "sign" in given else 1.0,
    )


def _control(owner: str, node: Node) -> ControlMap:
    given = entries(owner, node, (*QUANTITIES, "kp", "kd", "limit"))
    for key in (POSITION, "kp"):
        if key not in given:
            raise fail(owner, node, f"it has no {key}: add it")
    # Columns without names are numbered from 1.
    velocity = given.get(VELOCITY)
    zero = isinstance(velocity, Scalar) and velocity.text.strip() == "0"
    named = [what for what in QUANTITIES if what in given and not (what == VELOCITY and zero)]
    columns = {what: _column(f"{owner}, {what}", what, given[what]) for what in named}
    unnamed = [what for what, column in columns.items() if column.column is None]
    if unnamed:
        raise fail(owner, node, f"its {unnamed[0]} has no column: name it")
    return ControlMap(
        columns,
        kp=not_negative(f"{owner}, kp", given["kp"]),
        kd=not_negative(f"{owner}, kd", given["kd"]) if "kd" in given else 0.0,
        limit=not_negative(f"{owner}, limit", given["limit"]) if "limit" in given else math.inf,
        follows=not zero,
    )


def _column(owner: str, quantity: str, node: Node) -> ColumnMap:
    if isinstance(node, Scalar):
        return ColumnMap(column=name(owner, node))
    known = ("column", "topic", "unit", "gain", "sign", "zero", "side", "delay", "counts_per_revolution")
    given = entries(owner, node, known[:3] if quantity == TIME else known)
    gain = number(f"{owner}, gain", given["gain"]) if "gain" in given else None
    if gain == 0.0:
        raise fail(f"{owner}, gain", given["gain"], "it is 0: nothing would be left")
    if "counts_per_revolution" in given:
        counts = number(f"{owner}, counts_per_revolution", given["counts_per_revolution"])
        if counts <= 0.0 or gain is not None:
            what = (
                "give it or a gain, not both"
                if gain is not None
                else f"it is {counts:g}: give a number above 0"
            )
            raise fail(f"{owner}, counts_per_revolution", given["counts_per_revolution"], what)
        gain = 2.0 * math.pi / counts
    return ColumnMap(
        column=name(f"{owner}, column", given["column"]) if "column" in given else None,
        topic=name(f"{owner}, topic", given["topic"]) if "topic" in given else None,
        unit=_unit(f"{owner}, unit", quantity, given["unit"]) if "unit" in given else None,
        gain=gain,
        sign=_sign(f"{owner}, sign", given["sign"]) if "sign" in given else 1.0,
        zero=number(f"{owner}, zero", given["zero"]) if "zero" in given else 0.0,
        side=_side(owner, given),
        delay=_delay(f"{owner}, delay", given["delay"]) if "delay" in given else None,
    )


def _side(owner: str, given: Mapping[str, Node]) -> str | None:
    side = name(f"{owner}, side", given["side"]) if "side" in given else None
    if side not in (None, MOTOR, JOINT):
        raise fail(f"{owner}, side", given["side"], f"it is '{shortened(str(side), 40)}': use motor or joint")
    return side


def _delay(owner: str, node: Node) -> float:
    value = number(owner, node)
    if abs(value) > _LONGEST_DELAY_S:
        raise fail(owner, node, f"it is {value:g} s: give at most {_LONGEST_DELAY_S:g} s; was ms meant?")
    return value


def _sign(owner: str, node: Node) -> float:
    value = number(owner, node)
    if value not in (1.0, -1.0):
        raise fail(owner, node, f"it is {value:g}: use 1 or -1")
    return value


def _couplings(nodes: tuple[Node, ...]) -> tuple[Coupling, ...]:
    couplings = tuple(_coupling(f"coupling[{k}]", node) for k, node in enumerate(nodes))
    joints = [joint for coupling in couplings for joint in coupling.joints]
    twice = sorted({joint for joint in joints if joints.count(joint) > 1})
    if twice:
        raise DynError(
            f"coupling: {listed(twice)} is there twice: give one matrix for all joints that move together"
        )
    return couplings


def _coupling(owner: str, node: Node) -> Coupling:
    given = entries(owner, node, ("joints", "matrix", "side"))
    for key in ("joints", "matrix"):
        if key not in given:
            raise fail(owner, node, f"it has no {key}: add it")
    joints = tuple(name(f"{owner}, joints", item) for item in items(f"{owner}, joints", given["joints"]))
    rows = tuple(
        tuple(number(f"{owner}, matrix", item) for item in items(f"{owner}, matrix", row))
        for row in items(f"{owner}, matrix", given["matrix"])
    )
    if len(rows) != len(joints) or any(len(row) != len(joints) for row in rows):
        raise fail(
            owner, given["matrix"], f"it must have {len(joints)} rows of {len(joints)} numbers, one a joint"
        )
    if _is_singular(rows):
        raise fail(
            owner, given["matrix"], "it is singular: some motion of the drives would not move the joints"
        )
    return Coupling(joints, rows, _side(owner, given))


def _is_singular(rows: tuple[tuple[float, ...], ...]) -> bool:
    import numpy as np

    return len(rows) == 0 or float(np.linalg.cond(np.array(rows))) > 1e8
