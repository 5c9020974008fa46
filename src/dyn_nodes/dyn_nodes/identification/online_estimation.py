# SPDX-License-Identifier: Apache-2.0
"""Online estimation of parameters: service ~/online, topic ~/parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from std_srvs.srv import SetBool

from dyn_core import DynError, Robot
from dyn_core.identification.online.recursive_estimator import (
    Convergence,
    Knowledge,
    OnlineEstimator,
    RecursiveEstimate,
)
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_msgs.msg import DynamicParameters
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.computation_job import Job, no_progress
from dyn_nodes.common.lifecycle.managed_node import sleeping_timer
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.robot_source import MOST_MEMORY
from dyn_nodes.identification.parameters import OnlineSettings
from dyn_nodes.identification.result_handover import parameter_message
from dyn_nodes.identification.session import JointSample


class _Prepared(NamedTuple):
    """The estimator of a robot."""

    robot: Robot
    estimator: OnlineEstimator


@dataclass(frozen=True)
class _Prepare:
    """Make the estimator of a robot, in another process: this traces and compiles its regressor."""

    robot: Robot
    settings: OnlineSettings

    def __call__(self, _: object) -> OnlineEstimator:
        settings = self.settings
        return OnlineEstimator(base_columns(self.robot), settings.cutoff, settings.memory or math.inf)


class Online:
    """The online estimation of a node: a service that begins and ends it, and the estimate."""

    def __init__(self, node: RobotNode[Any], settings: OnlineSettings) -> None:
        """Offer the service."""
        self._node, self._settings = node, settings
        self._on = False
        self._prepared: _Prepared | None = None
        self._estimate: RecursiveEstimate | None = None
        self._convergence = Convergence(settings.doubt)
        self._without_effort = False
        self._timer = sleeping_timer(node, 1.0 / settings.rate, self._on_timer)
        self._publisher = node.publisher(DynamicParameters, "~/parameters", qos.LATCHED)
        self._job: Job | None = None
        node.on_close(self._end_job)
        node.serve(SetBool, "~/online", self._on_request)
        self._allowed = False

    @property
    def takes_samples(self) -> bool:
        """Whether the estimation uses samples."""
        return self._on and self._prepared is not None

    def activate(self) -> None:
        """Begin if the parameters enable it."""
        self._allowed = True
        if self._settings.enabled:
            self.begin()

    def end(self, *, allowed: bool = False) -> None:
        """End, and forget the estimate; `allowed` says whether the service may begin it again."""
        self._on, self._allowed = False, allowed
        self._prepared = self._estimate = None
        self._end_job()
        self._convergence = Convergence(self._settings.doubt)
        self._timer.cancel()

    def begin(self) -> None:
        """Begin anew, with the present or the next robot."""
        self.end(allowed=True)
        self._on = True
        self._timer.reset()
        # The result of a job is lost where the node has no executor yet: then the timer begins the job.
        if self._node.executor is not None:
            self._begin_job()

    def _begin_job(self) -> None:
        robot = self._node.robot
        if robot is not None:
            prepare = _Prepare(robot, self._settings)
            done = partial(self._on_prepared, robot)
            try:
                self._job = Job(self._node, prepare, no_progress, done, memory=MOST_MEMORY)
            except DynError as problem:
                done(None, problem)

    def use_robot(self) -> None:
        """Begin anew with another robot, if it is on."""
        if self._on:
            self.begin()

    def add(self, sample: JointSample) -> None:
        """Take a sample."""
        if self._prepared is not None:
            self._without_effort = sample.tau is None
            if sample.tau is not None:
                self._prepared.estimator.add(sample.t, sample.q, sample.qd, sample.tau)

    @property
    def state(self) -> Notice:
        """The state of the estimation."""
        if not self._on:
            return Notice("online-off")
        if self._prepared is None:
            return Notice("online-waiting" if self._node.robot is None else "online-preparing")
        if self._without_effort:
            return Notice("online-without-efforts")
        estimate = self._estimate
        samples = self._prepared.estimator.samples
        if estimate is None:
            return Notice("online-samples-too-few", samples=samples)
        unknown = sum(not math.isfinite(deviation) for deviation in estimate.deviations.tolist())
        known = (
            Notice("parameters-not-seen", count=unknown)
            if unknown
            else Notice("torques-certain", part=100 * estimate.doubt)
        )
        code = "online-converged" if self._convergence.reached else "online-converging"
        return Notice(code, samples=samples, known=known)

    def knowledge(self) -> Knowledge:
        """Return the estimate; DynError where it has not converged."""
        knowledge = None
        if self._prepared is not None and self._convergence.reached:
            knowledge = self._prepared.estimator.knowledge()
        if knowledge is None:
            raise DynError("online-not-converged", state=self.state)
        return knowledge

    def _end_job(self) -> None:
        if self._job is not None:
            self._job.end()
            self._job = None

    def _on_prepared(self, robot: Robot, estimator: OnlineEstimator | None, problem: DynError | None) -> None:
        self._job = None
        if estimator is None:
            self._node.get_logger().error(str(Notice("online-impossible", cause=problem)))
            self.end(allowed=True)
        else:
            self._prepared = _Prepared(robot, estimator)

    def _on_request(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = self._allowed
        if not self._allowed:
            response.message = str(Notice("node-inactive"))
        elif request.data:
            self.begin()
            response.message = str(Notice("online-begun"))
        else:
            response.message = str(Notice("online-ended", state=self.state))
            self.end(allowed=True)
        return response

    def _on_timer(self) -> None:
        if self._prepared is None:
            if self._job is None:
                self._begin_job()
            return
        robot, estimator = self._prepared
        estimate = estimator.estimate()
        if estimate is None:
            return
        self._estimate = estimate
        if self._convergence.look(estimate):
            self._node.get_logger().info(f"online estimation: {self.state}")
        values, deviations = estimate.values.tolist(), estimate.deviations.tolist()
        stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(parameter_message(robot, list(estimate.names), values, deviations, stamp))
