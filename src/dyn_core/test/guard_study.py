# SPDX-License-Identifier: Apache-2.0
"""Simulated logs of arms with one defect each, or none, from the file to the verdict on the result.

Everything else differs from run to run: bodies and friction of the arm, the error of its description, the
motion, rate, resolution and noise of the log, and the size of the defect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from identification_log import write_table
from simulated_truth import SEVEN, arm_urdf

import dyn_core
from dyn_core.identification.output.identification_result import Result
from dyn_core.identification.pipeline import make_result
from dyn_core.robot.robot_files import read_robot

Row = tuple[tuple[float, float, float], float, tuple[float, float, float], float]
"""By joint: angle from the previous axis (deg), distance of the axes, offset along the axis (m); mass (kg)
and centre (m) of its link, in its frame; effort limit (N m)."""

UR5: tuple[Row, ...] = (
    ((0, 0, 0.089), 3.7, (0.0, -0.002, -0.026), 150.0),
    ((90, 0, 0), 8.39, (-0.2125, 0.0, 0.113), 150.0),
    ((0, -0.425, 0), 2.33, (-0.242, 0.0, 0.0265), 150.0),
    ((0, -0.392, 0.109), 1.22, (0.0, -0.016, -0.002), 28.0),
    ((90, 0, 0.095), 1.22, (0.0, 0.016, -0.002), 28.0),
    ((-90, 0, 0.082), 0.19, (0.0, 0.0, -0.001), 28.0),
)
PANDA: tuple[Row, ...] = (
    ((0, 0, 0.333), 4.97, (0.004, 0.002, -0.175), 87.0),
    ((-90, 0, 0), 0.65, (-0.003, -0.029, 0.003), 87.0),
    ((90, 0, 0.316), 3.23, (0.028, 0.039, -0.067), 87.0),
    ((90, 0.0825, 0), 3.59, (-0.053, 0.104, 0.027), 87.0),
    ((-90, -0.0825, 0.384), 1.23, (-0.012, 0.041, -0.038), 12.0),
    ((90, 0, 0), 1.67, (0.06, -0.014, -0.011), 12.0),
    ((90, 0.088, 0.107), 1.2, (0.011, -0.004, 0.0), 12.0),
)
"""Lengths, masses, centres and limits about as their manufacturers publish them."""


def urdf_of(name: str, rows: tuple[Row, ...]) -> str:
    """Return the description of an arm; links are about as thick as they would be of plastic and metal."""
    parts = ['<link name="base"/>']
    for j, ((alpha, d, r), mass, (x, y, z), effort) in enumerate(rows, start=1):
        parent = "base" if j == 1 else f"link_{j - 1}"
        a, inertia = math.radians(alpha), mass * max(0.05, 0.5 * math.hypot(x, y, z)) ** 2
        parts.append(
            f'<link name="link_{j}"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>'
            f'<inertia ixx="{inertia}" iyy="{inertia}" izz="{0.7 * inertia}" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="joint_{j}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link_{j}"/><origin xyz="{d} {-r * math.sin(a)} {r * math.cos(a)}" rpy="{a} 0 0"/>'
            f'<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="{effort}" velocity="3"/></joint>'
        )
    return f'<robot name="{name}">{"".join(parts)}</robot>'


def description(name: str, seed: int) -> str:
    """Return the description of an arm: `UR5`, `Panda`, or another `7R` for each seed."""
    if name == "7R":
        return arm_urdf(SEVEN, seed)
    return urdf_of(name.lower(), UR5 if name == "UR5" else PANDA)


ARMS = ("UR5", "Panda", "7R")


@dataclass(frozen=True, eq=False)
class Recorded:
    """What sensors record of an arm, and what is true of it."""

    described: dyn_core.Robot
    true: dyn_core.Robot
    t: np.ndarray  # (s), (N,)
    q: np.ndarray  # positions with noise (rad), (N, n)
    exact_q: np.ndarray
    tau: np.ndarray  # efforts without noise (N m), (N, n)
    noise: np.ndarray  # noise of the efforts (N m), (N, n)
    random: np.random.Generator


def recorded(text: str, seed: int) -> Recorded:
    """Return the recording of an arm along a random motion."""
    random = np.random.default_rng([seed, 17])
    described = dyn_core.load_robot(text)
    true = _with_drives(dyn_core.with_model_error(described, random.uniform(0.03, 0.25), seed), random)
    rate = float(random.choice((100.0, 125.0, 250.0, 500.0, 1000.0)))
    t = np.arange(int(random.uniform(18.0, 36.0) * rate)) / rate
    q, qd, qdd = _motion(described, t, random)
    model = dyn_core.compile_model(true, backend="python", friction=False)
    tau = model.inverse_dynamics(q, qd, qdd) + _friction(true, qd, random)
    noise = random.uniform(0.002, 0.02) * np.abs(tau).max(axis=0) * random.normal(size=tau.shape)
    step = 2.0 * np.pi / 2 ** int(random.integers(16, 21))
    positions = q + 10.0 ** random.uniform(-5.5, -4.3) * random.normal(size=q.shape)
    return Recorded(described, true, t, np.round(positions / step) * step, q, tau, noise, random)


def _with_drives(robot: dyn_core.Robot, random: np.random.Generator) -> dyn_core.Robot:
    values = np.array(robot.parameters).reshape(-1, 14).copy()
    limits = np.array([robot.limits[name].effort or 50.0 for name in robot.joint_names])
    ranges = ((0.003, 0.012), (0.01, 0.05), (0.01, 0.06), (-0.01, 0.01))
    if limits.min() == limits.max():  # of the arms whose links get lighter towards the tool
        limits = limits * np.linspace(0.3, 0.03, len(limits))
    for k, (low, high) in enumerate(ranges, start=10):
        values[:, k] = limits * random.uniform(low, high, len(limits))
    return robot.with_parameters(values.ravel())


def _friction(robot: dyn_core.Robot, qd: np.ndarray, random: np.random.Generator) -> np.ndarray:
    Fv, Fs, Fo = (np.array([getattr(j.friction, name) for j in robot.joints]) for name in ("Fv", "Fs", "Fo"))
    v0 = random.choice((1e-9, 0.005, 0.02, 0.05))
    stribeck = random.choice((0.0, 0.0, 0.3)) * np.exp(-np.abs(qd) / 0.1)
    return Fv * qd + Fs * (1.0 + stribeck) * np.tanh(qd / v0) + Fo


def _motion(
    robot: dyn_core.Robot, t: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    limits = [robot.limits[name] for name in robot.joint_names]
    low = np.array([-3.0 if one.lower is None else max(one.lower, -3.0) for one in limits])
    high = np.array([3.0 if one.upper is None else min(one.upper, 3.0) for one in limits])
    n, harmonics = robot.dof, int(random.integers(4, 7))
    w = 2.0 * np.pi * random.uniform(0.05, 0.15) * np.arange(1, harmonics + 1)
    a, b = random.normal(size=(2, harmonics, n)) / np.arange(1, harmonics + 1)[:, None]
    sines, cosines = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    reach, speed = random.uniform(0.4, 0.9) * 0.5 * (high - low), random.uniform(0.8, 2.0)
    velocity = cosines @ (a * w[:, None]) - sines @ (b * w[:, None])
    scale = np.minimum(
        np.minimum(reach, 1.6) / np.abs(sines @ a + cosines @ b).max(0), speed / np.abs(velocity).max(0)
    )
    a, b, w = a * scale, b * scale, w[:, None]
    q = 0.5 * (low + high) + sines @ a + cosines @ b
    return q, cosines @ (a * w) - sines @ (b * w), -(sines @ (a * w**2) + cosines @ (b * w**2))


@dataclass(frozen=True)
class Expected:
    """What a log with a defect shows, and what has to be said of it."""

    q: np.ndarray
    tau: np.ndarray
    codes: frozenset[str]  # one of these codes has to be there
    joints: frozenset[int] | None  # joints that are named, and no others; None: any


Defect = Callable[[Recorded], Expected]


def _all(log: Recorded, tau: np.ndarray, *codes: str) -> Expected:
    return Expected(log.q, tau, frozenset(codes), None)


def _factor(random: np.random.Generator, least: float, most: float) -> float:
    size = math.exp(random.uniform(math.log(least), math.log(most)))
    return size if random.uniform() < 0.5 else 1.0 / size


def negated(log: Recorded) -> Expected:
    """All efforts have the other sign."""
    return _all(log, -(log.tau + log.noise), "torque-sign-wrong", "efforts-negated")


def one_sign(log: Recorded) -> Expected:
    """The effort of one joint has the other sign."""
    i, tau = int(log.random.integers(log.q.shape[1])), log.tau + log.noise
    tau[:, i] *= -1.0
    return Expected(log.q, tau, frozenset({"torque-sign-wrong"}), frozenset({i}))


def without_gravity(log: Recorded) -> Expected:
    """The drive reports efforts without gravity, by its own model of the arm or by the description."""
    robot = log.true if log.random.uniform() < 0.5 else log.described
    gravity = dyn_core.compile_model(robot, backend="python").gravity_torques(log.exact_q)
    offsets = [joint.friction.Fo for joint in robot.joints]
    tau = log.tau + log.noise - (gravity - np.array(offsets) * bool(np.any(gravity)))
    return _all(log, tau, "efforts-without-gravity")


def currents(log: Recorded) -> Expected:
    """Efforts are motor currents: each joint has its gear ratio and torque constant."""
    n = log.q.shape[1]
    kinds = np.exp(log.random.uniform(math.log(4.0), math.log(25.0), 2))
    of_joint = np.where(np.arange(n) < n // 2, *kinds) * log.random.uniform(0.85, 1.15, n)
    return _all(log, (log.tau + log.noise) / of_joint, "efforts-are-currents")


def saturated(log: Recorded) -> Expected:
    """The effort of one joint stays at a limit, of the sensor or of the drive."""
    i, share = int(log.random.integers(log.q.shape[1])), log.random.uniform(0.4, 0.8)
    limit = share * float(np.abs(log.tau[:, i]).max())
    tau, noise = log.tau.copy(), log.noise
    if log.random.uniform() < 0.5:
        tau[:, i] = np.clip(tau[:, i] + noise[:, i], -limit, limit) - noise[:, i]
    else:
        tau[:, i] = np.clip(tau[:, i], -limit, limit)
    return Expected(log.q, tau + noise, frozenset({"torque-saturated"}), frozenset({i}))


def slipped(log: Recorded) -> Expected:
    """The zero of a joint has slipped; the first axis is vertical, and the last turns its own body alone."""
    i = int(log.random.integers(1, log.q.shape[1] - 1))
    q = log.q.copy()
    q[:, i] += math.radians(log.random.uniform(8.0, 60.0)) * log.random.choice((-1.0, 1.0))
    return Expected(q, log.tau + log.noise, frozenset({"revolute-zero-wrong"}), frozenset({i}))


def one_gain(log: Recorded) -> Expected:
    """The effort of one joint has another gain."""
    i, tau = int(log.random.integers(log.q.shape[1])), log.tau + log.noise
    tau[:, i] *= _factor(log.random, 1.4, 4.0)
    return Expected(log.q, tau, frozenset({"torque-gain-wrong"}), frozenset({i}))


def all_gains(log: Recorded) -> Expected:
    """The efforts of all joints have another gain."""
    return _all(
        log, _factor(log.random, 2.2, 8.0) * (log.tau + log.noise), "efforts-scaled", "torque-unit-wrong"
    )


def late(log: Recorded) -> Expected:
    """Efforts are recorded earlier or later than positions."""
    period = float(log.t[1])
    delay = max(0.004, 1.5 * period) + log.random.uniform(0.0, 0.03)
    tau = log.tau.copy()
    for i in range(tau.shape[1]):
        tau[:, i] = np.interp(log.t - delay * log.random.choice((-1.0, 1.0)) ** 0, log.t, tau[:, i])
    return _all(log, tau + log.noise, "torques-late")


def swapped(log: Recorded) -> Expected:
    """Efforts, positions, or both of two joints are exchanged."""
    n = log.q.shape[1]
    i, k = log.random.choice(n, 2, replace=False).tolist()
    order = np.arange(n)
    order[[i, k]] = order[[k, i]]
    what, tau = int(log.random.integers(3)), log.tau + log.noise
    q, tau = log.q if what == 0 else log.q[:, order], tau if what == 1 else tau[:, order]
    return Expected(q, tau, frozenset({"signals-swapped", "signals-perhaps-swapped"}), frozenset({i, k}))


def of_another_run(log: Recorded) -> Expected:
    """Efforts are those of another time: no bodies explain them."""
    return _all(log, np.roll(log.tau + log.noise, len(log.t) // 3, axis=0), "")


def nothing(log: Recorded) -> Expected:
    """Nothing is wrong."""
    return _all(log, log.tau + log.noise)


DEFECTS: Mapping[str, Defect] = {
    "all signs": negated,
    "one sign": one_sign,
    "without gravity": without_gravity,
    "currents": currents,
    "saturated": saturated,
    "slipped zero": slipped,
    "one gain": one_gain,
    "all gains": all_gains,
    "delay": late,
    "swapped joints": swapped,
    "impossible": of_another_run,
}


CLEAN = "nothing"
"""Name of logs without a defect."""


@dataclass(frozen=True)
class Outcome:
    """What was said of a log."""

    arm: str
    defect: str
    seed: int
    codes: tuple[str, ...]  # of the verdict
    joints: tuple[str, ...]
    refused: bool
    named: bool
    held_out: float
    before: float  # the same of the description


def judged(text: str, arm: str, defect: str, seed: int, directory: Path) -> tuple[Outcome, Result]:
    """Identify an arm from a log with a defect, and return what is said of the result."""
    log = recorded(text, seed)
    expected = (DEFECTS.get(defect) or nothing)(log)
    names = log.described.joint_names
    file = write_table(directory / f"{arm}_{seed}.csv", names, log.t, expected.q, expected.tau)
    result = make_result(read_robot(text), file, "a study")
    file.unlink()
    reasons = result.verdict.reasons
    held_out, before = (
        errors.held_out.relative
        for errors in (result.identified.consistent_errors, result.description_errors)
    )
    return (
        Outcome(
            arm,
            defect,
            seed,
            tuple(dict.fromkeys(reason.code for reason in reasons)),
            tuple(dict.fromkeys(name for reason in reasons for name in reason.names)),
            bool(reasons),
            _is_named(expected, result, names),
            held_out,
            before,
        ),
        result,
    )


def _is_named(expected: Expected, result: Result, names: tuple[str, ...]) -> bool:
    """Return whether the verdict has one of the codes, about the joints with the defect alone."""
    reasons = result.verdict.reasons
    if "" in expected.codes or not expected.codes:
        return bool(reasons) == bool(expected.codes)
    about = [reason for reason in reasons if reason.code in expected.codes]
    joints = {names.index(name) for reason in about for name in reason.names}
    return bool(about) and (expected.joints is None or joints == expected.joints)
