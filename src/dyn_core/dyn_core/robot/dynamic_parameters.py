# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters of a robot as a named vector.

They are, for each joint j, the ten inertial parameters of body j, ``XXj XYj XZj YYj YZj ZZj MXj MYj MZj Mj``,
then ``Iaj Fvj Fsj Foj``. The base does not move and has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Friction, Joint
from dyn_core.robot.links import InertialParameters
from dyn_core.symbolic.scalar import Scalar

INERTIAL = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
OF_JOINT = ("Ia", "Fv", "Fs", "Fo")
PER_JOINT = len(INERTIAL) + len(OF_JOINT)


def parameter_names(joints: int) -> tuple[str, ...]:
    """Return the names of the 14 n standard parameters of n joints."""
    return tuple(f"{name}{j}" for j in range(1, joints + 1) for name in (*INERTIAL, *OF_JOINT))


def parameter_values(joints: Sequence[Joint], bodies: Sequence[InertialParameters]) -> tuple[Scalar, ...]:
    """Return the values of the 14 n standard parameters of joints and the bodies 1 to n that they carry."""
    values: list[Scalar] = []
    for joint, body in zip(joints, bodies, strict=True):
        friction = joint.friction
        values += [*body.values, joint.Ia, friction.Fv, friction.Fs, friction.Fo]
    return tuple(values)


def parametrised(
    joints: Sequence[Joint], values: Sequence[Scalar]
) -> tuple[tuple[Joint, ...], tuple[InertialParameters, ...]]:
    """Return the joints, and the bodies 1 to n, with these 14 n values, numbers or symbols."""
    of_joints, bodies = [], []
    for j, joint in enumerate(joints):
        own = values[PER_JOINT * j : PER_JOINT * (j + 1)]
        Ia, Fv, Fs, Fo = own[len(INERTIAL) :]
        of_joints.append(replace(joint, Ia=Ia, friction=Friction(Fv, Fs, Fo)))
        bodies.append(InertialParameters(*own[: len(INERTIAL)]))
    return tuple(of_joints), tuple(bodies)


def renewed(
    names: Sequence[str], values: Sequence[float], given: Mapping[str, float] | Iterable[float]
) -> tuple[float, ...]:
    """Return the values of named parameters with new values for some, by name, or for all, in order."""
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in set(names)]
        if unknown:
            raise DynError("parameter-unknown", unknown=unknown, known=names, element=unknown[0])
        new = [given.get(name, value) for name, value in zip(names, values, strict=True)]
    else:
        try:
            new = list(given)
        except TypeError as error:
            raise DynError("parameters-type", given=given) from error
        if len(new) != len(names):
            raise DynError("parameters-count", given=len(new), count=len(names))
    return tuple(_finite(name, value) for name, value in zip(names, new, strict=True))


def _finite(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DynError("parameter-not-finite", parameter=name, given=value, element=name)
    return number
