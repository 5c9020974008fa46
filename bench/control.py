# SPDX-License-Identifier: Apache-2.0
"""`python bench/control.py`: time of each step of a control cycle for an arm of six joints."""

from __future__ import annotations

import math
import timeit
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np

import dyn_core
from dyn_core.control.command_limits import EffortLimits, JumpLimit, RateLimit
from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.control.laws.inverse_dynamics_control import TorqueTerms, TrackingGains, computed_torque
from dyn_core.control.laws.pid import Pid
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import planned, replaced, trajectory_points
from dyn_core.control.watchdog import NO_DATA, Fade, ParameterBlend, WatchSettings, watched

RX90 = Path(__file__).resolve().parents[1] / "config" / "robots" / "rx90.urdf"
PERIOD = 2.0**-10


def microseconds(function: Callable[[], object]) -> float:
    """Least time of a call in several rounds (us)."""
    timer = timeit.Timer(function)
    number = max(1, int(2000 / max(1.0, 1e6 * timer.timeit(1))))
    return min(timer.repeat(7, number)) / number * 1e6


def steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Each step of a cycle."""
    robot = dyn_core.load_robot(RX90)
    model = dyn_core.compile_model(robot)
    names = model.joint_names
    random = np.random.default_rng(0)
    desired = Motion(*random.uniform(-1.0, 1.0, (3, 6)))
    q, qd, torques = random.uniform(-1.0, 1.0, (3, 6))
    times = 0.1 * np.arange(1, 101)
    rows = random.uniform(-1.0, 1.0, (3, 100, 6))
    rows[1:, -1] = 0.0

    def points():
        return trajectory_points(names, names, times, *rows)

    hundred = points()
    trajectory = planned(hundred, 0.0, start=desired)
    thousand_times = np.linspace(0.0, 10.0, 1000)
    yield "trajectory: sample", lambda: trajectory.sample(3.3)
    yield "trajectory: 1000 samples at once", lambda: trajectory.sample_many(thousand_times)
    yield "trajectory: 100 points checked", points
    yield "trajectory: replaced by 100 points", lambda: replaced(trajectory, hundred, 3.3)

    for what, jitter in (("steady", 0.0), ("irregular", 1e-7)):
        filter_, tick = DerivativeFilter(names, 30.0, second=True), count()

        def derived(filter_=filter_, tick=tick, jitter=jitter):
            k = next(tick)
            return filter_.update(k * PERIOD + jitter * math.sin(k), q)

        yield f"derivatives, {what} period", derived

    gains = TrackingGains.of_frequency(names, 2.0)
    yield "computed torque: W(t)", lambda: computed_torque(desired, q, qd, gains)
    terms, smooth = TorqueTerms(model), TorqueTerms(model, coulomb_velocity=0.05)
    yield "torques in terms", lambda: terms.of(desired)
    yield "torques in terms, smooth friction", lambda: smooth.of(desired)

    limits, rates, jumps = EffortLimits(names, 10.0), RateLimit(names, 100.0), JumpLimit(names, 5.0)
    beyond = 100.0 * torques
    yield "effort limits, within", lambda: limits.applied(torques)
    yield "effort limits, beyond", lambda: limits.applied(beyond)
    yield "rate limit, within", lambda: rates.applied(torques, torques, PERIOD)
    yield "rate limit, beyond", lambda: rates.applied(torques, beyond, PERIOD)
    yield "jump of a reference", lambda: jumps.jump(q, q, PERIOD)

    settings = WatchSettings(0.1)
    good = watched(settings, watched(settings, NO_DATA, 0.0, 0.0), 1.0, 1.0)
    fade = Fade(names)
    yield "watch", lambda: watched(settings, good, 2.0, 1.99)
    yield "fade, on its way", lambda: fade.toward(1, 0.3, torques)
    yield "fade, over", lambda: fade.toward(1, 1.0, torques)

    blend = ParameterBlend(dyn_core.compile_model(robot, "runtime"))
    blend.change(0.0, {"M6": 3.0}, duration=1.0)
    yield "parameter blend, on its way", lambda: blend.update(0.5)
    pid, tick = Pid(names, 100.0, 10.0, 5.0, limits=100.0, cutoff=50.0), count()
    yield "PID", lambda: pid.update(next(tick) * PERIOD, desired.q, q, desired.qd, qd, torques)


def main() -> None:
    """Print the table."""
    for what, step in steps():
        print(f"{what:36} {microseconds(step):8.1f} us", flush=True)


if __name__ == "__main__":
    main()
