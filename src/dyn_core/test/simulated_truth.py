# SPDX-License-Identifier: Apache-2.0
"""Arms with known parameters, motions that excite them, and simulated sensors."""

from __future__ import annotations

import math

import numpy as np

import dyn_core
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.logs.conditioning.signals import Signals, signals_of_arrays

RATE = 1000.0
DROPPED = 250
"""Number of samples at each end that the position filter distorts."""

SIX = ((0, 0, 0.4), (-90, 0.05, 0), (0, 0.45, 0), (-90, 0.03, 0.42), (90, 0, 0), (-90, 0, 0.1))
SEVEN = (
    *((0, 0, 0.33), (-90, 0, 0), (90, 0, 0.32), (90, 0.08, 0)),
    *((-90, -0.08, 0.38), (90, 0, 0), (90, 0.09, 0)),
)
"""By joint: angle from the previous axis (deg), distance of the axes, offset along the axis (m)."""


def arm(axes: tuple[tuple[float, float, float], ...], seed: int = 0) -> dyn_core.Robot:
    """Return an arm with revolute joints whose bodies get lighter towards the tool."""
    return dyn_core.load_robot(arm_urdf(axes, seed))


def arm_urdf(axes: tuple[tuple[float, float, float], ...], seed: int = 0) -> str:
    """Return the description of `arm`."""
    random = np.random.default_rng(seed)
    parts = ['<link name="base"/>']
    for j, (alpha, d, r) in enumerate(axes, start=1):
        size = 1.0 / j
        mass, (x, y, z) = 8.0 * size, random.uniform(-0.1, 0.1, 3)
        ixx, iyy, izz = mass * random.uniform(0.006, 0.01, 3)
        parts.append(
            f'<link name="link_{j}"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>'
            f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="{1e-3 * mass}" ixz="{-1e-3 * mass}" iyz="0"/>'
            "</inertial></link>"
        )
        parent = "base" if j == 1 else f"link_{j - 1}"
        parts.append(
            f'<joint name="joint_{j}" type="revolute"><parent link="{parent}"/><child link="link_{j}"/>'
            f'<origin xyz="{d} {-r * math.sin(math.radians(alpha))} {r * math.cos(math.radians(alpha))}" '
            f'rpy="{math.radians(alpha)} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" effort="300" velocity="3"/></joint>'
        )
    return f'<robot name="arm_{len(axes)}">{"".join(parts)}</robot>'


def with_drives(robot: dyn_core.Robot, seed: int = 1) -> dyn_core.Robot:
    """Return the robot with rotors and friction, and with other bodies than in its description."""
    random = np.random.default_rng(seed)
    n = len(robot.joints)
    values = np.array(robot.parameters).reshape(n, 14).copy()
    size = np.linspace(1.0, 0.1, n)
    values[:, :10] *= random.uniform(0.8, 1.25, (n, 1))  # heavier or lighter, but physically possible
    for k, (low, high) in enumerate(((0.2, 0.6), (2.0, 6.0), (3.0, 8.0), (-0.5, 0.5)), start=10):
        values[:, k] = size * random.uniform(low, high, n)
    return robot.with_parameters(values.ravel())


def excitation(
    n: int, duration: float = 30.0, seed: int = 0, speed: float = 1.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return times, positions, velocities and accelerations of a Fourier series of five harmonics."""
    random = np.random.default_rng(seed)
    t = np.arange(int(duration * RATE)) / RATE
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    a, b = random.normal(size=(2, 5, n)) / np.arange(1, 6)[:, None]
    sines, cosines = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    velocity = cosines @ (a * w[:, None]) - sines @ (b * w[:, None])
    scale = np.minimum(1.2 / np.abs(sines @ a + cosines @ b).max(0), speed / np.abs(velocity).max(0))
    a, b, w = a * scale, b * scale, w[:, None]
    q, qd = sines @ a + cosines @ b, cosines @ (a * w) - sines @ (b * w)
    return t, q, qd, -(sines @ (a * w**2) + cosines @ (b * w**2))


def exact_motion(robot: dyn_core.Robot, duration: float = 30.0, seed: int = 0) -> Signals:
    """Return a motion of a robot without any noise."""
    t, q, qd, qdd = excitation(robot.dof, duration, seed)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    return signals_of_arrays(robot.joint_names, t, q, qd, qdd, tau)


def sensed(
    exact: Signals, seed: int, torque_noise: float = 0.01, position_noise: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy positions of encoders of 19 bits, and noisy torques of 12 bits.

    The torque noise is relative to the greatest torque of the joint; the position noise is in rad.
    """
    random = np.random.default_rng(seed)
    step = 2.0 * np.pi / 2**19
    q = np.round((exact.q + position_noise * random.normal(size=exact.q.shape)) / step) * step
    greatest = np.abs(exact.tau).max(axis=0)
    tau = exact.tau + torque_noise * greatest * random.normal(size=exact.tau.shape)
    return q, np.round(tau / greatest * 2**11) / 2**11 * greatest


def measured(
    exact: Signals,
    seed: int,
    torque_noise: float = 0.01,
    position_noise: float = 1e-5,
    cutoff: float = 15.0,
    decimate: int = 20,
    train: float = 0.65,
) -> Signals:
    """Return simulated sensor signals, with positions filtered at this cutoff (Hz)."""
    q, tau = sensed(exact, seed, torque_noise, position_noise)
    q = low_pass(q, cutoff)
    qd = np.gradient(q, 1.0 / RATE, axis=0)
    qdd = np.gradient(qd, 1.0 / RATE, axis=0)
    inner = slice(DROPPED, -DROPPED)
    of_sensors = (values[inner] for values in (exact.time, q, qd, qdd, tau))
    return signals_of_arrays(exact.joint_names, *of_sensors, decimate=decimate, train=train)


def low_pass(values: np.ndarray, cutoff: float) -> np.ndarray:
    """Return values after a symmetric filter: a sinc in a Hamming window."""
    reach = DROPPED - 10
    place = np.arange(-reach, reach + 1)
    weights = np.sinc(2.0 * cutoff / RATE * place) * np.hamming(2 * reach + 1)
    weights /= weights.sum()
    padded = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    size = len(padded) + len(weights) - 1
    spectrum = np.fft.rfft(padded, size, axis=0) * np.fft.rfft(weights, size)[:, None]
    return np.fft.irfft(spectrum, size, axis=0)[2 * reach : 2 * reach + len(values)]


def true_values(robot: dyn_core.Robot, base: BaseColumns) -> np.ndarray:
    """Return base parameters, then viscous and Coulomb friction and the offset of each joint."""
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    values = base.matrix @ np.array([known.get(name, 0.0) for name in base.standard_names])
    friction = [known[name] for j in robot.coordinates for name in FrictionModel().names(j)]
    return np.concatenate([values, friction])
