# SPDX-License-Identifier: Apache-2.0
"""The RRP arm against its equations of motion, written by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dyn_core

RRP = Path(__file__).resolve().parents[3] / "config" / "robots" / "rrp.urdf"
M1, M2, M3 = 2.0, 3.0, 1.5  # kg
L1, L2, L3 = 0.10, 0.40, 0.60  # m
G = 9.81  # m/s^2

STATES = [
    ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    ((0.3, -0.5, 0.1), (0.0, 0.0, 0.0), (1.0, -2.0, 3.0)),
    ((-1.2, 0.9, 0.3), (0.7, -0.4, 0.2), (0.0, 0.0, 0.0)),
    ((2.0, 1.3, 0.2), (-1.5, 2.0, -0.3), (4.0, -3.0, 2.0)),
]


def gravity(q):
    _, phi, s = q
    return (0.0, (M2 * L2 + M3 * (L3 + s)) * G * math.cos(phi), M3 * G * math.sin(phi))


def inertial(q, qdd):
    _, phi, s = q
    about_lift = M2 * L2**2 + M3 * (L3 + s) ** 2
    about_turn = M1 * L1**2 + about_lift * math.cos(phi) ** 2
    return (about_turn * qdd[0], about_lift * qdd[1], M3 * qdd[2])


def coriolis(q, qd):
    _, phi, s = q
    c, sn, rho = math.cos(phi), math.sin(phi), L3 + s
    about_lift = M2 * L2**2 + M3 * rho**2
    turn, lift, stretch = qd
    return (
        -2.0 * about_lift * c * sn * turn * lift + 2.0 * M3 * rho * c**2 * turn * stretch,
        2.0 * M3 * rho * lift * stretch + about_lift * c * sn * turn**2,
        -M3 * rho * (lift**2 + c**2 * turn**2),
    )


def friction(qd):
    coefficients = ((0.8, 0.5), (0.6, 0.4), (12.0, 2.0))
    return tuple(Fv * v + Fs * np.sign(v) for (Fv, Fs), v in zip(coefficients, qd, strict=True))


@pytest.mark.parametrize(("q", "qd", "qdd"), STATES)
def test_every_part_and_the_whole(q, qd, qdd) -> None:
    model = dyn_core.compile_model(dyn_core.load_robot(RRP))
    parts = {
        "gravity": (model.gravity_torques(q), gravity(q)),
        "inertial": (model.inertial_torques(q, qdd), inertial(q, qdd)),
        "coriolis": (model.coriolis_torques(q, qd), coriolis(q, qd)),
        "friction": (model.friction_torques(qd), friction(qd)),
    }
    for name, (ours, expected) in parts.items():
        np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-13, err_msg=name)
    bias = sum(np.array(parts[name][1]) for name in ("gravity", "coriolis", "friction"))
    np.testing.assert_allclose(model.bias_torques(q, qd), bias, rtol=1e-13, atol=1e-13)
    whole = bias + np.array(inertial(q, qdd))
    np.testing.assert_allclose(model.inverse_dynamics(q, qd, qdd), whole, rtol=1e-13, atol=1e-13)


def test_force_on_the_environment_needs_torque() -> None:
    """Pushing down with 10 N at the tip, level arm: the arm must be driven down by 10 N times reach."""
    model = dyn_core.compile_model(dyn_core.load_robot(RRP, gravity=(0.0, 0.0, 0.0)))
    rest = (0.0, 0.0, 0.0)
    wrench = {"slider": (0.0, 0.0, -10.0, 0.0, 10.0 * L3, 0.0)}
    torques = model.inverse_dynamics(rest, rest, rest, wrenches=wrench)
    np.testing.assert_allclose(torques, (0.0, -10.0 * L3, 0.0), atol=1e-14)
