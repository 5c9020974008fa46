# SPDX-License-Identifier: Apache-2.0
"""Random events in any order: torques have no step, live torques are right, and good data recover them.

DYN_EXAMPLES=10 makes the sequences of the exhaustive run ten times as many.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import numpy as np
import pytest
from loose_node import loose_node
from message_makers import joint_state, later
from random_seed import drawn, sizes
from rnea import frictionless
from watched_arm import (
    LIMITED,
    OK,
    PERIOD,
    RAMP,
    SETTINGS,
    SLACK,
    D,
    P,
    WatchedArm,
)

from dyn_core import DynError
from dyn_nodes.common.lifecycle.robot_source import Loaded
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

stateful = pytest.importorskip("hypothesis.stateful", reason="hypothesis is not installed")
hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")
rule, initialize, precondition = stateful.rule, stateful.initialize, stateful.precondition

# The events

PLACES = [np.array(q) for q in ([0.1, 0.3, 0.05], [0.4, 0.6, 0.15], [-0.9, -0.5, 0.02], [0.12, 0.33, 0.06])]
places = st.sampled_from(range(len(PLACES)))
short = st.sampled_from([0.01, 0.05, 0.15, 0.3, 1.0])
PHASES = [hypothesis.Phase.generate, *([hypothesis.Phase.shrink] if "DYN_SHRINK" in os.environ else [])]
"""Shrinking a failing sequence takes minutes; DYN_SHRINK=1 enables it."""
TEXT = frictionless("rrp")
HEAVIER = TEXT.replace('<mass value="3.0"/>', '<mass value="3.6"/>')


class Sequences(stateful.RuleBasedStateMachine):
    """Random events; subclasses choose the node."""

    mode: str

    @initialize(on_stale=st.sampled_from(["hold", "ramp", "stop"]), carry=st.sampled_from([0.0, 0.05]))
    def start(self, on_stale: str, carry: float) -> None:
        self.stack = ExitStack()
        given = {"robot_description": TEXT, "reference_carry": carry, **SETTINGS}
        if self.mode == "controller":
            on_stale = "ramp" if on_stale == "hold" else on_stale
            ramps = {"feedforward.ramp_up": RAMP, "feedforward.ramp_down": RAMP}
            node = loose_node(Controller, p=P, d=D, on_stale=on_stale, **ramps, **given)
        else:
            node = loose_node(Feedforward, mode=self.mode, on_stale=on_stale, blend_time=RAMP, **given)
        self.arm = WatchedArm(self.stack.enter_context(node), self.mode)

    def teardown(self) -> None:
        if not hasattr(self, "stack"):
            return
        try:
            self.recovers()
        finally:
            self.stack.close()

    def steps(self, seconds: float, *, state: bool = True, allowed: float = 0.0) -> None:
        arm = self.arm
        for _ in range(max(1, round(seconds / PERIOD))):
            before = arm.place()
            arm.step(state=state)
            arm.continuous(before, PERIOD, allowed + (SLACK if arm.stream else 0.0))
            allowed = 0.0

    # The robot.

    @rule(seconds=short)
    def stays(self, seconds: float) -> None:
        self.steps(seconds)

    @rule(seconds=short)
    def follows(self, seconds: float) -> None:
        arm = self.arm
        for _ in range(max(1, round(seconds / PERIOD))):
            arm.q = arm.q + np.clip(arm.held().q - arm.q, -0.02, 0.02) * [1, 1, 0.2]
            self.steps(PERIOD)

    @rule(k=places)
    def is_pushed(self, k: int) -> None:
        arm = self.arm
        start = arm.q
        for i in range(100):
            arm.q = start + (PLACES[k] - start) * ((i + 1) / 100)
            self.steps(PERIOD)

    @rule(k=places)
    def is_elsewhere_at_once(self, k: int) -> None:
        self.arm.q = PLACES[k].copy()
        self.steps(0.05)

    @rule(seconds=short)
    def is_silent(self, seconds: float) -> None:
        self.steps(seconds, state=False)

    @rule(count=st.sampled_from([1, 30]))
    def is_bad(self, count: int) -> None:
        arm, good = self.arm, self.arm.q
        for _ in range(count):
            bad = [good[0], float("nan"), good[2]]
            arm.counted("/joint_states", joint_state(arm.loose.stamp, bad, [0.0] * 3))
            self.steps(PERIOD, state=False)

    # The desired motion.

    @rule(k=places, seconds=st.sampled_from([0.1, 0.6, 3.0]), delay=st.sampled_from([None, -0.05, 0.4]))
    def trajectory(self, k: int, seconds: float, delay: float | None) -> None:
        before = self.arm.place()
        self.arm.go(PLACES[k], seconds, delay)
        self.replaces(before)

    @rule()
    def empty_trajectory(self) -> None:
        before = self.arm.place()
        self.arm.stop()
        self.replaces(before)

    def replaces(self, before: np.ndarray | None) -> None:
        self.arm.stream = None
        self.steps(PERIOD)
        self.arm.continuous(before, PERIOD, 0.0)

    @rule(where=st.sampled_from(["robot", "wanted", "place"]), k=places, moving=st.booleans())
    def references_begin(self, where: str, k: int, moving: bool) -> None:
        arm = self.arm
        q0 = {"robot": arm.q, "wanted": arm.held().q, "place": PLACES[k]}[where].copy()
        begin, qd = arm.loose.now, np.array([0.3, -0.2, 0.02]) * moving

        def stream(now: float) -> tuple[np.ndarray, np.ndarray]:
            u = 2.0 * (now - begin)
            return q0 + 0.5 * qd * np.sin(u), qd * np.cos(u)

        arm.stream = stream
        self.steps(PERIOD, allowed=SLACK)

    @rule()
    def references_stop(self) -> None:
        self.arm.stream = None
        self.steps(PERIOD)

    @rule(age=st.sampled_from([-0.05, 0.05, 0.5]))
    def one_reference(self, age: float) -> None:
        arm = self.arm
        before = arm.place()
        arm.refer(arm.q.copy(), np.array([0.2, 0.1, 0.0]), later(arm.loose.stamp, -age))
        self.steps(PERIOD, allowed=SLACK)
        arm.continuous(before, PERIOD, SLACK)

    # The node.

    @rule(seconds=st.sampled_from([-30.0, -0.5, 2.0, 1000.0]))
    def time_leaps(self, seconds: float) -> None:
        self.arm.loose.set_time(self.arm.loose.ros_now + round(1e9 * seconds))
        self.steps(PERIOD)

    @rule(seconds=short)
    def is_deactivated(self, seconds: float) -> None:
        arm = self.arm
        arm.loose.node.trigger_deactivate()
        arm.forget_torques()
        published = arm.loose.published["torques"]
        count = len(published)
        self.steps(seconds)
        assert len(published) == count
        arm.loose.node.trigger_activate()
        self.steps(PERIOD)
        if count and len(published) > count:
            assert np.allclose(published[count].total, published[count - 1].total, atol=1e-6)

    @rule()
    def is_configured_again(self) -> None:
        arm, node = self.arm, self.arm.loose.node
        node.trigger_deactivate()
        node.trigger_cleanup()
        node.trigger_configure()
        arm.loose.reconnect()
        arm.hold_nothing()
        node.trigger_activate()
        arm.forget_torques()
        self.steps(PERIOD)

    @rule(heavier=st.booleans())
    def description(self, heavier: bool) -> None:
        arm, node = self.arm, self.arm.loose.node
        described = node._source.described(HEAVIER if heavier else TEXT)
        node._begin_to_use(Loaded(described, node.prepare(described)))
        arm.known = not heavier
        arm.exact_from = max(arm.exact_from, arm.loose.now + RAMP)
        self.steps(PERIOD)

    @rule()
    def bad_description(self) -> None:
        with pytest.raises(DynError):
            self.arm.loose.node._source.described("<robot>")

    @precondition(lambda self: self.mode != "controller")
    @rule(mass=st.sampled_from([0.0, 0.5, 2.0]))
    def payload(self, mass: float) -> None:
        self.arm.hold(mass)
        self.steps(PERIOD)

    @precondition(lambda self: self.mode == "controller")
    @rule(torques=st.sampled_from([None, 5.0, 30.0]))
    def feedforward(self, torques: float | None) -> None:
        self.arm.fed = None if torques is None else np.full(3, torques)
        self.steps(PERIOD)

    def recovers(self) -> None:
        """Good data recover live torques."""
        arm = self.arm
        arm.stream = None
        self.steps(0.5)
        arm.stop()
        for _ in range(200):
            arm.step()
        assert arm.loose.published["torques"][-1].status in (OK, LIMITED)
        self.steps(0.3)


@pytest.mark.promise("stale-recovery", "outputs-within-limits")
@sizes(2, round(15 * float(os.environ.get("DYN_EXAMPLES", "1"))), [1])
@pytest.mark.parametrize("mode", ["gravity", "inverse_dynamics", "computed_torque", "controller"])
@pytest.mark.usefixtures("ros_environment")
def test_random_sequences_of_events(mode: str, count: int, seed: int | None) -> None:
    machine = type(f"Sequences_{mode}", (Sequences,), {"mode": mode})
    unchecked = {"deadline": None, "suppress_health_check": list(hypothesis.HealthCheck)}
    quiet = {"database": None, "print_blob": False, "report_multiple_bugs": False, "phases": PHASES}
    settings = hypothesis.settings(max_examples=count, stateful_step_count=20, **unchecked, **quiet)
    stateful.run_state_machine_as_test(hypothesis.seed(drawn(seed))(machine), settings=settings)
