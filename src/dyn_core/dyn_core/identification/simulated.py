# SPDX-License-Identifier: Apache-2.0
"""The motion of a robot with given parameters, under the control that the measured one was under.

Between samples the torque of the control is held, and the robot moves by the Runge-Kutta method of fourth
order. Signs in friction are smoothed over the velocity that Coulomb friction takes away in a step, so that
a joint at rest does not jitter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction_torques import friction_torques
from dyn_core.identification.passive_torques import Torques
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.control import Control
from dyn_core.model.fixed_base.compiled_model import Model


def simulated(
    model: Model,
    friction: Sequence[FrictionModel],
    x: Array,
    control: Control,
    signals: Signals,
    passive: Torques | None = None,
) -> Signals:
    """Answer what a robot does at the times of a motion, from its first state, and from that after each gap.

    Args:
        model: rigid bodies and rotors, without friction.
        friction: friction of each joint.
        x: its parameters, joint by joint.
        control: what moves it.
        signals: the times and the first states.
        passive: friction of passive joints on the actuated ones; None where there is none.

    Raises:
        DynError: the simulation diverges.
    """
    N, n = signals.q.shape
    h = signals.period
    smooth = _smoothing(model, friction, x, signals.q[0], h)
    of_friction = friction_torques(friction, x, smooth)
    loaded = any(one.loaded for one in friction)
    q, qd, qdd, tau = (np.empty((N, n)) for _ in range(4))
    state = signals.q[0].copy(), signals.qd[0].copy()
    starts = {first for first, _ in signals.segments}
    load = np.zeros(n)

    def acceleration(q: Array, qd: Array, torque: Array) -> Array:
        left = torque - of_friction(qd, load)
        return model.forward_dynamics(q, qd, left if passive is None else left - passive(q, qd))

    for k in range(N):
        q[k], qd[k] = (signals.q[k], signals.qd[k]) if k in starts else state
        asked = control.kp * (control.q[k] - q[k]) + control.kd * (control.qd[k] - qd[k])
        tau[k] = np.clip(asked + control.feedforward[k], -control.limit, control.limit)
        a = acceleration(q[k], qd[k], tau[k])
        qdd[k] = a
        if loaded:
            load = model.inverse_dynamics(q[k], qd[k], a)
        v2 = qd[k] + 0.5 * h * a
        a2 = acceleration(q[k] + 0.5 * h * qd[k], v2, tau[k])
        v3 = qd[k] + 0.5 * h * a2
        a3 = acceleration(q[k] + 0.5 * h * v2, v3, tau[k])
        v4 = qd[k] + h * a3
        a4 = acceleration(q[k] + h * v3, v4, tau[k])
        state = q[k] + h / 6.0 * (qd[k] + 2.0 * (v2 + v3) + v4), qd[k] + h / 6.0 * (a + 2.0 * (a2 + a3) + a4)
        if not np.isfinite(state[1]).all():
            raise DynError(
                f"the simulated robot diverges after {signals.time[k] - signals.time[0]:.3g} s: "
                "the gains of the control or the parameters to begin with are not those of the robot"
            )
    return replace(signals, q=q, qd=qd, qdd=qdd, tau=tau)


def _smoothing(model: Model, friction: Sequence[FrictionModel], x: Array, q: Array, h: float) -> Array:
    """Velocities that Coulomb friction takes away in a step, three times."""
    jump = friction_torques(friction, x)(np.full(len(friction), 1e-9), np.zeros(len(friction)))
    A = model.inertia_matrix(q)
    return 3.0 * h * np.abs(jump) / np.maximum(np.diag(A), np.finfo(float).tiny)
