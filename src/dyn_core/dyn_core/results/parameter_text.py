# SPDX-License-Identifier: Apache-2.0
"""A parameter set as YAML that people can read: grouped by joint, with a unit at each number."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import fields

from dyn_core.identification.friction.friction_model import SYMBOLS
from dyn_core.identification.output.parameter_set import ParameterSet, SetFriction, SetValue
from dyn_core.model.standard_parameters import PER_JOINT
from dyn_core.results.friction_formula import friction_formula
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot import Robot

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

_GROUPS = (
    (0, 6, "inertia about the origin of frame {j}"),
    (6, 9, "first moments: mass times centre of mass"),
    (9, 10, "mass"),
    (10, 11, "inertia of the rotor and gears, seen at the joint"),
    (11, 14, "viscous friction, Coulomb friction, offset"),
)


def parameter_text(robot: Robot, parameters: ParameterSet, unseen: Collection[str] = ()) -> str:
    """Answer the text of a file from which `load_parameters` gets the same parameters.

    Args:
        robot: the robot that they are of.
        parameters: all of them.
        unseen: names of those whose value is mainly that of the description, which a comment says.
    """
    return "\n".join([*_lines(robot, parameters, unseen), ""])


def _lines(robot: Robot, parameters: ParameterSet, unseen: Collection[str]) -> Iterator[str]:
    yield _HEAD.format(robot=quoted(parameters.robot_name))
    yield f"format: {FORMAT}"
    yield ""
    yield "robot:"
    yield f"  name: {quoted(parameters.robot_name)}"
    yield "  description_sha256:   # of the description that was used, and of identified.urdf"
    yield from (f"    - {quoted(text)}" for text in parameters.descriptions)
    yield f"  kinematics_sha256: {quoted(parameters.kinematics)}"
    yield ""
    yield "made:"
    yield from (f"  {key}: {quoted(value)}" for key, value in parameters.made.items())
    if parameters.wrong:
        yield ""
        yield "# What is wrong with the log: while this is here, no robot gets these parameters."
        yield "wrong_signals:"
        yield from (f"  - {quoted(text)}" for text in parameters.wrong)
    if parameters.errors:
        yield ""
        yield "# Relative torque error |tau - tau_model| / |tau| on the part of the log that no fit has seen."
        yield "held_out:"
        yield from (f"  {key}: {_number(value)}" for key, value in parameters.errors.items())
    if parameters.coulomb_velocity:
        yield ""
        yield "# Velocity (rad/s or m/s) over which Coulomb friction changes its sign in feedforward:"
        yield "# Fv qd + Fs tanh(qd / velocity) + Fo. 0: at once."
        yield "coulomb_velocity:"
        yield from (f"  {quoted(joint)}: {_number(v0)}" for joint, v0 in parameters.coulomb_velocity.items())
    yield ""
    yield "# How signals were conditioned; null: chosen by the data."
    yield "protocol:"
    for field in fields(parameters.protocol):
        value = getattr(parameters.protocol, field.name)
        yield f"  {field.name}: {'null' if value is None else json.dumps(value)}"
    yield ""
    yield "joints:"
    for j, joint in enumerate(robot.joints, start=1):
        yield from _joint(j, joint, parameters.standard[PER_JOINT * (j - 1) : PER_JOINT * j], unseen)
    if parameters.motors:
        yield ""
        yield _MOTORS_HEAD.rstrip()
        yield "motors:"
        for motor in parameters.motors:
            yield f"  {quoted(motor.name)}:"
            yield "    joints:"
            yield from (f"      {quoted(joint)}: {_number(speed)}" for joint, speed in motor.joints.items())
            yield from (f"    {_entry(value)}" for value in motor.values)
    if parameters.friction:
        yield ""
        yield _FRICTION_HEAD.rstrip()
        yield "friction_models:"
        for j, friction in zip(robot.coordinates, parameters.friction, strict=True):
            yield from _friction(j, friction)


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
    for name in ("v0", "vt", "vx"):
        if getattr(model, name):
            yield f"    {name}: {_number(getattr(model, name))}"
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
    """Answer a text as YAML between quotation marks."""
    return json.dumps(text, ensure_ascii=not text.isprintable())
