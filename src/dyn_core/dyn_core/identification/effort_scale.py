# SPDX-License-Identifier: Apache-2.0
"""Torques in another unit than N m: by the limits of the description, and by the masses that it gives.

One factor of all torques is one of all masses, and no equation disagrees. The description does: its joints
have limits, and its masses need torques along the motion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.identification.hypothesis import thinned
from dyn_core.identification.regressor.motion_equations import Equations

FAR, LITTLE = 60.0, 1.0 / 200.0
"""Times what the described masses need that torques of a wrong unit are; far less is masses made up."""
SUSPICIOUS = 15.0
"""Times, or parts, that are worth a word."""
OVER = 10.0
"""Times its limit that no torque of a joint is."""
PEAK = 0.99
"""Part of the samples that are below what is compared with the limit: a spike is none."""
SAMPLES = 600
"""Samples that are enough."""


def effort_scale_findings(equations: Equations) -> list[Finding]:
    """Answer whether torques are in another unit than the description.

    Args:
        equations: the equations, of torques that are not filtered.
    """
    few = thinned(equations, SAMPLES).signals
    base = equations.base
    measured = np.array(equations.measured)
    known = dict(zip(base.robot.parameter_names, base.robot.parameters, strict=True))
    described = base.matrix @ np.array([known.get(name, 0.0) for name in base.standard_names])
    needed = base.columns(few.q, few.qd, few.qdd)[:, measured] @ described
    scale = _ratio(few.qd[:, measured], few.tau[:, measured], needed)
    peaks = np.quantile(np.abs(equations.signals.tau), PEAK, axis=0)
    limits = np.array([joint.limits.effort or math.nan for joint in base.robot.independent_joints])
    over = np.where(measured & (limits > 0.0), peaks / np.where(limits > 0.0, limits, 1.0), math.nan)
    return list(_findings(equations, scale, over))


def _ratio(qd: Array, tau: Array, needed: Array) -> float:
    """Times that torques are greater than what is needed, both beside friction; NaN where nothing is."""
    squares = np.zeros((tau.shape[1], 2))
    for i in range(tau.shape[1]):
        both = np.column_stack([tau[:, i], needed[:, i]])
        friction = np.column_stack([qd[:, i], np.sign(qd[:, i]), np.ones(len(qd))])
        left = both - friction @ np.linalg.lstsq(friction, both, rcond=None)[0]
        squares[i] = np.sum(left**2, axis=0)
    # One joint alone is no matter of all: it is left out where the others say something else.
    sums = [squares.sum(axis=0), *(np.delete(squares, i, axis=0).sum(axis=0) for i in range(len(squares)))]
    ratios = [math.sqrt(a / b) for a, b in sums if a > 0.0 and b > 0.0]
    return min(ratios, key=lambda ratio: abs(math.log(ratio)), default=math.nan)


def _findings(equations: Equations, scale: float, over: Array) -> Iterator[Finding]:
    names = equations.base.robot.coordinate_names
    beyond = [name for name, times in zip(names, over.tolist(), strict=True) if times > OVER]
    limited = np.isfinite(over)
    within = bool(limited.any()) and not (over[limited] > 1.0).any()
    all_beyond = bool(limited.any()) and bool(np.all(over[limited] > OVER))
    too_great = (scale > FAR and not within) or (all_beyond and not scale < OVER)
    if too_great or scale < LITTLE:
        at_limits = f", and up to {np.nanmax(over):.3g} times their limits" if beyond else ""
        told = "" if math.isnan(scale) else f" {scale:.3g} times what the masses of the description need"
        yield Finding(
            Severity.ERROR,
            "robot",
            (),
            f"torques are{told}{at_limits}: {_unit(scale if scale == scale else float(np.nanmax(over)))}; "
            "give their unit, or gains and ratios, in the map of the log",
        )
        return
    if beyond:
        times = float(np.nanmax(over))
        yield Finding(
            Severity.WARNING,
            "joint",
            tuple(beyond),
            f"torques are up to {times:.3g} times the limit of the description: {_unit(times)}, or the limit "
            "is wrong; see to unit, gain and ratio in the map of the log",
        )
    elif scale > SUSPICIOUS or scale < 1.0 / SUSPICIOUS:
        yield Finding(
            Severity.WARNING,
            "robot",
            (),
            f"torques are {scale:.3g} times what the masses of the description need: {_unit(scale)}, or "
            "these masses are wrong",
        )


def _unit(scale: float) -> str:
    """What a factor of torques looks like."""
    if scale > 300.0:
        return "they look like mN m"
    if scale > 1.0:
        return "they look like N cm, counts, or percent of a rated torque"
    if scale < 1.0 / 300.0:
        return "they look like kN m, or like torques of motors before their gears"
    return "they look like currents (A), torques of motors before their gears, or parts of a rated torque"
