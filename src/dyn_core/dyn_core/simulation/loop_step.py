# SPDX-License-Identifier: Apache-2.0
"""What becomes of a step of a robot with loops: stops of passive joints, and singularities.

At a singularity two assembly modes meet. A step that goes into the other one, or comes back from it, is of a
motion that the actuated joints do not determine: there the determinant of the constraints changes its sign.
Where many meet, as in a five-bar whose elbows are in one place, a passive joint jumps.
"""

from __future__ import annotations

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.simulation.integrators.mechanism import Load, Mechanism
from dyn_core.simulation.integrators.passive_motion import JUMP, PassiveMotion
from dyn_core.simulation.passive_stops import within_stops


def checked_step(
    mechanism: Mechanism,
    before: tuple[Array, Array],
    passive: PassiveMotion,
    load: Load,
    h: float,
    after: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Answer positions and velocities after a step h (s).

    Args:
        mechanism: the robot.
        before: positions and velocities before the step (rad or m, and a second).
        passive: the motion of the passive joints there.
        load: what acts on the joints.
        h: the step (s).
        after: positions and velocities after it, where nothing holds passive joints.

    Raises:
        DynError: the step passes a singularity.
    """
    moved = mechanism.passive.motion(*after)
    if mechanism.passive_stops:
        held = within_stops(mechanism, *before, passive.q, load, h, after, moved.q)
        if held is not after:
            after, moved = held, mechanism.passive.motion(*held)
    if _turned(passive, moved) or _jumped(passive, moved, h):
        raise DynError(
            "the robot passes a singularity of its loops, beyond which the actuated joints do not determine "
            f"its motion, from {_words(mechanism, before[0])}: keep away from it, or take smaller steps"
        )
    return after


def _turned(before: PassiveMotion, after: PassiveMotion) -> bool:
    """Whether a determinant changed its sign."""
    for old, new in zip(before.orientation, after.orientation, strict=True):  # noqa: SIM110 - faster
        if old * new <= 0.0:
            return True
    return False


def _jumped(before: PassiveMotion, after: PassiveMotion, h: float) -> bool:
    """Whether a passive joint went where its velocities do not lead it."""
    for a, b, u, v in zip(before.q, after.q, before.qd, after.qd, strict=True):
        if not abs(b - a - 0.5 * h * (u + v)) <= JUMP + h * (abs(u) + abs(v)):
            return True
    return False


def _words(mechanism: Mechanism, q: Array) -> str:
    joints = zip(mechanism.joint_names, q.tolist(), strict=True)
    return ", ".join(f"{name} = {value:.4g}" for name, value in joints)
