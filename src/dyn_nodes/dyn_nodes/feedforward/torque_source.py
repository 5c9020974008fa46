# SPDX-License-Identifier: Apache-2.0
"""The torques of one robot in the three modes of the node `feedforward`.

This module has no node, no clock and no messages. Times t are stamps, on the clock of the node; times `now`
are on a steady clock (both s).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.control.laws.inverse_dynamics_control import (
    Terms,
    TrackingGains,
    check_motor_speeds,
    computed_torque,
    held,
)
from dyn_core.control.trajectories.piecewise_polynomials import Motion, SmoothMotion
from dyn_core.control.trajectories.trajectory import Samples, Trajectory
from dyn_core.control.trajectories.trajectory_planning import PlannedPoints, TrajectoryPoints
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_nodes.common.data_checks import Notice, Rejection
from dyn_nodes.common.lifecycle.robot_source import LoadedModel
from dyn_nodes.common.messages.motion_message import GivenMotion, efforts, held_at_the_end
from dyn_nodes.common.torques.desired_motion import DesiredMotion, Kind
from dyn_nodes.common.torques.gain_blend import GainBlend
from dyn_nodes.common.torques.output_stage import Output
from dyn_nodes.common.torques.position_checks import check_loops
from dyn_nodes.common.torques.torque_maker import TorqueMaker
from dyn_nodes.feedforward.base_motion import BaseMotion
from dyn_nodes.feedforward.drive_share import DriveShare, finite_terms
from dyn_nodes.feedforward.gravity_watch import Contradiction
from dyn_nodes.feedforward.live_parameters import LiveParameters
from dyn_nodes.feedforward.parameters import FeedforwardSettings


class TorqueSource(TorqueMaker):
    """The torques of one robot. State: the last measurement, and the states of its parts.

    `base` is the motion of the base, None for a fixed base; with `has_springs`, motors move joints through
    springs.
    """

    def __init__(
        self, loaded: LoadedModel, settings: FeedforwardSettings, unloaded: Model | None = None
    ) -> None:
        """Begin without data; DynError where a parameter does not fit the robot.

        `unloaded` is a second model of the robot where the drive adds gravity and knows of no payload.
        """
        robot, model = loaded.robot, loaded.model
        names = robot.coordinate_names
        self.settings, self.loaded, self._unloaded = settings, loaded, unloaded
        limits = self._limits(settings)
        super().__init__(robot, limits, settings.watch, settings.smoothing, settings.loop_condition)
        self._mode = settings.mode
        self._timeout = settings.watch.timeout
        gains = settings.gains.of(robot)
        self._gains = GainBlend((gains.Kp, gains.Kd))
        self.live = LiveParameters(model, unloaded)
        self.base: BaseMotion | None = None
        self.has_springs = bool(model.elastic_joint_names)
        self._check_mode(settings)
        if settings.base.source != "none":
            self.base = BaseMotion(robot, settings.base, self._timeout)
        self._share = self._made_share(settings)
        self._references = settings.references
        self._holds_at_last = settings.on_shutdown == "hold"
        cutoff = settings.references.derivative_cutoff
        self._velocities = DerivativeFilter(names, cutoff, max_gap=self._timeout)
        self._adds_gravity = settings.drive.adds_gravity
        self.contradiction: Contradiction | None = None
        self.is_rescued = False
        self._watch = self._share.made_watch(adds_gravity=self._adds_gravity)
        self.desired = self._nothing_desired()
        self._measured_at = -math.inf
        self._position: Array | None = None
        self._start: Array | None = None

    def _limits(self, settings: FeedforwardSettings) -> EffortLimits:
        """Return the limits of torques, and what becomes of those that are above them."""
        loaded = self.loaded
        limits = EffortLimits(loaded.robot.coordinate_names, loaded.effort_limit.tolist(), settings.on_limit)
        return limits.scaled(settings.smoothing.effort_scale)

    def _check_mode(self, settings: FeedforwardSettings) -> None:
        """Raise DynError where the robot has no torques in a mode."""
        if self.has_springs and settings.mode == "computed_torque":
            joint = self.loaded.model.elastic_joint_names[0]
            raise DynError("computed-torque-on-elastic-joint", joint=joint)

    def _made_share(self, settings: FeedforwardSettings) -> DriveShare:
        """Return the torques that are left to send."""
        given, loaded = settings.coulomb_velocity, self.loaded
        smooth = np.full(loaded.robot.dof, given) if given >= 0.0 else loaded.coulomb_velocity
        compensated, moves = settings.drive.compensates, self.base is not None
        return DriveShare(loaded.model, self._unloaded, compensated, smooth, base_moves=moves)

    def tuning(self, settings: FeedforwardSettings, t: float) -> Callable[[float], None]:
        """Return what uses other values of live parameters; DynError where they cannot be used."""
        before, drive = self.settings, settings.drive
        other_mode = settings.mode != before.mode
        motion = self.desired.at(t) if other_mode else None
        if motion is not None and motion.qd.any():
            raise DynError("mode-in-motion", mode=before.mode)
        self._check_mode(settings)
        if drive.adds_gravity and not drive.knows_payload and self._unloaded is None:
            raise DynError("parameter-at-start", parameter="drive_compensates")
        gains, share, limits = settings.gains.of(self.loaded.robot), self._share, self.stage.limits
        if (drive, settings.coulomb_velocity) != (before.drive, before.coulomb_velocity):
            share = self._made_share(settings)
        if (settings.on_limit, settings.smoothing) != (before.on_limit, before.smoothing):
            limits = self._limits(settings)

        def tune(now: float) -> None:
            if settings.gains != before.gains:
                self._gains.change((gains.Kp, gains.Kd), now, settings.blend_time)
            is_other = other_mode or share is not self._share
            self.settings, self._references = settings, settings.references
            if is_other:
                self._mode, self._share, self._adds_gravity = settings.mode, share, drive.adds_gravity
                self._trust()
            if other_mode:
                self.desired, self._start = self._nothing_desired(), None
                self._believed.forget()
            else:
                self.desired.tune(self.loaded.robot, settings.references)
            self.tune_limits(limits, now, ramp=is_other)

        return tune

    def take_over(self, before: TorqueSource, now: float) -> list[Notice]:
        """Continue, at time `now` (s), from the torques, payloads and motions of another robot.

        Motions are taken over where the joints are the same. The notices say what could not be taken over.
        """
        self.stage.take_over(before.stage, now)
        self.fault = before.fault
        if self._watch is not None and before.contradiction is not None:
            self.contradiction, self.is_rescued, self._watch = before.contradiction, before.is_rescued, None
        left = self.live.take_over(before.live, now)
        if before.loaded.robot.coordinate_names == self.loaded.robot.coordinate_names:
            self.desired.take_over(before.desired)
            self._velocities = before._velocities
            self._believed.last = before._believed.last
            self._measured_at, self._position = before._measured_at, before._position
            self._start = before._start
        elif before.desired.kind is not Kind.NOTHING:
            left.append(Notice("motion-of-other-joints"))
        return left

    def restart(self) -> None:
        """Forget all motions and wait for data as at the start."""
        self.forget_fault()
        self.stage.restart()
        self._velocities.reset()
        if self.base is not None:
            self.base.restart()
        self.desired = self._nothing_desired()
        self._believed.forget()
        self._position = self._start = None
        self._measured_at = -math.inf
        self._trust()

    def _trust(self) -> None:
        """Take for true what the drive is said to do with gravity."""
        self.contradiction, self.is_rescued = None, False
        self._watch = self._share.made_watch(adds_gravity=self._adds_gravity)

    def look(self) -> Contradiction | None:
        """Return a new contradiction between torques and motion; a free arm is braked from then on."""
        found = None if self._watch is None else self._watch.look()
        is_new = self.contradiction is None or self.is_rescued
        if found is None or not (is_new or found.is_free):
            return None
        self.contradiction = found
        if found.is_free or self.is_rescued:
            # A push may have looked like gravity. Then the motion contradicts what is believed now, too.
            self._watch = None if self.is_rescued else self._share.made_watch(adds_gravity=found.is_added)
            self.is_rescued, self.desired = True, self._nothing_desired()
        return found

    @property
    def is_corrected(self) -> bool:
        """Whether a second contradiction has told that the drive does what it is said to do."""
        found = self.contradiction
        return self.is_rescued and found is not None and found.is_added == self._adds_gravity

    def forget_time(self, t: float, now: float) -> None:
        """Go on after the clock of the stamps was set to another time t (s)."""
        self.desired.forget_time(t)
        if self.base is not None:
            self.base.forget_time()
        self._believed.forget()
        self._velocities.reset()
        self.stage.recover(now)

    def measure(self, q: Array, qd: Array | None, t: float, now: float) -> Output | None:
        """Take a measurement; return the torques to send if they depend on the measurement.

        `qd` is None where velocities are not measured.

        Raises:
            Rejection: the measurement is older than the last one, jumps, is too far from the desired motion
                to begin, or is at a position where loops do not close; or the torques cannot be sent.
        """
        self.live.update(now)
        check_loops(self.guard, q, "the joint state")
        if now - self._measured_at > self._timeout:
            self._believed.forget()
        first = self._believed.last is None
        goes_on = self._believed.follows(t, q)
        self._measured_at, self._position = now, q
        if self._watch is not None:
            self._watch.take(t, q, self.stage.sent, settled=self.stage.is_settled)
        if self.fault is not None:
            return self.stage.given_up(self._held, now)
        if self.is_rescued:
            (qd,) = self._velocities.update(t, q)
            return self.stage.live(self._rescuing(q, qd), now)
        if self._mode == "inverse_dynamics" and self.desired.kind is not Kind.NOTHING:
            return None
        if not goes_on and not first:
            self.stage.recover(now)
        if self._mode != "computed_torque":
            self._feel(now)
            return self.stage.live(self._still(q), now)
        if not goes_on:
            self._begin_at(q, t)
        return self._computed(q, qd, t, now)

    def refer(self, given: GivenMotion, t: float, now: float) -> Output | None:
        """Take a reference; return the torques to send if they depend on it. Rejection if it is unusable."""
        if self.has_springs and self._mode == "inverse_dynamics" and not given.rests:
            raise Rejection("reference-not-smooth")
        self.refuse_after_fault()
        if self.is_rescued:
            raise Rejection("motion-after-contradiction")
        self.live.update(now)
        before = None if self.desired.follows(now) else self._place(t)
        motion = self.desired.refer(given, t, now, self.measured(now))
        self._go_over(before, motion.q, now)
        return self._along(motion, now) if self._mode == "inverse_dynamics" else None

    def planned(
        self,
        points: TrajectoryPoints,
        t: float,
        stamp: float | None,
        now: float,
        checked: PlannedPoints | None,
    ) -> Trajectory:
        """Return the trajectory through points from the present motion; DynError where there is none."""
        self.refuse_after_fault()
        if self.is_rescued:
            raise DynError("motion-after-contradiction")
        trajectory = self.desired.planned(points, t, stamp, now, self._beginning(now), checked)
        if self._share.of_motors is not None:
            check_motor_speeds(self._share.of_motors, trajectory, self.desired.speed)
        return trajectory

    def follow(self, trajectory: Trajectory, t: float, now: float) -> None:
        """Follow a trajectory from now on: time t of stamps, `now` of the steady clock (s)."""
        before = self._place(t)
        self.desired.follow(trajectory, t)
        self._go_over(before, trajectory.motion(t).q, now)

    def stand(self, t: float, now: float) -> None:
        """Stand still from now on; DynError where the position is unknown."""
        self.follow(self.desired.standing(t, now, self._beginning(now)), t, now)

    def samples(self, trajectory: Trajectory, times: Array) -> Samples | SmoothMotion:
        """Return the motion along a trajectory at N times (s), with all derivatives that torques need."""
        smooth = self.has_springs
        return trajectory.smooth_motions(times) if smooth else held_at_the_end(trajectory.sample_many(times))

    def motors(self, t: float, output: Output) -> tuple[Motion, Array] | None:
        """Return motion and torques of motors behind springs at time t (s), if there are any."""
        terms, desired = self._share.of_motors, self.desired.smooth_at(t) or self.desired.at(t)
        if terms is None or desired is None:
            return None
        return terms.motors(desired), output.total[terms.driven]

    def efforts(self, samples: Samples | SmoothMotion) -> tuple[Array, Notice | None]:
        """Return the torques of N motions, (N, n), and a notice where a limit is exceeded.

        Raises:
            DynError, Rejection: torques are to be withheld, or not finite.
        """
        return efforts(samples, self._of, self.stage.limits, self.stage.units)

    def can_follow(self, motion: Motion) -> bool:
        """Return whether the torques of N motions, (N, n), are within their limits."""
        try:
            return self.efforts(Samples(*motion, np.empty(0, dtype=np.int8)))[1] is None
        except (DynError, Rejection):
            return False

    def advance(self, t: float, now: float) -> Output | None:
        """Return the torques to send along a trajectory at time t, or None; Rejection on failure."""
        if self._mode != "inverse_dynamics" or self.desired.kind is not Kind.TRAJECTORY:
            return None
        self.live.update(now)
        motion = self.desired.at(t)
        if motion is not None and self.has_springs:
            return self._along(self.desired.smooth_at(t) or motion, now)
        return None if motion is None else self._along(motion, now)

    def idle(self, now: float) -> Output | None:
        """Return what to send where no good data has come, or None; Rejection if it cannot be sent."""
        self.live.update(now)
        return (self.stage.idle if self.fault is None else self.stage.given_up)(self._held, now)

    def last(self) -> Output:
        """Return the last torques to send: those that hold the robot, or zero, as the settings say."""
        return self.stage.last(self._held() if self._holds_at_last else self.stage.zero)

    @property
    def needs(self) -> str:
        """Name of the data that the torques depend on, for messages."""
        if self._mode == "computed_torque" and self.desired.kind is Kind.REFERENCE:
            return "joint states or references"
        if self._mode == "inverse_dynamics" and self.desired.kind is not Kind.NOTHING:
            return "references" if self.desired.kind is Kind.REFERENCE else "time"
        return "joint states"

    def measured(self, now: float) -> Array | None:
        """Return the measured position (rad or m), None where it is unknown at time `now`."""
        return self._position if now - self._measured_at <= self._timeout else None

    def unmeasured(self, now: float) -> float | None:
        """Return for how long (s) inverse dynamics has gone on without joint states; None if it has not."""
        if self._mode != "inverse_dynamics" or self.desired.kind is Kind.NOTHING:
            return None
        silence = now - self._measured_at
        return silence if self._timeout < silence < math.inf else None

    def _computed(self, q: Array, qd: Array | None, t: float, now: float) -> Output | None:
        if qd is None:
            (qd,) = self._velocities.update(t, q)
        if not self.desired.fresh(now):
            return None
        desired = self.desired.at(t) or held(q if self._start is None else self._start)
        # With the desired velocity: friction of a measured one changes its sign with the noise.
        gains = TrackingGains(*(self._gains.at(now) or self._gains.target))
        motion = computed_torque(desired, q, qd, gains)
        self._feel(now)
        terms = self._of(motion, desired.qd)
        fed_back = self.loaded.model.inertial_torques(q, motion.qdd - desired.qdd)
        if self.has_lost(t, q, qd, desired.q - q, fed_back, terms.total):
            return self.stage.given_up(self._held, now)
        output = self.stage.live(terms, now)
        # The data of these torques is as old as the reference: it is stale when the reference is.
        self.stage.last_good = self.desired.since(now)
        return output

    def _place(self, t: float) -> Array | None:
        """Return the position that torques move the joints to at time t (rad or m), or None."""
        if self._mode == "gravity":
            return None
        desired = self.desired.at(t)
        return desired.q if desired is not None else self._start

    def _beginning(self, now: float) -> Motion | None:
        """Return the motion from which the first trajectory begins; None where it is unknown."""
        q, start = self.measured(now), self._start
        if q is None:
            return None
        if start is None or self.desired.kind is not Kind.NOTHING or self.desired.apart(start, q):
            return Motion.at_rest(q)
        # The start position stays desired, so that the torques of its position error go on.
        return Motion.at_rest(start)

    def _go_over(self, before: Array | None, q: Array, now: float) -> None:
        """Use a ramp where the desired position changes by more than a reference may."""
        if before is not None and self.desired.apart(before, q):
            self.stage.recover(now)

    def _begin_at(self, q: Array, t: float) -> None:
        """Hold the robot at its measured position, unless the desired motion is near.

        A desired motion that is far away is forgotten, with a Rejection.
        """
        self._start = q
        self._velocities.reset()
        desired = self.desired.at(t)
        if desired is None:
            return
        j = self._far(desired.q, q)
        if j is not None:
            self.desired = self._nothing_desired()
            name = self.loaded.robot.coordinate_names[j]
            raise Rejection("joint-far-from-motion", joint=name, distance=abs(desired.q[j] - q[j]))

    def _far(self, a: Array, b: Array) -> int | None:
        """Return the joint furthest apart in two positions, if that is further than a reference may begin."""
        distance = np.abs(a - b)
        j = int(distance.argmax())
        return j if distance[j] > self._references.slack else None

    def _nothing_desired(self) -> DesiredMotion:
        robot, guard = self.loaded.robot, self._desired_guard
        return DesiredMotion(robot, self._references, self._timeout, guard, for_springs=self.has_springs)

    def _along(self, motion: Motion | SmoothMotion, now: float) -> Output:
        if self.measured(now) is None:
            self._position = motion.q
        self._feel(now)
        return self.stage.live(self._of(motion), now)

    def _of(self, motion: Motion | SmoothMotion, friction_velocity: Array | None = None) -> Terms:
        return finite_terms(self._share.of, motion, friction_velocity)

    def _still(self, q: Array) -> Terms:
        return finite_terms(self._share.at_rest, Motion.at_rest(q), None)

    def _held(self) -> Terms:
        """Return the terms of the torques that hold the robot at its last measured, or desired, position.

        On a moving base they use the last specific force, without rotation.
        """
        if self._position is None:
            return self.stage.zero
        if self.is_rescued:
            return self._rescuing(self._position, self.stage.zero.total)
        if self.base is not None:
            self._share.feel(self.base.last())
        return self._still(self._position)

    def _rescuing(self, q: Array, qd: Array) -> Terms:
        """Return the torques for an arm that rises or falls, as its motion tells what the drive adds."""
        assert self.contradiction is not None
        return self._share.rescuing(q, qd, gravity=not self.contradiction.is_added)

    def _feel(self, now: float) -> None:
        """Set the present motion of the base in the model; Rejection where it is unknown."""
        if self.base is not None:
            self._share.feel(self.base.present(now))
