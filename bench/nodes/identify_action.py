# SPDX-License-Identifier: Apache-2.0
"""From a wrong description of a 7-joint arm to parameters in use, by nodes and the action `identify`.

The node `simulation` is an arm whose parameters are off by up to 20 %. `controller` moves it with the torques
of `feedforward`, which has only the description; both follow the trajectory of `identification`. The goal has
no trajectory: the node computes an exciting one, has the arm move along it, and estimates. The parameters are
then given to `feedforward`. The tracking error is measured along another motion, before and afterwards.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from bars import APPLIED_ERROR, VALIDATION_ERROR, Bars
from builtin_interfaces.msg import Duration
from nodes.graph import ARM, FEEDFORWARD, IDENTIFICATION, JOINTS, SIMULATION, Processes, processes
from nodes.probe import Probe, motion
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import dyn_core
from dyn_core.control.trajectories.fourier_motion import rich_motion
from dyn_msgs.action import Identify, RunTrajectory
from dyn_msgs.msg import IdentificationProgress
from dyn_msgs.srv import ApplyParameters

MODEL_ERROR = 0.2
RATE_HZ = 500.0
_OTHER_S = 6.0
_STAGES = {
    getattr(IdentificationProgress, f"STAGE_{name.upper()}"): name
    for name in ("excitation", "motion", "filtering", "estimation", "validation")
}
CONTROLLER = ("-m", "dyn_nodes.controller")


def print_identify_action(bars: Bars) -> None:
    """Print how long each stage takes, the errors of the result, and the tracking errors."""
    with tempfile.TemporaryDirectory() as directory, processes() as started, Probe() as probe:
        _start(started, directory)
        arm = _Arm(probe)
        before = arm.tracking_error()
        began = time.monotonic()
        result, stages = arm.identify()
        elapsed = time.monotonic() - began
        answer = arm.apply()
        after = arm.tracking_error()
    print(f"An arm of 7 joints whose parameters are off by up to {100 * MODEL_ERROR:g} %, at {RATE_HZ:g} Hz.")
    parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in stages.items())
    print(f"action identify: {elapsed:.1f} s ({parts}), {result.method}")
    mark = bars.mark("action identify, held-out torque error", result.validation_error, VALIDATION_ERROR)
    print(f"held-out torque error {100 * result.validation_error:>8.2f} %  {mark}")
    error = _torque_error(answer.parameters)
    mark = bars.mark("action identify, torques of another motion", error, APPLIED_ERROR)
    print(
        f"torques of another motion {100 * error:>4.2f} %  {mark}; as described {100 * _torque_error():.2f} %"
    )
    mark = bars.mark("tracking error with the result over that without", after / before, 1.0)
    print(
        f"tracking error {1e3 * before:.2f} mrad, with the result {1e3 * after:.2f} mrad  {mark}", flush=True
    )


class _Arm:
    """Client of the node `identification`."""

    def __init__(self, probe: Probe) -> None:
        self._probe, node = probe, probe.node
        self._runs = ActionClient(node, RunTrajectory, "/arm/identification/run_trajectory")
        self._identifications = ActionClient(node, Identify, "/arm/identification/identify")
        self._apply = node.create_client(ApplyParameters, "/arm/identification/apply")

    def tracking_error(self) -> float:
        """Mean of the errors of the worst joint reported along a motion (rad)."""
        topic = "/arm/identification/joint_trajectory"
        self._probe.wait_for(
            lambda: self._probe.node.count_subscribers(topic) == 2, "who follows trajectories"
        )
        errors: list[float] = []
        goal = RunTrajectory.Goal(trajectory=_other_motion(), repetitions=1)
        while True:
            result = self._done(self._runs, goal, lambda told: errors.append(told.tracking_error))
            if result.success:
                return float(np.mean([error for error in errors if error > 0.0]))
            # Goals are refused until the controller holds the arm.
            if errors and max(errors) > 0.0:
                raise SystemExit(f"bench: {result.message}")
            self._probe.handle(0.5)

    def identify(self) -> tuple[Any, dict[str, float]]:
        """The result, and the duration of each stage (s)."""
        began: dict[str, float] = {}

        def hear(told: Identify.Feedback) -> None:
            began.setdefault(_STAGES[told.progress.stage], time.monotonic())

        answer = self._done(self._identifications, Identify.Goal(), hear)
        if not answer.success:
            raise SystemExit(f"bench: {answer.message}")
        times = [*began.values(), time.monotonic()]
        return answer.result, {name: b - a for name, a, b in zip(began, times, times[1:], strict=False)}

    def apply(self) -> ApplyParameters.Response:
        """Give the result to `feedforward`."""
        future = self._apply.call_async(ApplyParameters.Request())
        self._probe.wait_for(future.done, "the answer of apply")
        answer = future.result()
        if not answer.success:
            raise SystemExit(f"bench: {answer.message}")
        self._probe.handle(1.5)
        return answer

    def _done(self, client: ActionClient, goal: Any, hear: Any) -> Any:
        self._probe.wait_for(client.server_is_ready, "the action of identification")
        sent = client.send_goal_async(goal, feedback_callback=lambda message: hear(message.feedback))
        self._probe.wait_for(sent.done, "the goal")
        result = sent.result().get_result_async()
        while not result.done():
            self._probe.handle(0.1)
        return result.result().result


def _start(started: Processes, directory: str) -> None:
    start = dict(zip(JOINTS, motion(0.0)[0], strict=True))
    common = {"description_file": ARM}
    patient = {"timeout": 1.0, "max_age": 1.0}
    arm = {"rate": RATE_HZ, "brakes": True, "model_error": MODEL_ERROR}
    arm |= {f"initial.{name}.position": value for name, value in start.items()}
    listens = "joint_trajectory:=identification/joint_trajectory"
    started.start(SIMULATION, "/arm", common | arm, ["simulation/torques:=controller/torques"])
    started.start(
        CONTROLLER,
        "/arm",
        common | patient | {"natural_frequency": 5.0},
        [f"controller/{listens}", "controller/feedforward:=feedforward/torques"],
    )
    started.start(
        FEEDFORWARD,
        "/arm",
        common | patient | {"mode": "inverse_dynamics", "rate": RATE_HZ},
        [f"feedforward/{listens}"],
    )
    excitation = {"duration": 12.0, "blend": 1.5, "iterations": 100, "velocity_scale": 0.5}
    given = {f"excitation.{name}": value for name, value in excitation.items()}
    started.start(IDENTIFICATION, "/arm", common | patient | given | {"directory": directory})


def _other_motion() -> JointTrajectory:
    model = dyn_core.compile_model(dyn_core.load_robot(ARM), "runtime")
    times = np.linspace(0.0, _OTHER_S, 1 + round(50 * _OTHER_S))
    rows = rich_motion(model, _OTHER_S, part_of_speed=0.3, seed=7).at_many(times)
    points = [_point(t, *values) for t, *values in zip(times.tolist(), *rows, strict=True)]
    return JointTrajectory(joint_names=list(JOINTS), points=points)


def _point(t: float, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float]) -> JointTrajectoryPoint:
    whole, rest = divmod(round(1e9 * t), 10**9)
    return JointTrajectoryPoint(
        positions=list(q),
        velocities=list(qd),
        accelerations=list(qdd),
        time_from_start=Duration(sec=whole, nanosec=rest),
    )


def _torque_error(parameters: Any = None) -> float:
    """Torque error of parameters along another motion, relative to the simulated arm."""
    described = dyn_core.load_robot(ARM)
    robot = described
    if parameters is not None:
        robot = described.with_parameters(dict(zip(parameters.name, parameters.value, strict=True)))
    there = dyn_core.compile_model(dyn_core.with_model_error(described, MODEL_ERROR, 0), "runtime")
    samples = rich_motion(there, _OTHER_S, seed=7).at_many(np.linspace(0.0, _OTHER_S, 2000))
    truth = there.inverse_dynamics(*samples)
    difference = dyn_core.compile_model(robot, "runtime").inverse_dynamics(*samples) - truth
    return float(np.linalg.norm(difference) / np.linalg.norm(truth))
