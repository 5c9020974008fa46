# SPDX-License-Identifier: Apache-2.0
"""The torques of one robot, from measured and desired motion: the three modes of the node `feedforward`.

Here is no node, no clock and no message. Times t are those of stamps, on the clock of the node; times `now`
are those of a steady clock (both s).
"""

from __future__ import annotations

import math

import numpy as np

from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.computed_torque import TrackingGains, computed_torque, held
from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms
from dyn_core.control.motion import Motion
from dyn_core.control.motor_speeds import check_motor_speeds
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.terms import Switches, Terms, TorqueTerms
from dyn_core.control.trajectories.loop_positions import LoopGuard
from dyn_core.control.trajectories.trajectory import Samples, Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.model.fixed_base.driven_base import DrivenBase
from dyn_core.robot.robot import Robot
from dyn_nodes.common.torques.desired_motion import DesiredMotion, Kind
from dyn_nodes.common.torques.output_stage import Output, OutputStage
from dyn_nodes.common.torques.position_checks import BelievedPositions
from dyn_nodes.feedforward.base_motion import BaseMotion
from dyn_nodes.feedforward.live_parameters import LiveParameters
from dyn_nodes.feedforward.parameters import FeedforwardSettings, GainSettings
from dyn_nodes.loop_condition import check_loops
from dyn_nodes.model_source import LoadedModel
from dyn_nodes.motion_message import GivenMotion
from dyn_nodes.rejection import Rejection
from dyn_nodes.trajectory_efforts import efforts


