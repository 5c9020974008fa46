# SPDX-License-Identifier: Apache-2.0
"""One step of a simulation."""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.simulation.implicit_midpoint import implicit_midpoint
from dyn_core.simulation.integrators.integration_methods import Mode, runge_kutta
from dyn_core.simulation.integrators.mechanism import Load, Mechanism
from dyn_core.simulation.loop_step import checked_step
from dyn_core.simulation.semi_implicit_euler import semi_implicit_euler
from dyn_core.simulation.settings import Method
from dyn_core.simulation.state import State

METHODS = {
    "rk4": runge_kutta,
    "semi_implicit_euler": semi_implicit_euler,
    "implicit_midpoint": implicit_midpoint,
}


def advance(
    mechanism: Mechanism,
    integrator: Method,
    state: State,
    load: Load,
    until: float,
    substeps: int,
    mode: Mode | None = None,
) -> State:
    """Answer the state at a later time.

    Args:
        mechanism: the robot.
        integrator: the method.
        state: the state to begin with.
        load: what acts on the joints all the time.
        until: time of the answer (s).
        substeps: number of steps of the integrator.
        mode: the present mode, where it is known.

    Raises:
        DynError: the simulation diverges, or comes to where the loops of the robot do not close.
    """
    usual = mechanism.usual_step if load.w is None else None
    implicit = integrator == "semi_implicit_euler"
    h = (until - state.time) / substeps
    q, qd, passive = state.q, state.qd, mechanism.passive
    for k in range(substeps):
        made = None if usual is None else usual(implicit, q, qd, load.tau, h, passive.known(q, qd))
        if made is None:
            moment = state.time + k * h
            q, qd = _watched(mechanism, integrator, (q, qd), load, moment, h, mode if k == 0 else None)
        else:
            q, qd, known = made
            passive.keep(q, qd, known)
    return State(until, q, qd)


def _watched(
    mechanism: Mechanism,
    integrator: Method,
    before: tuple[Array, Array],
    load: Load,
    moment: float,
    h: float,
    mode: Mode | None,
) -> tuple[Array, Array]:
    """Answer positions and velocities after a step in which something may happen."""
    passive = mechanism.passive.motion(*before)
    try:
        after = METHODS[integrator](mechanism, *before, load, h, mode)
    except DynError as problem:
        raise _end(problem, moment) from problem
    bound = mechanism.greatest_speed
    for v in after[1].tolist():
        if not -bound <= v <= bound:  # not so for NaN, either
            raise _divergence(mechanism, integrator, after[1], moment + h, h)
    if not mechanism.passive.names:
        return after
    for array in after:
        array.flags.writeable = False  # what is known of the passive joints there is kept
    try:
        return checked_step(mechanism, before, passive, load, h, after)
    except DynError as problem:
        raise _end(problem, moment) from problem


def _end(problem: DynError, time: float) -> DynError:
    return DynError(f"the simulation cannot go on after {time:.6g} s: {problem}", element=problem.element)


def _divergence(mechanism: Mechanism, integrator: Method, qd: Array, time: float, h: float) -> DynError:
    speed = np.where(np.isnan(qd), np.inf, np.abs(qd))
    joint = mechanism.joint_names[int(speed.argmax())]
    remedy = "take a smaller step or more substeps"
    if integrator == "rk4":
        remedy += ", or the integrator semi_implicit_euler where friction is strong"
    if mechanism.passive.names:
        remedy += "; near a singularity of the loops none is small enough"
    value = qd[speed.argmax()]
    return DynError(
        f"the simulation diverges at {time:.6g} s: the velocity of joint '{joint}' becomes {value:g}, "
        f"with steps of {h:g} s of the integrator: {remedy}",
        element=f"joint '{joint}'",
    )
