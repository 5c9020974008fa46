# SPDX-License-Identifier: Apache-2.0
"""Feedback that loses the robot is noticed, and the torques go to zero; ordinary motions are left alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from refusals import refused
from robots import example

from dyn_core import SimulationSettings, Simulator
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.control.watchdog import WatchSettings
from dyn_nodes.common.messages.motion_message import GivenMotion
from dyn_nodes.common.torques.feedback_gains import PidGains
from dyn_nodes.common.torques.output_stage import Smoothing
from dyn_nodes.controller.joint_controller import JointController
from dyn_nodes.controller.parameters import ControllerSettings

T = 0.002
RRP = example("rrp")
START = np.array([0.3, 0.4, 0.1])
WATCH = WatchSettings(timeout=0.1, ramp_down=0.2, ramp_up=0.0)


class Loop:
    """A controller and a simulated robot, with a delay, that run in simulated time.

    `fault_at` is the time at which the controller gave up (s), None where it did not.
    """

    def __init__(
        self, gains: PidGains, *, delay: int = 1, sign: float = 1.0, at: npt.ArrayLike = START
    ) -> None:
        smoothing = Smoothing(ramp_start=0.0)
        self.ours = JointController(RRP, ControllerSettings(gains=gains, watch=WATCH, smoothing=smoothing))
        self.simulator = Simulator(RRP, SimulationSettings(step=T, substeps=2), q=at)
        self.late = [np.zeros(RRP.dof)] * delay
        self.t, self.sign = 0.0, sign
        self.sent: list[np.ndarray] = []
        self.fault_at: float | None = None

    def run(self, seconds: float, push: Callable[[float], np.ndarray] = lambda _: np.zeros(3)) -> None:
        """Run for some time, or until 0.5 s after the controller gave up; `push` returns other torques."""
        end = self.t + seconds
        while self.t < end - 0.5 * T and (self.fault_at is None or self.t < self.fault_at + 0.5):
            state = self.simulator.state
            self.sent.append(self.ours.measure(state.q, state.qd, self.t, self.t).total)
            if self.ours.fault is not None and self.fault_at is None:
                self.fault_at = self.t
            self.late.append(self.sign * self.sent[-1])
            self.simulator.set_effort(self.late.pop(0) + push(self.t))
            self.simulator.step()
            self.t += T


def by_hand(p: float, d: float) -> PidGains:
    return PidGains({"p": p, "d": d})


def check_given_up(loop: Loop, *codes: str) -> None:
    """Check the code, the ramp to zero, that motions are refused, and that a restart helps."""
    ours, fault = loop.ours, loop.ours.fault
    assert fault is not None
    assert fault.code in codes
    assert fault.values["joint"] in RRP.coordinate_names
    assert str(fault)
    steps = round(WATCH.ramp_down / T)
    since = len(loop.sent) - round((loop.t - loop.fault_at) / T)
    sizes = np.abs(loop.sent[since - 1 : since + steps]).max(axis=1)
    assert sizes[0] > 0.0
    assert (np.diff(sizes) <= 1e-9).all()
    assert not np.any(loop.sent[since + steps + 1 :])
    with refused(fault.code, joint=fault.values["joint"]):
        ours.refer(GivenMotion(loop.simulator.state.q, np.zeros(3), np.zeros(3)), loop.t, loop.t)
    with refused(fault.code):
        ours.follow(None, loop.t, None, loop.t)
    idle = ours.idle(loop.t + 0.05)
    assert idle is not None
    assert not idle.total.any()
    ours.restart()
    assert ours.fault is None


@pytest.mark.promise("control-lost")
@pytest.mark.parametrize(("p", "d"), [(2e3, 2e3), (1e5, 500.0), (1e4, 0.0)])
@pytest.mark.parametrize("delay", [1, 2])
def test_gains_that_are_unstable_are_noticed_within_a_second(p: float, d: float, delay: int) -> None:
    loop = Loop(by_hand(p, d), delay=delay)
    loop.run(1.5, lambda t: np.array([5.0, 0.0, 0.0]) * (t < 0.1))
    assert loop.fault_at is not None
    assert loop.fault_at < 1.0
    check_given_up(loop, "control-diverges", "control-limit-cycle")


@pytest.mark.promise("control-lost")
def test_an_effort_of_the_wrong_sign_is_noticed_before_or_at_the_stop() -> None:
    loop = Loop(by_hand(300.0, 30.0), sign=-1.0)
    loop.run(5.0)
    assert loop.fault_at is not None
    check_given_up(loop, "control-lost", "control-jammed")


@pytest.mark.promise("control-lost")
def test_a_joint_that_pushes_against_its_stop_is_noticed() -> None:
    """A feedforward of 200 N overcomes the feedback. At the stop without an error, all is in order."""
    loop = Loop(by_hand(100.0, 20.0))
    loop.run(0.1)
    for _ in range(20):
        loop.ours.feed(np.array([0.0, 0.0, 200.0]), loop.t)
        loop.run(0.1)
    assert loop.simulator.at_stop == ("stretch",)
    check_given_up(loop, "control-jammed")
    loop = Loop(by_hand(100.0, 20.0), at=[0.3, 0.4, 0.35])
    for _ in range(20):
        loop.ours.feed(np.array([0.0, 0.0, 200.0]), loop.t)
        loop.run(0.1)
    assert loop.fault_at is None


def pushed(t: float) -> np.ndarray:
    """Pushes of the whole effort for 0.15 s each second, against one joint or all."""
    limits = np.array([60.0, 80.0, 120.0])
    return limits * [(1.0, 1.0, 0.0), (-1.0, 0.0, 0.5)][int(t) % 2] * (t % 1.0 < 0.15)


STABLE = {
    "weighted": PidGains(natural_frequency=5.0, armature=0.0),
    "stiff": PidGains(natural_frequency=10.0, armature=0.0),
    "by hand": by_hand(200.0, 20.0),
    "with integral": PidGains({"i": 100.0}, natural_frequency=4.0, armature=0.0),
}


@pytest.mark.promise("control-lost-quiet")
@pytest.mark.parametrize("name", STABLE)
def test_pushes_payloads_and_motions_are_not_taken_for_divergence(name: str) -> None:
    """Also with measured velocities that are noisy, and after a payload of half of what the arm can hold."""
    loop = Loop(STABLE[name])
    loop.run(0.5)
    loop.run(2.0, pushed)
    loop.simulator.set_payload(RRP.link_names[-1], 1.5)
    loop.run(1.0)
    goals = ([0.8, 0.2, 0.2], [-0.5, 0.6, 0.05], [0.3, 0.4, 0.1])
    for goal in goals:
        names, rest = RRP.coordinate_names, [[0.0] * 3]
        loop.ours.follow(
            trajectory_points(names, names, [1.0], [goal], rest, [()], RRP.limits), loop.t, None, loop.t
        )
        loop.run(1.3)
    rng = np.random.default_rng(0)
    loop.run(1.0, lambda _: rng.normal(0.0, 5.0, 3))
    assert loop.ours.fault is None