class TorqueSource:
    """What the node knows about one robot. It has a state: the last measurement, and that of its parts.

    Attributes:
        loaded: the robot and its model.
        desired: the desired motion.
        live: the dynamic parameters of the model.
        base: how the base moves; None where it stands still.
        stage: limits, reactions to stale data and transitions.
        guard: looks at measured positions of robots with loops.
        has_springs: whether motors move joints through springs.
    """

    def __init__(self, loaded: LoadedModel, settings: FeedforwardSettings) -> None:
        """Begin without data; DynError where a parameter does not fit the robot."""
        robot, model = loaded.robot, loaded.model
        names = robot.coordinate_names
        self.loaded = loaded
        self._mode = settings.mode
        self._timeout = settings.watch.timeout
        self._gains = _gains(robot, settings.gains)
        self.live = LiveParameters(model)
        given = settings.coulomb_velocity
        smooth = loaded.coulomb_velocity if given < 0.0 else np.full(len(names), given)
        switches = settings.switches
        self.base: BaseMotion | None = None
        self._driven: DrivenBase | None = None
        self.has_springs = bool(model.elastic_joint_names)
        if self.has_springs and settings.mode == "computed_torque":
            raise DynError(
                f"mode computed_torque cannot move joint '{model.elastic_joint_names[0]}', which is elastic: "
                "take inverse_dynamics"
            )
        if settings.base.source != "none":
            self.base = BaseMotion(robot, settings.base, self._timeout)
            self._driven = DrivenBase(model)
        # At rest there is nothing else, and it need not be computed; but on a base that moves.
        still = switches if self._driven else Switches(False, False, switches.gravity, switches.friction)
        self._terms, self._still_terms = (
            ElasticTerms(model, which, smooth)
            if self.has_springs
            else TorqueTerms(model, which, smooth, self._driven)
            for which in (switches, still)
        )
        self._references = settings.references
        self._holds_at_last = settings.on_shutdown == "hold"
        units = tuple(joint.effort_unit for joint in robot.independent_joints)
        limits = EffortLimits(names, loaded.effort_limit.tolist(), settings.on_limit)
        self.stage = OutputStage(limits, units, settings.watch, settings.ramp_start)
        cutoff = settings.references.derivative_cutoff
        self._velocities = DerivativeFilter(names, cutoff, max_gap=self._timeout)
        self.guard = LoopGuard(robot, settings.loop_condition)
        self._desired_guard = LoopGuard(robot, settings.loop_condition)
        self.desired = self._nothing_desired()
        self._believed = BelievedPositions(robot)
        self._measured_at = -math.inf
        self._position: Array | None = None
        self._start: Array | None = None

    def take_over(self, before: TorqueSource, now: float) -> list[str]:
        """Go on, at time `now` (s), from the torques, payloads and motions of another robot.

        Motions are taken over where the joints are the same.

        Returns:
            A sentence about each thing that could not be taken over.
        """
        self.stage.take_over(before.stage, now)
        left = self.live.take_over(before.live, now)
        if before.loaded.robot.coordinate_names == self.loaded.robot.coordinate_names:
            self.desired.take_over(before.desired)
            self._velocities = before._velocities
            self._believed.last = before._believed.last
            self._measured_at, self._position = before._measured_at, before._position
            self._start = before._start
        elif before.desired.kind is not Kind.NOTHING:
            left.append("the desired motion was of other joints: it is forgotten")
        return left

    def restart(self) -> None:
        """Forget the motions and wait for data as at first."""
        self.stage.restart()
        self._velocities.reset()
        if self.base is not None:
            self.base.restart()
        self.desired = self._nothing_desired()
        self._believed.forget()
        self._position = self._start = None
        self._measured_at = -math.inf

    def forget_time(self, t: float, now: float) -> None:
        """Go on after the clock of the stamps was set to another time t (s)."""
        self.desired.forget_time(t)
        if self.base is not None:
            self.base.forget_time()
        self._believed.forget()
        self._velocities.reset()
        self.stage.recover(now)

    def measure(self, q: Array, qd: Array | None, t: float, now: float) -> Output | None:
        """Take a measurement, and answer the torques to send for it if it is what they follow from.

        Args:
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,); None where they are not measured.
            t: stamp (s).
            now: the present (s).

        Raises:
            Rejection: the measurement is older than the last one, or cannot be believed, or is too far from
                the desired motion for a beginning, or is where loops do not close; or the torques cannot be
                sent.
        """
        self.live.update(now)
        check_loops(self.guard, q, "the joint state")
        if now - self._measured_at > self._timeout:
            self._believed.forget()
        first = self._believed.last is None
        goes_on = self._believed.follows(t, q)
        self._measured_at, self._position = now, q
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
        """Take a reference, and answer the torques to send for it if it is what they follow from.

        Raises:
            Rejection: the reference cannot be used, or the torques cannot be sent.
        """
        if self.has_springs and self._mode == "inverse_dynamics" and not _rests(given):
            raise Rejection(
                "a reference that moves has no third and fourth derivative, which elastic joints need: send "
                "a trajectory, or references at rest, with velocities and accelerations of 0",
                "references that move are not smooth enough for elastic joints",
            )
        self.live.update(now)
        before = None if self.desired.follows(now) else self._place(t)
        motion = self.desired.refer(given, t, now, self.measured(now))
        self._go_over(before, motion.q, now)
        return self._along(motion, now) if self._mode == "inverse_dynamics" else None

    def planned(self, points: TrajectoryPoints, t: float, stamp: float | None, now: float) -> Trajectory:
        """Answer the trajectory through points from the present motion; DynError where there is none."""
        trajectory = self.desired.planned(points, t, stamp, now, self._beginning(now))
        if isinstance(self._terms, ElasticTerms):
            check_motor_speeds(self._terms, trajectory, self.desired.speed)
        return trajectory

    def follow(self, trajectory: Trajectory, t: float, now: float) -> None:
        """Follow a trajectory from now on: time t of stamps, `now` of the steady clock (s)."""
        before = self._place(t)
        self.desired.follow(trajectory, t)
        self._go_over(before, trajectory.motion(t).q, now)

    def stand(self, t: float, now: float) -> None:
        """Stand still from now on; DynError where it is not known at which position."""
        self.follow(self.desired.standing(t, now, self._beginning(now)), t, now)

    def samples(self, trajectory: Trajectory, times: Array) -> Samples | SmoothMotion:
        """Answer the motion along a trajectory at N times (s), with all derivatives that torques need."""
        return trajectory.smooth_motions(times) if self.has_springs else trajectory.sample_many(times)

    def motors(self, t: float, output: Output) -> tuple[Motion, Array] | None:
        """Answer how motors behind springs have to move at time t (s), and with which torques that are sent.

        None where no joint has a spring, or nothing is desired.
        """
        terms, desired = self._terms, self.desired.smooth_at(t) or self.desired.at(t)
        if not isinstance(terms, ElasticTerms) or desired is None:
            return None
        return terms.motors(desired), output.total[terms.driven]

    def efforts(self, samples: Samples | SmoothMotion) -> tuple[Array, str | None]:
        """Answer the torques of N motions, (N, n), and a sentence where a limit is met.

        Raises:
            DynError: torques are to be withheld.
            Rejection: torques are not finite.
        """
        return efforts(samples, self._of, self.stage.limits, self.stage.units)

    def advance(self, t: float, now: float) -> Output | None:
        """Answer the torques to send along a trajectory at time t, if they follow from one.

        Raises:
            Rejection: the torques cannot be sent.
        """
        if self._mode != "inverse_dynamics" or self.desired.kind is not Kind.TRAJECTORY:
            return None
        self.live.update(now)
        motion = self.desired.at(t)
        if motion is not None and self.has_springs:
            return self._along(self.desired.smooth_at(t) or motion, now)
        return None if motion is None else self._along(motion, now)

    def idle(self, now: float) -> Output | None:
        """Answer what to send because no good data has come, if anything.

        Raises:
            Rejection: nothing can be sent.
        """
        self.live.update(now)
        return self.stage.idle(self._held, now)

    def last(self) -> Output:
        """Answer the last torques to send: those that hold the robot, or zero, as the settings say.

        Raises:
            Rejection: they cannot be sent.
        """
        return self.stage.last(self._held() if self._holds_at_last else self.stage.zero)

    @property
    def position(self) -> Array | None:
        """The last measured positions (rad or m), (n,); None before any."""
        return None if self._believed.last is None else self._believed.last[1]

    @property
    def needs(self) -> str:
        """What torques follow from, for sentences."""
        if self._mode == "computed_torque" and self.desired.kind is Kind.REFERENCE:
            return "joint states or references"
        if self._mode == "inverse_dynamics" and self.desired.kind is not Kind.NOTHING:
            return "references" if self.desired.kind is Kind.REFERENCE else "time"
        return "joint states"

    def measured(self, now: float) -> Array | None:
        """Answer the measured position (rad or m), None where it is not known at time `now`."""
        return self._position if now - self._measured_at <= self._timeout else None

    def unmeasured(self, now: float) -> float | None:
        """Answer for how long (s) torques go on without joint states that came before; None where not.

        Those of a desired motion do so under inverse dynamics.
        """
        if self._mode != "inverse_dynamics" or self.desired.kind is Kind.NOTHING:
            return None
        silence = now - self._measured_at
        return silence if self._timeout < silence < math.inf else None

    def _computed(self, q: Array, qd: Array | None, t: float, now: float) -> Output | None:
        if qd is None:
            (qd,) = self._velocities.update(t, q)
        if not self.desired.fresh(now):
            return None
        desired = self.desired.at(t)
        if desired is None:
            desired = held(q if self._start is None else self._start)
        # Friction of the desired velocity: that of a measured one changes its sign with the noise.
        motion = computed_torque(desired, q, qd, self._gains)
        self._feel(now)
        return self.stage.live(_finite(self._terms, motion, desired.qd), now)

    def _place(self, t: float) -> Array | None:
        """Answer where torques take the joints to at time t (rad or m), None if to nowhere."""
        if self._mode == "gravity":
            return None
        desired = self.desired.at(t)
        return desired.q if desired is not None else self._start

    def _beginning(self, now: float) -> Motion | None:
        """Answer the motion from which the first trajectory begins; None where that is not known."""
        q, start = self.measured(now), self._start
        if q is None:
            return None
        if start is None or self.desired.kind is not Kind.NOTHING or self.desired.apart(start, q):
            return Motion.at_rest(q)
        # It goes on being held there: what it is off stays a part of the torques.
        return Motion.at_rest(start)

    def _go_over(self, before: Array | None, q: Array, now: float) -> None:
        """Go over with a ramp where the joints were to be far from where they are to be now."""
        if before is not None and self.desired.apart(before, q):
            self.stage.recover(now)

    def _begin_at(self, q: Array, t: float) -> None:
        """Hold the robot where it is found, unless what is desired is near.

        Raises:
            Rejection: it was not, and is forgotten.
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
            raise Rejection(
                f"joint '{name}' is {abs(desired.q[j] - q[j]):.4g} from where the desired motion "
                "has it: that motion is forgotten, and the robot held where it is",
                f"joint '{name}' is far from the desired motion",
            )

    def _far(self, a: Array, b: Array) -> int | None:
        """Answer which joint is further from one position to the other than a reference may begin, if any."""
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
        return _finite(self._terms, motion, friction_velocity)

    def _still(self, q: Array) -> Terms:
        zero = self.stage.zero.total
        return _finite(self._still_terms, Motion(q, zero, zero), None)

    def _held(self) -> Terms:
        """Terms of the torques that hold the robot where it was seen, or wanted, last.

        Of a base that moves the last specific force counts, and no turning.
        """
        if self._position is None:
            return self.stage.zero
        if self.base is not None and self._driven is not None:
            last = self.base.last()
            if last is None:
                self._driven.at_rest()
            else:
                self._driven.feel(last)
        return self._still(self._position)

    def _feel(self, now: float) -> None:
        """Compute with the present motion of the base; a Rejection where it is not known."""
        if self.base is not None and self._driven is not None:
            self._driven.feel(self.base.present(now))


def _rests(given: GivenMotion) -> bool:
    """Whether a reference says that the joints stand still."""
    rates = (given.qd, given.qdd)
    return all(values is not None and not values.any() for values in rates)


def _finite(
    terms: TorqueTerms | ElasticTerms, motion: Motion | SmoothMotion, friction_velocity: Array | None
) -> Terms:
    try:
        if isinstance(motion, SmoothMotion):
            assert isinstance(terms, ElasticTerms)
            return terms.of(motion, friction_velocity)
        return terms.of(motion, friction_velocity)
    except ValueError as problem:
        raise Rejection(str(problem), "torques are not finite") from problem
    except DynError as problem:
        raise Rejection(str(problem), "the loops do not close") from problem


def _gains(robot: Robot, settings: GainSettings) -> TrackingGains:
    """Answer the gains of computed torque; DynError where they name a joint that the robot has not."""
    names = robot.coordinate_names
    for name in (*settings.p, *settings.d):
        if name not in names:
            raise DynError(f"gains are given for joint '{name}': the joints are {listed(names)}")
    general = TrackingGains.of_frequency(names, settings.natural_frequency, settings.damping)
    Kp = [settings.p.get(name, value) for name, value in zip(names, general.Kp.tolist(), strict=True)]
    Kd = [settings.d.get(name, value) for name, value in zip(names, general.Kd.tolist(), strict=True)]
    return TrackingGains.checked(names, Kp, Kd)
