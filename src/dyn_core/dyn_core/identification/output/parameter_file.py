# SPDX-License-Identifier: Apache-2.0
"""Write and read the YAML file of a parameter set."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from dyn_core.core.errors import ArgumentError, DynError, ModelWarning, shortened
from dyn_core.core.text import path_text, read_text
from dyn_core.identification.friction.friction_model import (
    SYMBOLS,
    TERMS,
    VELOCITIES,
    FrictionModel,
    Term,
    friction_formula,
    velocities,
)
from dyn_core.identification.output.parameter_set import (
    NOT_NEGATIVE,
    ParameterSet,
    Reason,
    SetFriction,
    SetMotor,
    SetValue,
)
from dyn_core.identification.regressor.base_columns import MotorCoupling
from dyn_core.logs.conditioning.signals import Protocol
from dyn_core.robot.dynamic_parameters import PER_JOINT
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot import Robot
from dyn_core.robot.yaml_text import Node, Scalar, entries, items, not_negative, number, parse_yaml, place_in
from dyn_core.robot.yaml_text import name as yaml_name

FORMAT = "dyn_parameters 1"

_HEAD = """\
# Dynamic parameters of robot {robot}. `dyn` takes this file with --parameters, Python with
# dyn_core.load_parameters, and the nodes feedforward, simulation and controller as their parameter
# dynamic_parameters_file. It has to be whole, and is for the descriptions named below alone.
#
# Parameters are those of `dyn mdh`: body j is what moves with joint j, in the modified Denavit-Hartenberg
# frame j. "deviation" is one standard deviation, null where none is known. "description" behind a line: the
# log says little of this parameter alone; its value is that of the description as far as the log allows, and
# its deviation what the description is trusted with. All bodies are possible ones.
"""

_FRICTION_HEAD = """\
# Friction as it was identified, which `dyn predict` uses. The nodes and simulation know Fv, Fs and Fo alone:
# "joints" above has, of these, what leaves least of the measured torques with the velocities above;
# identified.urdf has what leaves least where Coulomb friction changes its sign at once.
# qd: velocity; s: its sign, smoothed over v0 where v0 is not 0.
"""

_MOTORS_HEAD = """\
# Motors that move several joints, which `dyn predict` uses: with a the speeds of "joints", of each joint for
# itself at unit speed, their torque is a (Iam a.qdd + Fvm a.qd + Fsm sign(a.qd)). The nodes do not know them:
# of Iam, the Ia of each joint above has its own part, Iam a^2, and of friction what comes nearest.
"""

_VERDICT_HEAD = "# Do not use: why not. While this is here, no robot gets these parameters without force.\n"
_ERRORS_HEAD = (
    "# Relative torque error |tau - tau_model| / |tau| on the part of the log that no fit has seen.\n"
)
_VELOCITY_HEAD = """\
# Velocity (rad/s or m/s) over which Coulomb friction changes its sign in feedforward:
# Fv qd + Fs tanh(qd / velocity) + Fo. 0: at once.
"""
_PROTOCOL_HEAD = "# How signals were conditioned; null: chosen by the data.\n"
_GROUPS = (
    (0, 6, "inertia about the origin of frame {j}"),
    (6, 9, "first moments: mass times centre of mass"),
    (9, 10, "mass"),
    (10, 11, "inertia of the rotor and gears, seen at the joint"),
    (11, 14, "viscous friction, Coulomb friction, offset"),
)


def parameter_text(robot: Robot, parameters: ParameterSet, unseen: Collection[str] = ()) -> str:
    """Return the text of a file from which `load_parameters` gets the same parameters.

    `unseen` names those whose value is mainly that of the description, which a comment notes.
    """
    return "".join(f"{line}\n" for line in _lines(robot, parameters, unseen))


def _lines(robot: Robot, parameters: ParameterSet, unseen: Collection[str]) -> Iterator[str]:
    yield _HEAD.format(robot=quoted(parameters.robot_name))
    yield f"format: {FORMAT}"
    yield ""
    yield "robot:"
    yield f"  name: {quoted(parameters.robot_name)}"
    yield "  description_sha256:   # of the description that was used, and of identified.urdf"
    yield from (f"    - {quoted(text)}" for text in parameters.descriptions)
    yield f"  kinematics_sha256: {quoted(parameters.kinematics)}"
    of_joints = (parameters.standard[k : k + PER_JOINT] for k in range(0, len(robot.parameters), PER_JOINT))
    joints = zip(robot.joints, of_joints, strict=True)
    friction = zip(robot.coordinates, parameters.friction, strict=False)
    protocol = vars(parameters.protocol)
    for head, lines in (
        ("made:", [f"  {key}: {quoted(value)}" for key, value in parameters.made.items()]),
        (f"{_VERDICT_HEAD}verdict:", [_reason_line(one) for one in parameters.reasons]),
        (f"{_ERRORS_HEAD}held_out:", _numbers("  ", parameters.errors)),
        (f"{_VELOCITY_HEAD}coulomb_velocity:", _numbers("  ", parameters.coulomb_velocity, quoted)),
        (
            f"{_PROTOCOL_HEAD}protocol:",
            [f"  {key}: {json.dumps(x)}" for key, x in protocol.items()],
        ),
        ("joints:", [line for j, pair in enumerate(joints, start=1) for line in _joint(j, *pair, unseen)]),
        (f"{_MOTORS_HEAD}motors:", [line for motor in parameters.motors for line in _motor_lines(motor)]),
        (f"{_FRICTION_HEAD}friction_models:", [line for pair in friction for line in _friction(*pair)]),
    ):
        if lines:
            yield from ("", head, *lines)


def _numbers(indent: str, values: Mapping[str, float | None], shown: Callable[[str], str] = str) -> list[str]:
    return [f"{indent}{shown(key)}: {_number(value)}" for key, value in values.items()]


def _reason_line(reason: Reason) -> str:
    text = quoted(reason.text)
    return f"  - {{code: {reason.code}, text: {text}}}" if reason.code else f"  - {text}"


def _motor_lines(motor: SetMotor) -> Iterator[str]:
    yield f"  {quoted(motor.name)}:"
    yield "    joints:"
    yield from _numbers("      ", motor.joints, quoted)
    yield from (f"    {_entry(value)}" for value in motor.values)


def _joint(j: int, joint: Joint, values: tuple[SetValue, ...], unseen: Collection[str]) -> Iterator[str]:
    kind = "prismatic" if joint.position_unit == "m" else "revolute"
    yield f"  {quoted(joint.name)}:   # joint {j}, {kind}"
    for first, last, what in _GROUPS:
        yield f"    # {what.format(j=j)}"
        for value in values[first:last]:
            yield f"    {_entry(value)}{'   # description' if value.name in unseen else ''}"


def _friction(j: int, friction: SetFriction) -> Iterator[str]:
    model = friction.model
    yield f"  {quoted(friction.joint)}:   # {friction_formula(model, j)}"
    for name, velocity in velocities(model).items():
        if velocity:
            yield f"    {name}: {_number(velocity)}"
    yield "    terms:"
    for term, value in zip(model.terms, friction.values, strict=True):
        yield f"      {term}: {_braces(value)}   # {SYMBOLS[term]}{j}"


def _entry(value: SetValue) -> str:
    return f"{value.name}: {_braces(value)}"


def _braces(value: SetValue) -> str:
    return f"{{value: {_number(value.value)}, deviation: {_number(value.deviation)}, unit: {value.unit}}}"


def _number(value: float | None) -> str:
    return "null" if value is None else repr(float(value) + 0.0)


def quoted(text: str) -> str:
    """Return a text as YAML between quotation marks."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


