# SPDX-License-Identifier: Apache-2.0
"""What a motion asks of each motor: the numbers that motors are chosen by (SYMORO+ 2003, sec. 3.6.2).

Peak values say whether a motor can do it at all, the root mean square of its torque, over time, whether it
stays cool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimits


@dataclass(frozen=True)
class MotorLoad:
    """What a motion asks of the motor of one joint, on the side of the joint.

    Attributes:
        joint: its name.
        effort_unit: N m or N.
        speed_unit: rad/s or m/s.
        peak_effort: greatest torque or force either way.
        peak_effort_time: when (s).
        rms_effort: root mean square of the torque.
        peak_speed: greatest speed either way.
        rms_speed: root mean square of the velocity.
        peak_power: greatest power that the motor gives (W), at least 0.
        peak_braking_power: greatest power that it takes in (W), at least 0.
        rms_power: root mean square of the power (W).
        mean_power: mean of the power that it gives (W); what it takes in counts as nothing.
        effort_use: greatest part of the torque that it has at its speed.
        speed_use: part of its greatest speed.
        power_use: part of its greatest power, driving or braking.
        continuous_use: root mean square of the torque over the one that it bears for ever.
    """

    joint: str
    effort_unit: str
    speed_unit: str
    peak_effort: float
    peak_effort_time: float
    rms_effort: float
    peak_speed: float
    rms_speed: float
    peak_power: float
    peak_braking_power: float
    rms_power: float
    mean_power: float
    effort_use: float
    speed_use: float
    power_use: float
    continuous_use: float


def motor_loads(limits: ActuatorLimits, times: Array, qd: Array, torques: Array) -> tuple[MotorLoad, ...]:
    """Answer what a motion asks of each motor.

    Args:
        limits: the limits.
        times: times of the samples (s), (m,).
        qd: velocities (rad/s or m/s), (m, n).
        torques: torques (N m or N), (m, n).
    """
    power = torques * qd
    with np.errstate(divide="ignore", invalid="ignore"):
        use = np.nan_to_num(np.abs(torques) / limits.effort(qd), nan=0.0).max(axis=0)
    rms_effort, rms_speed, rms_power = (rms(times, values) for values in (torques, qd, power))
    mean_power = _mean(times, np.maximum(power, 0.0))
    loads = []
    for j, limit in enumerate(limits.of_joints):
        worst = int(np.abs(torques[:, j]).argmax())
        speed = float(np.abs(qd[:, j]).max())
        driving, braking = max(0.0, float(power[:, j].max())), max(0.0, -float(power[:, j].min()))
        loads.append(
            MotorLoad(
                joint=limits.joint_names[j],
                effort_unit=limits.effort_units[j],
                speed_unit=f"{limits.position_units[j]}/s",
                peak_effort=float(abs(torques[worst, j])),
                peak_effort_time=float(times[worst]),
                rms_effort=float(rms_effort[j]),
                peak_speed=speed,
                rms_speed=float(rms_speed[j]),
                peak_power=driving,
                peak_braking_power=braking,
                rms_power=float(rms_power[j]),
                mean_power=float(mean_power[j]),
                effort_use=float(use[j]),
                speed_use=speed / limit.velocity,
                power_use=max(driving / limit.power, braking / limit.braking_power),
                continuous_use=float(rms_effort[j]) / limit.continuous_effort,
            )
        )
    return tuple(loads)


def rms(times: Array, values: Array) -> Array:
    """Answer the root mean square over time of values (m, n), which go straight between samples."""
    first, second = values[:-1], values[1:]
    # The square of a straight line has the mean (a^2 + a b + b^2) / 3.
    return np.sqrt(_weighted(times, (first * first + first * second + second * second) / 3.0))


def _mean(times: Array, values: Array) -> Array:
    return _weighted(times, 0.5 * (values[:-1] + values[1:]))


def _weighted(times: Array, means: Array) -> Array:
    steps = np.diff(times)
    weighted: Array = steps @ means / steps.sum()
    return weighted
