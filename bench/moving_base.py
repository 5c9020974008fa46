# SPDX-License-Identifier: Apache-2.0
"""Robots on a free base, one sample, against Pinocchio with a free-flyer."""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
from alternate import compare
from bars import FREE_FLYER, Bars
from calls import TOLERANCE, Call
from peer_robots import FREE_FLYERS, description, loaded

import dyn_core


def print_moving_base(bars: Bars) -> None:
    """Print a line for each robot and function."""
    print("Robots on a free base: calls from Python, one sample. Pinocchio has a free-flyer for a base; its")
    print("rnea is given the acceleration of the base, which our inverse dynamics of a free base find.")
    print(f"{'robot':10}{'joints':>7}  {'function':34}{'dyn_core':>10}{'/Pinocchio':>12}  bar")
    for name in FREE_FLYERS:
        _print_robot(name, bars)


def _print_robot(name: str, bars: Bars) -> None:
    path = description(name)
    model = dyn_core.compile_moving_base(
        loaded(path), "free", backend="c", friction=False, rotor_inertia=False
    )
    n = len(model.joint_names)
    random = np.random.default_rng(0)
    quaternion = random.normal(size=4)
    pose = np.array([*random.normal(size=3), *(quaternion / np.linalg.norm(quaternion))])
    V = random.uniform(-1.0, 1.0, 6)
    q, qd, tau = random.uniform(-1.0, 1.0, (3, n))

    peer = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    peer.armature[:] = 0.0
    data = peer.createData()
    joints = [peer.joints[peer.getJointId(joint)] for joint in model.joint_names]
    order = np.array([*range(6), *(joint.idx_v for joint in joints)])

    def vector(base: np.ndarray, ours: np.ndarray) -> np.ndarray:
        full = np.zeros(peer.nv)
        full[order] = np.concatenate((base, ours))
        return full

    q_peer = pin.integrate(peer, pin.neutral(peer), vector(np.zeros(6), q))
    q_peer[:7] = pose
    v_peer, tau_peer = vector(V, qd), vector(np.zeros(6), tau)
    a_peer = np.array(pin.aba(peer, data, q_peer, v_peer, tau_peer))
    found = a_peer[order]
    Vd = np.array(found[:6])
    Vd[:3] += np.cross(V[3:], V[:3])
    qdd = np.ascontiguousarray(found[6:])

    aba = partial(pin.aba, peer, data, q_peer, v_peer, tau_peer)
    rnea = partial(pin.rnea, peer, data, q_peer, v_peer, a_peer)
    crba = partial(pin.crba, peer, data, q_peer)
    A = np.triu(crba())
    A = (A + np.triu(A, 1).T)[np.ix_(order, order)]
    zeros = np.zeros(6)
    lines: list[tuple[str, Call, Call, np.ndarray]] = [
        (
            "inverse dynamics",
            partial(model.inverse_dynamics, pose, V, q, qd, qdd),
            rnea,
            np.array([*Vd, *tau]),
        ),
        (
            "inverse dynamics, base given",
            partial(model.inverse_dynamics_given_base, pose, V, Vd, q, qd, qdd),
            rnea,
            np.array([*zeros, *tau]),
        ),
        (
            "direct dynamics",
            partial(model.forward_dynamics, pose, V, q, qd, tau),
            aba,
            np.array([*Vd, *qdd]),
        ),
        ("inertia matrix", partial(model.inertia_matrix, q), crba, A),
    ]
    for what, ours, theirs, expected in lines:
        scale = max(np.abs(expected).max(), np.abs(A).max() * np.abs(found).max() * 1e-3)
        difference = float(np.abs(ours() - expected).max() / scale)
        if difference > TOLERANCE:
            print(f"{name}, {what}: not comparable, the results differ by {difference:.1e}")
            continue
        comparison = compare([ours, theirs])
        bar = FREE_FLYER.get(name) if "dynamics" in what else None
        mark = bars.mark(f"{name} on a free base, {what}", comparison.ratio(1), bar)
        time = f"{1e9 * comparison.seconds(0):.0f} ns"
        print(f"{name:10}{n:>7}  {what:34}{time:>10}{comparison.ratio(1):>12.4f}  {mark}", flush=True)