_HASH = 64
_ENTRIES = (
    "format",
    "robot",
    "made",
    "verdict",
    "wrong_signals",
    "held_out",
    "coulomb_velocity",
    "protocol",
    "joints",
    "motors",
    "friction_models",
)
_WHOLE = ("order", "half_width", "margin", "decimate")


def load_parameters(path: str | os.PathLike[str], force: bool = False) -> ParameterSet:
    """Return the dynamic parameters in a file of `dyn identify`.

    ``load_parameters(path).applied_to(robot)`` returns a robot with them. Raise DynError if the file cannot
    be read, is of another kind, is incomplete, or has a number that is not finite; or if its verdict is that
    the parameters must not be used. With `force` they are returned all the same, and a ModelWarning says why
    they should not be used.
    """
    shown = path_text(path)
    text = read_text(path, "parameter", "YAML")
    try:
        found = replace(_set(parse_yaml(text), shown), forced=force)
        found.check_verdict()
    except DynError as error:
        raise error.in_file(shown) from error
    if found.reasons:
        cause = found.reasons[0].text
        warnings.warn(ModelWarning("parameters-forced", file=shown, cause=cause), stacklevel=2)
    return found


def _set(root: Node, source: str) -> ParameterSet:
    given = entries("the file", root)
    if "format" not in given:
        raise DynError("parameter-file-without-format", expected=FORMAT)
    if _text(given["format"]) != FORMAT:
        raise DynError("parameter-file-format", expected=FORMAT, given=_text(given["format"]))
    entries("the file", root, _ENTRIES)
    for key in ("robot", "joints"):
        if key not in given:
            raise DynError("file-entry-missing", entry=key)

    def optional(key: str) -> Iterable[tuple[str, Node]]:
        return entries(key, given.get(key, Scalar(""))).items()

    robot = _parts("robot", given["robot"], ("name", "description_sha256", "kinematics_sha256"))
    hashes = robot["description_sha256"]
    nodes = (hashes,) if isinstance(hashes, Scalar) else items("description_sha256", hashes)
    standard = tuple(
        _value(f"joint '{shortened(joint, 40)}'", key, node)
        for joint, of_joint in entries("joints", given["joints"]).items()
        for key, node in entries(f"joint '{shortened(joint, 40)}'", of_joint).items()
    )
    counts = Counter(parameter.name for parameter in standard)
    twice = sorted(one for one, count in counts.items() if count > 1)
    if twice:
        raise DynError("parameters-repeated", repeated=twice)
    return ParameterSet(
        robot_name=yaml_name("robot, name", robot["name"]),
        descriptions=tuple(_hash("description_sha256", node) for node in nodes),
        kinematics=_hash("kinematics_sha256", robot["kinematics_sha256"]),
        standard=standard,
        friction=tuple(_friction_model(joint, node) for joint, node in optional("friction_models")),
        made={key: _text(node) for key, node in optional("made")},
        protocol=_protocol(given.get("protocol", Scalar(""))),
        coulomb_velocity={
            joint: not_negative(f"coulomb_velocity, joint '{shortened(joint, 40)}'", node)
            for joint, node in optional("coulomb_velocity")
        },
        motors=tuple(_motor(motor, node) for motor, node in optional("motors")),
        errors={key: _optional(f"held_out, {key}", node) for key, node in optional("held_out")},
        reasons=tuple(
            _reason(key, node)
            for key in ("verdict", "wrong_signals")  # the second is of earlier versions
            if key in given
            for node in items(key, given[key])
        ),
        source=source,
    )


