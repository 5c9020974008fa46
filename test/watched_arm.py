# SPDX-License-Identifier: Apache-2.0
"""A loose node with the arm rrp, of which each torque is compared with the law and with the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Inertia
from loose_node import LooseNode
from rnea import Pinocchio, frictionless
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.control.motion import Motion
from dyn_core.control.watchdog import Status
from dyn_msgs.msg import JointReference, JointTorques, Payload
from dyn_nodes.common.torques.desired_motion import Kind

NAMES = ["turn", "lift", "stretch"]
LIMITS = np.array([60.0, 80.0, 120.0])
SPEEDS = np.array([2.0, 2.0, 0.5])
PERIOD = 0.01
TIMEOUT = 0.2
SLACK = 0.1
P, D = 100.0, 5.0
W = 2.0 * np.pi * 2.0
RAMP = 0.5
SETTINGS: dict[str, Any] = {"ramp_start": RAMP, "ramp_up": RAMP, "ramp_down": RAMP}
STEEPEST = 1.875 / RAMP * PERIOD
"""Part of the way that a smooth ramp goes in one period where it is steepest."""
OK, LIMITED, RAMPING = JointTorques.STATUS_OK, JointTorques.STATUS_LIMITED, JointTorques.STATUS_RAMPING
Law = Callable[[np.ndarray, np.ndarray, Motion], np.ndarray]


class WatchedArm:
    """The node, where its robot is, and what was seen last.

    Attributes:
        loose: the node.
        mode: `mode` of feedforward, or "controller".
        q: where the robot is (rad or m), (3,).
        stream: answers the position and velocity of references at a time (s), while they are sent.
        fed: torques of the feedforward that are sent to a controller (N m or N), (3,); None where not.
        known: whether the robot in use is that of which Pinocchio knows.
    """

    def __init__(self, loose: LooseNode, mode: str) -> None:
        self.loose, self.mode = loose, mode
        self.q, self.qd = np.array([0.1, 0.3, 0.05]), np.zeros(3)
        self.stream: Callable[[float], tuple[np.ndarray, np.ndarray]] | None = None
        self.exact_from, self.known = 0.0, True
        self.fed: np.ndarray | None = None
        self.fed_at = -np.inf
        self.referred_at = -np.inf
        self.gap = 0.0
        self._pinocchio = Pinocchio(frictionless("rrp"))
        self._bare = self._pinocchio.model.copy()
        self._last: np.ndarray | None = None
        self._last_at = -np.inf
        self._last_law: np.ndarray | None = None
        self._seen = 0

    # What is sent.

    def step(self, *, state: bool = True, velocity: Sequence[float] | None = None) -> None:
        """Let a period pass, in which a reference and a joint state are sent, if they are."""
        loose = self.loose
        if self.stream is not None:
            self.refer(*self.stream(loose.now))
        if self.fed is not None:
            self.counted("feedforward", JointTorques(header=self.header, name=NAMES, total=self.fed.tolist()))
            self.fed_at = loose.now
        if state:
            self.qd = np.zeros(3) if velocity is None else np.asarray(velocity)
            message = JointState(
                header=self.header, name=NAMES, position=self.q.tolist(), velocity=self.qd.tolist()
            )
            self.counted("/joint_states", message)
        self.check()
        loose.pass_time(PERIOD)
        self.check()

    @property
    def header(self) -> Header:
        return Header(stamp=self.loose.stamp)

    def counted(self, topic: str, message: Any) -> None:
        """Send a message, and see that it is used or refused: not passed over in silence."""
        diagnostics, active = self.loose.node._diagnostics, self.loose.node.active is not None
        before = sum(diagnostics._counts.values())
        self.loose.send(topic, message)
        assert self.loose.node.failure is None, (topic, message, self.loose.node.failure)
        assert not active or sum(diagnostics._counts.values()) > before, (topic, message)

    def refer(self, q: np.ndarray, qd: np.ndarray, stamp: Time | None = None) -> None:
        header = Header(stamp=stamp or self.loose.stamp)
        used = self.count("references used")
        message = JointReference(
            header=header, name=NAMES, position=q.tolist(), velocity=qd.tolist(), acceleration=[0.0] * 3
        )
        self.counted("reference", message)
        if self.count("references used") > used:
            gap = self.loose.now - self.referred_at
            self.gap = gap if gap <= TIMEOUT + 1e-9 else 0.0
            self.referred_at = self.loose.now

    def count(self, what: str) -> int:
        return int(self.loose.node._diagnostics._counts.get(what, 0))

    def go(self, goal: Sequence[float], seconds: float, delay: float | None = None) -> None:
        """Send a trajectory, which begins at once or with a delay (s), which may be below 0."""
        stamp = Time()
        if delay is not None:
            s, ns = divmod(self.loose.ros_now + round(1e9 * delay), 10**9)
            stamp = Time(sec=s, nanosec=ns)
        duration = Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1.0)))
        point = JointTrajectoryPoint(positions=list(goal), velocities=[0.0] * 3, time_from_start=duration)
        message = JointTrajectory(header=Header(stamp=stamp), joint_names=NAMES, points=[point])
        self.counted("joint_trajectory", message)

    def stop(self) -> None:
        self.counted("joint_trajectory", JointTrajectory())

    def hold(self, mass: float) -> None:
        """Have the slider hold a mass at (0.6, 0, 0.1) m."""
        inertia = Inertia(m=mass)
        inertia.com.x, inertia.com.z = 0.6, 0.1
        self.counted("payload", Payload(link_name="slider", inertia=inertia))
        self.exact_from = self.loose.now + RAMP + PERIOD
        pin = self._pinocchio.pin
        self._pinocchio.model = self._bare.copy()
        body = pin.Inertia(mass, np.array([0.6, 0.0, 0.1]), np.zeros((3, 3)))
        joint = self._pinocchio.model.getJointId("stretch")
        self._pinocchio.model.appendBodyToJoint(joint, body, pin.SE3.Identity())
        self._pinocchio.data = self._pinocchio.model.createData()

    def hold_nothing(self) -> None:
        """The node has forgotten the payload."""
        self.exact_from, self.known = self.loose.now, True
        self._pinocchio.model = self._bare.copy()
        self._pinocchio.data = self._pinocchio.model.createData()

    # What is seen.

    def forget_torques(self) -> None:
        """Compare the next torques with none before: what a last message says is not followed from a law."""
        self._last = self._last_law = None
        self._seen = len(self.loose.published["torques"])

    @property
    def maker(self) -> Any:
        return self.loose.node._running.maker

    def wanted(self, t: float | None = None) -> Motion | None:
        """The desired motion, without the node noticing that it was asked for it."""
        desired = self.maker.desired
        sampled = desired._sampled
        motion = desired.at(self.loose.node.node_time if t is None else t)
        desired._sampled = sampled
        return motion

    def held(self) -> Motion:
        """The motion that torques follow, or the place where the robot is held."""
        motion = self.wanted()
        if motion is None:
            place = self.maker._place if self.mode == "controller" else getattr(self.maker, "_start", None)
            return Motion.at_rest(self.q if place is None else np.asarray(place))
        stale = self.maker.desired.kind is Kind.REFERENCE and self.loose.now - self.referred_at > TIMEOUT
        return Motion.at_rest(motion.q) if stale else motion

    def law(self) -> np.ndarray:
        """What torques should be, when there is no reason for others."""
        desired = self.held()
        q, qd = self.q, self.qd
        if self.mode == "controller":
            fed = np.zeros(3) if self.fed is None else self.fed
            return P * (desired.q - q) + D * (desired.qd - qd) + fed
        nothing = self.maker.desired.kind is Kind.NOTHING
        if self.mode == "gravity" or (self.mode == "inverse_dynamics" and nothing):
            return self._rnea(q, np.zeros(3), np.zeros(3))
        if self.mode == "inverse_dynamics":
            return self._rnea(*desired)
        return self._rnea(q, qd, desired.qdd + 2.0 * W * (desired.qd - qd) + W * W * (desired.q - q))

    def _rnea(self, *vectors: np.ndarray) -> np.ndarray:
        named = (dict(zip(NAMES, vector, strict=True)) for vector in vectors)
        torques = self._pinocchio.torques(*named)
        return np.array([torques[name] for name in NAMES])

    def check(self) -> None:
        """Compare what was published since the last time."""
        loose = self.loose
        assert loose.node.failure is None
        published = loose.published["torques"]
        new, self._seen = published[self._seen :], len(published)
        if loose.node._running is None or list(loose.node.robot.joint_names) != NAMES:
            return
        law = self.law()
        if new and self.mode == "gravity":
            change = np.zeros(3)
        else:
            change = np.zeros(3) if self._last_law is None else np.abs(law - self._last_law)
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
        """See that live torques are those of the law."""
        if message.status not in (OK, LIMITED) or not self.known or self.loose.now < self.exact_from:
            return
        if self.mode == "controller" and self.loose.now - self.fed_at < 1.0:
            return
        if abs(self.loose.now - self.referred_at - TIMEOUT) < 1e-6:
            return  # it depends on roundings whether the reference counts
        if self.mode == "inverse_dynamics" and Time() != message.header.stamp:
            stamp = message.header.stamp
            t = self.loose.node.time_from(stamp.sec * 10**9 + stamp.nanosec)
            if abs(t - self.loose.node.node_time) > 1e-9:
                return
        limited = np.clip(law, -LIMITS, LIMITS)
        assert np.allclose(message.total, limited, rtol=1e-6, atol=1e-6), (message.total, limited)

    # Continuity of the desired motion.

    def continuous(self, before: np.ndarray | None, dt: float, allowed: float) -> None:
        """See that what is desired has moved no further than joints can, unless torques go over in a ramp."""
        now = self.place()
        if before is not None and now is not None:
            moved = np.abs(now - before)
            # A reference may move as far as joints can since the last one that was used.
            dt = max(dt, self.gap if allowed else 0.0)
            assert (moved <= 1.1 * SPEEDS * dt + allowed + 1e-9).all(), f"moved {moved} in {dt}"

    def place(self) -> np.ndarray | None:
        """Where torques take the robot; None where they do not, or are on their way to it."""
        live = self.loose.node.active is not None and self.maker.stage.watch.status is Status.GOOD
        return self.held().q.copy() if live else None
