# SPDX-License-Identifier: Apache-2.0
"""Estimation of parameters while the robot does what it does: service ~/online, topic ~/parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from std_srvs.srv import SetBool

from dyn_core import DynError, Robot
from dyn_core.identification.online.online import Convergence, OnlineEstimator
from dyn_core.identification.online.recursive_estimator import Knowledge, RecursiveEstimate
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_msgs.msg import DynamicParameters
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.worker import Worker
from dyn_nodes.identification.session import JointSample
from dyn_nodes.online_settings import OnlineSettings
from dyn_nodes.result_message import parameter_message
from dyn_nodes.sleeping_timer import sleeping_timer


@dataclass(frozen=True)
class _Prepared:
    """An estimator of a robot.

    Attributes:
        robot: the robot.
        estimator: the estimator.
    """

    robot: Robot
    estimator: OnlineEstimator


class Online:
    """The online mode of a node. It has a state: whether it is on, and what is known."""

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
        self._worker: Worker[Robot, _Prepared] = Worker(self._prepare, self._woken)
        node.serve(SetBool, "~/online", self._on_request)
        self._allowed = False

    @property
    def takes_samples(self) -> bool:
        """Whether samples are wanted."""
        return self._on and self._prepared is not None

    def activate(self) -> None:
        """Begin where the parameters say so."""
        self._allowed = True
        if self._settings.enabled:
            self.begin()

    def end(self, *, allowed: bool = False) -> None:
        """End, and forget what is known; `allowed` says whether it can be begun again by the service."""
        self._on, self._allowed = False, allowed
        self._prepared = self._estimate = None
        self._convergence = Convergence(self._settings.doubt)
        self._timer.cancel()

    def begin(self) -> None:
        """Begin anew, with the robot that is in use, or will be."""
        self.end(allowed=True)
        self._on = True
        self._timer.reset()
        if self._node.robot is not None:
            self._worker.ask(self._node.robot)

    def use_robot(self) -> None:
        """Begin anew with another robot, where it is on."""
        if self._on:
            self.begin()

    def add(self, sample: JointSample) -> None:
        """Take a sample."""
        if self._prepared is None:
            return
        self._without_effort = sample.tau is None
        if sample.tau is not None:
            self._prepared.estimator.add(sample.t, sample.q, sample.qd, sample.tau)

    @property
    def state(self) -> str:
        """How far it is, in words."""
        if not self._on:
            return "off"
        if self._prepared is None:
            return "preparing" if self._node.robot is not None else "waiting for a robot"
        if self._without_effort:
            return "the joint states have no efforts"
        estimate = self._estimate
        samples = self._prepared.estimator.samples
        if estimate is None:
            return f"{samples} samples: too few"
        unknown = sum(not math.isfinite(deviation) for deviation in estimate.deviations.tolist())
        certain = f"torques certain to {100 * estimate.doubt:.2g} %"
        known = f"{unknown} parameters not seen yet" if unknown else certain
        return f"{'converged' if self._convergence.reached else 'not converged'}: {samples} samples, {known}"

    def knowledge(self) -> Knowledge:
        """Answer what was learnt; DynError where it is not what can be used."""
        knowledge = None
        if self._prepared is not None and self._convergence.reached:
            knowledge = self._prepared.estimator.knowledge()
        if knowledge is None:
            raise DynError(
                f"what is estimated online has not converged ({self.state}): switch it on with ~/online, and "
                "move the robot"
            )
        return knowledge

    def _prepare(self, robot: Robot) -> _Prepared:
        memory = self._settings.memory or math.inf
        return _Prepared(robot, OnlineEstimator(base_columns(robot), self._settings.cutoff, memory))

    def _woken(self) -> None:
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.contained(self._on_prepared))

    def _on_prepared(self) -> None:
        for robot, prepared, problem in self._worker.outcomes():
            if not self._on or robot is not self._node.robot:
                continue
            if problem is not None:
                self._node.get_logger().error(f"parameters cannot be estimated online: {problem}")
                self.end(allowed=True)
            self._prepared = prepared

    def _on_request(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = self._allowed
        if not self._allowed:
            response.message = "the node is not active"
        elif request.data:
            self.begin()
            response.message = "parameters are estimated from now on"
        else:
            response.message = f"estimation has ended; it was {self.state}"
            self.end(allowed=True)
        return response

    def _on_timer(self) -> None:
        if self._prepared is None:
            return
        estimate = self._prepared.estimator.estimate()
        if estimate is None:
            return
        self._estimate = estimate
        if self._convergence.look(estimate):
            self._node.get_logger().info(f"online estimation: {self.state}")
        self._publisher.publish(
            parameter_message(
                self._prepared.robot,
                list(estimate.names),
                estimate.values.tolist(),
                estimate.deviations.tolist(),
                self._node.get_clock().now().to_msg(),
            )
        )
