# SPDX-License-Identifier: Apache-2.0
"""Repeated identification of arms with known parameters, from simulated sensors to the result.

The motion is the same in all runs, the noise differs: positions of 19 bits with noise of 1e-5 rad, torques of
12 bits with noise of 1 % of the greatest of the joint, 30 s at 1 kHz. Signals are conditioned with no setting
given. The description, which is the prior of consistent parameters, has other bodies, no friction and no
rotors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from simulated_truth import SEVEN, SIX, arm, exact_motion, sensed, true_values, with_drives

import dyn_core
from dyn_core import FrictionModel, IdentificationSettings, Protocol, Signals
from dyn_core.identification.estimators.identification_settings import Estimator
from dyn_core.identification.estimators.physical_consistency import is_possible
from dyn_core.identification.regressor.base_columns import base_columns

ARMS = {"6R": SIX, "7R": SEVEN}


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm, its exact motion, and its true base parameters and friction by name."""

    description: dyn_core.Robot
    exact: Signals
    expected: dict[str, float]


def arm_of(name: str, duration: float = 30.0) -> Arm:
    """Return an arm of `ARMS`."""
    robot = with_drives(arm(ARMS[name]))
    base = base_columns(robot)
    friction = (f"{letters}{j}" for j in robot.coordinates for letters in ("Fv", "Fs", "Fo"))
    expected = dict(zip((*base.names, *friction), true_values(robot, base).tolist(), strict=True))
    return Arm(arm(ARMS[name]), exact_motion(robot, duration), expected)


@dataclass(frozen=True, eq=False)
class Run:
    """The result of one run."""

    names: tuple[str, ...]
    errors: np.ndarray  # estimated minus true values, in reported deviations
    essential: np.ndarray
    possible: bool  # whether the consistent parameters are physically possible


def run(case: Arm, seed: int, estimator: Estimator = "wls") -> Run:
    """Identify an arm once."""
    names = case.description.joint_names
    log = dyn_core.log_of_arrays(names, case.exact.time, *sensed(case.exact, seed))
    signals = dyn_core.condition(log, Protocol(train=1.0))
    settings = IdentificationSettings(estimator=estimator, diagnose=False)
    found = dyn_core.identify(case.description, signals, settings)
    parameters = [*found.base, *(p for friction in found.friction for p in friction.parameters)]
    values, deviations, essential = np.array([(p.value, p.deviation, p.essential) for p in parameters]).T
    table = np.array([p.value for p in found.standard]).reshape(len(names), 14)
    possible = all(is_possible(body) for body in table[:, :10]) and bool(np.all(table[:, 10:13] >= 0.0))
    # Where friction is chosen that the arm does not have, its parameters are expected to be 0.
    wrong = values - [case.expected.get(p.name, 0.0) for p in parameters]
    return Run(tuple(p.name for p in parameters), wrong / deviations, essential > 0.0, possible)


# Positions, torques, the joints that the findings have to name, and the codes of the findings
Spoiled = tuple[np.ndarray, np.ndarray, set[int], set[str]]
Mistake = Callable[[np.ndarray, np.ndarray, np.random.Generator], Spoiled]


def wrong_sign(q: np.ndarray, tau: np.ndarray, random: np.random.Generator) -> Spoiled:
    """The torque of a joint has the wrong sign."""
    joint = int(random.integers(q.shape[1]))
    changed = tau.copy()
    changed[:, joint] *= -1.0
    return q, changed, {joint}, {"torque-sign-wrong", "position-sign-wrong", "axis-sign-wrong"}


def swapped(q: np.ndarray, tau: np.ndarray, random: np.random.Generator) -> Spoiled:
    """Torques, positions, or both of two joints are exchanged."""
    i, k = random.choice(q.shape[1], 2, replace=False).tolist()
    order = np.arange(q.shape[1])
    order[[i, k]] = order[[k, i]]
    what = int(random.integers(3))
    q, tau = q if what == 0 else q[:, order], tau if what == 1 else tau[:, order]
    return q, tau, {i, k}, {"signals-swapped", "signals-perhaps-swapped"}


def saturated(q: np.ndarray, tau: np.ndarray, random: np.random.Generator) -> Spoiled:
    """The torque of a joint is cut at 80 % of its greatest value."""
    joint = int(random.integers(q.shape[1]))
    limit = 0.8 * np.abs(tau[:, joint]).max()
    changed = tau.copy()
    changed[:, joint] = np.clip(changed[:, joint], -limit, limit)
    return q, changed, {joint}, {"torque-saturated"}


def late(q: np.ndarray, tau: np.ndarray, random: np.random.Generator) -> Spoiled:
    """Torques are recorded 5 ms, which are 5 samples, later than positions."""
    return q[5:], tau[:-5], set(), {"torques-late"}


MISTAKES: dict[str, Mistake] = {
    "wrong sign": wrong_sign,
    "swapped joints": swapped,
    "saturated sensor": saturated,
    "5 ms delay": late,
    "nothing": lambda q, tau, random: (q, tau, set(), set()),
}


def is_named(case: Arm, mistake: str, seed: int) -> bool:
    """Return whether a mistake is found with its joints only; without a mistake, whether none is found."""
    random = np.random.default_rng(seed)
    q, tau, joints, codes = MISTAKES[mistake](*sensed(case.exact, seed), random)
    names = case.description.joint_names
    log = dyn_core.log_of_arrays(names, case.exact.time[: len(q)], q, tau)
    settings = IdentificationSettings((FrictionModel(),) * len(names))
    findings = dyn_core.identify(case.description, dyn_core.condition(log), settings).findings
    named = {names.index(name) for finding in findings for name in finding.names}
    return named == joints and bool(findings) == bool(codes) and {f.code for f in findings} <= codes
