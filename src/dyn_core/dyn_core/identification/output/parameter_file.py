# SPDX-License-Identifier: Apache-2.0
"""A parameter set from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.core.text import path_text, read_text
from dyn_core.identification.friction.friction_model import SYMBOLS, TERMS, FrictionModel, Term
from dyn_core.identification.motor_coupling import MotorCoupling
from dyn_core.identification.output.parameter_set import (
    NOT_NEGATIVE,
    ParameterSet,
    SetFriction,
    SetMotor,
    SetValue,
)
from dyn_core.io.yaml_values import entries, fail, items, name, not_negative, number
from dyn_core.results.parameter_text import FORMAT
from dyn_core.robot.yaml_text import Node, Scalar, parse_yaml
from dyn_core.signals.protocol import Protocol

_HASH = 64
_ENTRIES = (
    "format",
    "robot",
    "made",
    "wrong_signals",
    "held_out",
    "coulomb_velocity",
    "protocol",
    "joints",
    "motors",
    "friction_models",
)
_WHOLE = ("order", "half_width", "margin", "decimate")


def load_parameters(path: str | os.PathLike[str]) -> ParameterSet:
    """Answer the dynamic parameters that a file of `dyn identify` says.

    ``load_parameters(path).applied_to(robot)`` answers a robot that has them.

    Args:
        path: the YAML file.

    Raises:
        DynError: it cannot be read, is no such file, or not whole, or a number is not finite.
    """
    shown = path_text(path)
    text = read_text(path, "parameter", "YAML")
    try:
        return _set(parse_yaml(text), shown)
    except DynError as error:
        raise error.in_file(shown) from error


def _set(root: Node, source: str) -> ParameterSet:
    given = entries("the file", root)
    if "format" not in given or _text(given["format"]) != FORMAT:
        said = f"says 'format: {shortened(_text(given['format']), 40)}'" if "format" in given else "is none"
        raise DynError(
            f"a file of dynamic parameters says 'format: {FORMAT}', but this one {said}: give the "
            "parameters.yaml that dyn identify has written"
        )
    entries("the file", root, _ENTRIES)
    for key in ("robot", "joints"):
        if key not in given:
            raise DynError(f"the file has no entry '{key}': it has to be whole")
    robot = entries("robot", given["robot"], ("name", "description_sha256", "kinematics_sha256"))
    for key in ("name", "description_sha256", "kinematics_sha256"):
        if key not in robot:
            raise fail("robot", given["robot"], f"it has no {key}: the file has to be whole")
    hashes = tuple(_hash("description_sha256", node) for node in _hashes(robot["description_sha256"]))
    standard = tuple(
        _value(f"joint '{shortened(joint, 40)}'", key, node)
        for joint, of_joint in entries("joints", given["joints"]).items()
        for key, node in entries(f"joint '{shortened(joint, 40)}'", of_joint).items()
    )
    names = [parameter.name for parameter in standard]
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise DynError(f"the parameters {listed(twice)} are there twice: keep one of each")
    return ParameterSet(
        robot_name=name("robot, name", robot["name"]),
        descriptions=hashes,
        kinematics=_hash("kinematics_sha256", robot["kinematics_sha256"]),
        standard=standard,
        friction=tuple(
            _friction(joint, node)
            for joint, node in entries("friction_models", given.get("friction_models", Scalar(""))).items()
        ),
        made={key: _text(node) for key, node in entries("made", given.get("made", Scalar(""))).items()},
        protocol=_protocol(given.get("protocol", Scalar(""))),
        coulomb_velocity={
            joint: not_negative(f"coulomb_velocity, joint '{shortened(joint, 40)}'", node)
            for joint, node in entries("coulomb_velocity", given.get("coulomb_velocity", Scalar(""))).items()
        },
        motors=tuple(
            _motor(motor, node) for motor, node in entries("motors", given.get("motors", Scalar(""))).items()
        ),
        errors={
            key: _optional(f"held_out, {key}", node)
            for key, node in entries("held_out", given.get("held_out", Scalar(""))).items()
        },
        wrong=tuple(name("wrong_signals", node) for node in _list("wrong_signals", given)),
        source=source,
    )


def _list(key: str, given: Mapping[str, Node]) -> tuple[Node, ...]:
    return items(key, given[key]) if key in given else ()


def _hashes(node: Node) -> tuple[Node, ...]:
    return (node,) if isinstance(node, Scalar) else items("description_sha256", node)


def _hash(owner: str, node: Node) -> str:
    text = name(owner, node).lower()
    if len(text) != _HASH or not set(text) <= set("0123456789abcdef"):
        raise fail(owner, node, f"it is '{shortened(text, 20)}': give {_HASH} hexadecimal digits")
    return text


def _text(node: Node) -> str:
    return node.text.strip() if isinstance(node, Scalar) else ""


def _value(owner: str, key: str, node: Node) -> SetValue:
    owner = f"{owner}, {shortened(key, 40)}"
    given = entries(owner, node, ("value", "deviation", "unit"))
    for entry in ("value", "unit"):
        if entry not in given:
            raise fail(owner, node, f"it has no {entry}: the file has to be whole")
    limited = key.rstrip("0123456789") in NOT_NEGATIVE
    value = (not_negative if limited else number)(owner, given["value"])
    deviation = given.get("deviation", Scalar(""))
    spread = None if not _text(deviation) else not_negative(f"{owner}, deviation", deviation)
    return SetValue(key, value, spread, name(f"{owner}, unit", given["unit"]))


def _motor(motor: str, node: Node) -> SetMotor:
    owner = f"motor '{shortened(motor, 40)}'"
    names = MotorCoupling(motor, {}).parameter_names
    given = entries(owner, node, ("joints", *names))
    for key in ("joints", *names):
        if key not in given:
            raise fail(owner, node, f"it has no {key}: the file has to be whole")
    Ia, Fv, Fs = (_value(owner, key, given[key]) for key in names)
    for value in (Ia, Fv, Fs):
        if value.value < 0.0:
            raise fail(owner, node, f"{value.name} is {value.value:g}: it cannot be negative")
    speeds = {
        joint: number(f"{owner}, joint '{shortened(joint, 40)}'", speed)
        for joint, speed in entries(f"{owner}, joints", given["joints"]).items()
    }
    return SetMotor(motor, speeds, (Ia, Fv, Fs))


def _friction(joint: str, node: Node) -> SetFriction:
    owner = f"friction of joint '{shortened(joint, 40)}'"
    given = entries(owner, node, ("v0", "vt", "vx", "terms"))
    terms: dict[Term, SetValue] = {}
    for key, value in entries(owner, given.get("terms", Scalar(""))).items():
        term = next((term for term in TERMS if term == key), None)
        if term is None:
            raise fail(owner, value, f"there is no term '{shortened(key, 40)}': use {listed(TERMS, 12)}")
        terms[term] = _term(owner, term, value)
    velocities = {
        key: not_negative(f"{owner}, {key}", given[key]) for key in ("v0", "vt", "vx") if key in given
    }
    ordered = tuple(term for term in TERMS if term in terms)
    try:
        model = FrictionModel(ordered, **velocities)
    except ValueError as error:
        raise fail(owner, node, str(error)) from error
    return SetFriction(joint, model, tuple(terms[term] for term in ordered))


def _term(owner: str, term: Term, node: Node) -> SetValue:
    found = _value(owner, term, node)
    return SetValue(SYMBOLS[term], found.value, found.deviation, found.unit)


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
    return Protocol(**_without_missing(given))


def _without_missing(given: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the settings, without a null where there has to be something."""
    default = Protocol()
    return {key: value for key, value in given.items() if value is not None or getattr(default, key) is None}


def _optional(owner: str, node: Node) -> float | None:
    return not_negative(owner, node) if _text(node) else None
