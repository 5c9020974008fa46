# SPDX-License-Identifier: Apache-2.0
"""A node of the arm rrp whose torques are checked at each message: steps, limits, the law by Pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Inertia
from loose_node import LooseNode
from message_makers import NAMES, joint_state, later, nanoseconds, reference, to_rest_at
from rnea import Pinocchio, frictionless
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointTorques, Payload
from dyn_nodes.common.torques.desired_motion import Kind

LIMITS = np.array([60.0, 80.0, 120.0])
SPEEDS = np.array([2.0, 2.0, 0.5])
PERIOD = 0.01
TIMEOUT = 0.2
SLACK = 0.1
P, D = 100.0, 5.0
W = 2.0 * np.pi * 2.0
RAMP = 0.5
SETTINGS: dict[str, Any] = {"ramp_start": RAMP, "ramp_up": RAMP, "ramp_down": RAMP, "max_torque_rate": 0.0}
"""Without a bound of the rate, torques follow each change of the law at once: other steps are of ramps."""
STEEPEST = 1.875 / RAMP * PERIOD
"""Fraction of a smooth ramp in one period at its steepest point."""
OK, LIMITED = JointTorques.STATUS_OK, JointTorques.STATUS_LIMITED
STILL = np.zeros(3)


class WatchedArm:
    """The node, where its robot is, and what was seen last.

    Attributes:
        loose: the node.
        mode: `mode` of feedforward, or "controller".
        q: where the robot is (rad or m), (3,).
        stream: returns the position and velocity of references at a time (s), while they are sent.
        fed: torques of the feedforward that are sent to a controller (N m or N), (3,); None where not.
        known: whether the robot in use is the one that Pinocchio has.
    """

    def __init__(self, loose: LooseNode, mode: str) -> None:
        self.loose, self.mode = loose, mode
        self.q = np.array([0.1, 0.3, 0.05])
        self.stream: Callable[[float], tuple[np.ndarray, np.ndarray]] | None = None
        self.exact_from, self.known = 0.0, True
        self.fed: np.ndarray | None = None
        self.fed_at = self.referred_at = -np.inf
        self.gap = 0.0
        self._pinocchio = Pinocchio(frictionless("rrp"))
        self._bare = self._pinocchio.model.copy()
        self._last: np.ndarray | None = None
        self._last_law: np.ndarray | None = None
        self._last_at, self._seen = -np.inf, 0

    # Sending messages.

    def step(self, *, state: bool = True) -> None:
        """Let a period pass, in which a reference and a joint state are sent, if enabled."""
        loose = self.loose
        if self.stream is not None:
            self.refer(*self.stream(loose.now))
        if self.fed is not None:
            header = Header(stamp=loose.stamp)
            self.counted("feedforward", JointTorques(header=header, name=NAMES, total=self.fed.tolist()))
            self.fed_at = loose.now
        if state:
            self.counted("/joint_states", joint_state(loose.stamp, self.q, STILL))
        self.check()
        loose.pass_time(PERIOD)
        self.check()

    def counted(self, topic: str, message: Any) -> None:
        """Send a message, and check that it is counted as used or as refused."""
        diagnostics, active = self.loose.node._diagnostics, self.loose.node.active is not None
        before = sum(diagnostics._counts.values())
        self.loose.send(topic, message)
        assert self.loose.node.failure is None, (topic, message, self.loose.node.failure)
        assert not active or sum(diagnostics._counts.values()) > before, (topic, message)

    def refer(self, q: np.ndarray, qd: np.ndarray, stamp: Time | None = None) -> None:
        counts = self.loose.node._diagnostics._counts
        used = counts.get("references used", 0)
        self.counted("reference", reference(stamp or self.loose.stamp, q, qd, STILL))
        if counts.get("references used", 0) > used:
            gap = self.loose.now - self.referred_at
            self.gap = gap if gap <= TIMEOUT + 1e-9 else 0.0
            self.referred_at = self.loose.now

    def go(self, goal: Sequence[float], seconds: float, delay: float | None = None) -> None:
        """Send a trajectory that begins at once or after a delay (s), which may be negative."""
        stamp = Time() if delay is None else later(self.loose.stamp, delay)
        self.counted("joint_trajectory", to_rest_at(goal, seconds, stamp=stamp))

    def stop(self) -> None:
        self.counted("joint_trajectory", JointTrajectory())

    def hold(self, mass: float) -> None:
        """Attach a mass to the slider at (0.6, 0, 0.1) m."""
        inertia = Inertia(m=mass)
        inertia.com.x, inertia.com.z = 0.6, 0.1
        self.counted("payload", Payload(link_name="slider", inertia=inertia))
        self.exact_from = self.loose.now + RAMP + PERIOD
        pin, model = self._pinocchio.pin, self._bare.copy()
        body = pin.Inertia(mass, np.array([0.6, 0.0, 0.1]), np.zeros((3, 3)))
        model.appendBodyToJoint(model.getJointId("stretch"), body, pin.SE3.Identity())
        self._pinocchio.model, self._pinocchio.data = model, model.createData()

    def hold_nothing(self) -> None:
        """The node has forgotten the payload."""
        self.exact_from, self.known = self.loose.now, True
        self._pinocchio.model, self._pinocchio.data = self._bare, self._bare.createData()

    # Checking the output.

    def forget_torques(self) -> None:
        """Compare the next torques with none before, as the law does not continue from a last message."""
        self._last = self._last_law = None
        self._seen = len(self.loose.published["torques"])

    @property
    def maker(self) -> Any:
        return self.loose.node._running.maker

    def wanted(self, t: float | None = None) -> Motion | None:
        """The desired motion, read without a side effect on the node."""
        desired = self.maker.desired
        sampled = desired._sampled
        motion = desired.at(self.loose.node.node_time if t is None else t)
        desired._sampled = sampled
        return motion

    def held(self, t: float | None = None) -> Motion:
        """The motion that torques follow, or the position at which the robot is held."""
        motion = self.wanted(t)
        if motion is None:
            place = self.maker._place if self.mode == "controller" else getattr(self.maker, "_start", None)
            return Motion.at_rest(self.q if place is None else np.asarray(place))
        stale = self.maker.desired.kind is Kind.REFERENCE and self.loose.now - self.referred_at > TIMEOUT
        return Motion.at_rest(motion.q) if stale else motion

    def law(self, t: float | None = None) -> np.ndarray:
        """Expected torques in the normal state."""
        desired = self.held(t)
        error = desired.q - self.q
        if self.mode == "controller":
            return P * error + D * desired.qd + (STILL if self.fed is None else self.fed)
        nothing = self.maker.desired.kind is Kind.NOTHING
        if self.mode == "gravity" or (self.mode == "inverse_dynamics" and nothing):
            return self._rnea(self.q, STILL, STILL)
        if self.mode == "inverse_dynamics":
            return self._rnea(*desired)
        return self._rnea(self.q, STILL, desired.qdd + 2.0 * W * desired.qd + W * W * error)

    def _rnea(self, *vectors: np.ndarray) -> np.ndarray:
        torques = self._pinocchio.torques(*(dict(zip(NAMES, vector, strict=True)) for vector in vectors))
        return np.array([torques[name] for name in NAMES])

    def check(self) -> None:
        """Check the torques that were published since the last call."""
        loose = self.loose
        assert loose.node.failure is None
        published = loose.published["torques"]
        new, self._seen = published[self._seen :], len(published)
        if loose.node._running is None or list(loose.node.robot.joint_names) != NAMES:
            return
        law = self._law_for(new[-1]) if new else self.law()
        unchanged = self._last_law is None or (new and self.mode == "gravity")
        change = STILL if unchanged else np.abs(law - self._last_law)
        for message in new:
            total = np.array(message.total)
            assert np.isfinite(total).all()
            assert (np.abs(total) <= LIMITS).all(), total
            if self._last is not None:
                periods = max(1.0, (loose.now - self._last_at) / PERIOD)
                bound = 2.0 * LIMITS * min(1.0, STEEPEST * periods) + change
                step = np.abs(total - self._last)
                assert (step <= bound + 1e-6).all(), f"step {step}, law {law}, bound {bound}"
            self._last, self._last_at = total, loose.now
        if new:
            self._exactly(new[-1], law)
            self._last_law = law

    def _exactly(self, message: JointTorques, law: np.ndarray) -> None:
        """Check that live torques follow the law."""
        if message.status not in (OK, LIMITED) or not self.known or self.loose.now < self.exact_from:
            return
        if self.mode == "controller" and self.loose.now - self.fed_at < 1.0:
            return
        if abs(self.loose.now - self.referred_at - TIMEOUT) < 1e-6:
            return  # rounding decides whether the reference is still valid
        if self.mode == "inverse_dynamics" and Time() != message.header.stamp:
            node = self.loose.node
            if abs(node.time_from(nanoseconds(message.header.stamp)) - node.node_time) > 1e-9:
                return
        limited = np.clip(law, -LIMITS, LIMITS)
        assert np.allclose(message.total, limited, rtol=1e-6, atol=1e-6), (message.total, limited)

    def _law_for(self, message: JointTorques) -> np.ndarray:
        """The law now.

        Where accelerations step at the end of a motion, rounding decides which side applies.
        """
        now = self.loose.node.node_time
        laws = (self.law(t) for t in (None, now - 1e-8, now + 1e-8))
        return min(laws, key=lambda law: np.abs(np.array(message.total) - law).max())

    # Continuity of the desired motion.

    def continuous(self, before: np.ndarray | None, dt: float, allowed: float) -> None:
        """Check that the desired position moves no faster than joints can, except during a torque ramp."""
        now = self.place()
        if before is not None and now is not None:
            moved = np.abs(now - before)
            # A reference may move as far as joints can since the last used reference.
            dt = max(dt, self.gap if allowed else 0.0)
            assert (moved <= 1.1 * SPEEDS * dt + allowed + 1e-9).all(), f"moved {moved} in {dt}"

    def place(self) -> np.ndarray | None:
        """Position to which torques move the robot; None where they do not, or during a ramp."""
        if self.mode == "gravity" or self.loose.node.active is None:
            return None  # torques that hold the robot at any position move it nowhere
        return self.held().q.copy() if self.maker.stage.watch.status is Status.GOOD else None