def _parts(
    owner: str, node: Node, needed: tuple[str, ...], others: tuple[str, ...] = ()
) -> Mapping[str, Node]:
    """Return entries of a mapping; DynError if one that is needed is missing, or one is unknown."""
    given = entries(owner, node, (*needed, *others))
    for key in needed:
        if key not in given:
            raise DynError("parameter-part-missing", place=place_in(owner, node), part=key)
    return given


def _reason(owner: str, node: Node) -> Reason:
    """Return a reason of the verdict; files of earlier versions have the text alone."""
    if isinstance(node, Scalar):
        return Reason("", yaml_name(owner, node))
    given = _parts(owner, node, ("code", "text"))
    code, text = (yaml_name(f"{owner}, {key}", given[key]) for key in ("code", "text"))
    return Reason(code, text)


def _hash(owner: str, node: Node) -> str:
    text = yaml_name(owner, node).lower()
    if len(text) != _HASH or not set(text) <= set("0123456789abcdef"):
        raise DynError("hash-invalid", place=place_in(owner, node), given=text, count=_HASH)
    return text


def _text(node: Node) -> str:
    return node.text.strip() if isinstance(node, Scalar) else ""


def _value(owner: str, key: str, node: Node) -> SetValue:
    owner = f"{owner}, {shortened(key, 40)}"
    given = _parts(owner, node, ("value", "unit"), ("deviation",))
    limited = key.rstrip("0123456789") in NOT_NEGATIVE
    value = (not_negative if limited else number)(owner, given["value"])
    deviation = _optional(f"{owner}, deviation", given.get("deviation", Scalar("")))
    return SetValue(key, value, deviation, yaml_name(f"{owner}, unit", given["unit"]))


def _motor(motor: str, node: Node) -> SetMotor:
    owner = f"motor '{shortened(motor, 40)}'"
    names = MotorCoupling(motor, {}).parameter_names
    given = _parts(owner, node, ("joints", *names))
    values = tuple(_value(owner, key, given[key]) for key in names)
    for one in values:
        if one.value < 0.0:
            place = place_in(owner, node)
            raise DynError("motor-parameter-negative", place=place, parameter=one.name, given=one.value)
    speeds = {
        joint: number(f"{owner}, joint '{shortened(joint, 40)}'", speed)
        for joint, speed in entries(f"{owner}, joints", given["joints"]).items()
    }
    return SetMotor(motor, speeds, values)


def _friction_model(joint: str, node: Node) -> SetFriction:
    owner = f"friction of joint '{shortened(joint, 40)}'"
    given = entries(owner, node, (*VELOCITIES, "terms"))
    terms: dict[Term, SetValue] = {}
    for key, value in entries(owner, given.get("terms", Scalar(""))).items():
        term = next((term for term in TERMS if term == key), None)
        if term is None:
            raise DynError("friction-term-unknown", place=place_in(owner, value), given=key, known=TERMS)
        terms[term] = replace(_value(owner, term, value), name=SYMBOLS[term])
    known = {key: not_negative(f"{owner}, {key}", given[key]) for key in VELOCITIES if key in given}
    ordered = tuple(term for term in TERMS if term in terms)
    try:
        model = FrictionModel(ordered, **known)
    except ArgumentError as error:
        raise DynError(error.code, place=place_in(owner, node), **error.values) from error
    return SetFriction(joint, model, tuple(terms[term] for term in ordered))


def _protocol(node: Node) -> Protocol:
    known = {field.name: field for field in fields(Protocol)}
    given: dict[str, Any] = {}
    for key, value in entries("protocol", node, tuple(known)).items():
        text, owner = _text(value), f"protocol, {key}"
        if not text:
            given[key] = None
        elif text in ("true", "false"):
            given[key] = text == "true"
        else:
            given[key] = int(number(owner, value)) if key in _WHOLE else number(owner, value)
    default = Protocol()  # a null stands only where the default is None
    return Protocol(**{key: x for key, x in given.items() if x is not None or getattr(default, key) is None})


def _optional(owner: str, node: Node) -> float | None:
    return not_negative(owner, node) if _text(node) else None
