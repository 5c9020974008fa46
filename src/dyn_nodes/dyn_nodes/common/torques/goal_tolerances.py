# SPDX-License-Identifier: Apache-2.0
"""Tolerances of goals of ~/follow_joint_trajectory: parameters, those of a goal, and violations.

Parameters have the names of those of joint_trajectory_controller, so that its files can be copied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dyn_core import DynError, Robot
from dyn_core.core.arrays import Array
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.messages.motion_message import seconds
from dyn_nodes.common.parameters import SECONDS, declare_by_joint, declared, parameter

_PREFIX = "constraints"
_GREATEST = (0.0, 1e6)
_BY_JOINT = {
    "trajectory": "Greatest distance of joint '{joint}' from the trajectory of a goal, rad or m; 0: any.",
    "goal": "Greatest distance of joint '{joint}' from the last point of a goal, rad or m; 0: any.",
}
_ERASED = -1.0
"""A tolerance that a goal erases. 0 stands for the default."""


@dataclass(frozen=True)
class Constraints:
    """Default tolerances of goals; 0 for none. `by_joint` are those of single joints, by kind and joint."""

    trajectory: float = parameter(
        0.2,
        "Greatest distance of a joint from the trajectory of a goal, rad or m; 0: any.",
        _GREATEST,
        name=f"{_PREFIX}.trajectory",
    )
    goal: float = parameter(
        0.05,
        "Greatest distance of a joint from the last point of a goal, rad or m; 0: any.",
        _GREATEST,
        name=f"{_PREFIX}.goal",
    )
    stopped_velocity: float = parameter(
        0.05,
        "Greatest speed of a joint at the end of a goal, rad/s or m/s; 0: any.",
        _GREATEST,
        name=f"{_PREFIX}.stopped_velocity_tolerance",
    )
    goal_time: float = parameter(
        1.0,
        "Time after the end of a trajectory in which its last point has to be reached, s; 0: any.",
        SECONDS,
        name=f"{_PREFIX}.goal_time",
    )
    by_joint: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def declared_constraints(node: ManagedNode) -> Constraints:
    """Declare the parameters of default tolerances; DynError where one is invalid."""
    others = ("trajectory", "goal", "stopped_velocity_tolerance", "goal_time")
    by_joint = declare_by_joint(node, _PREFIX, _BY_JOINT, within=_GREATEST, others=others)
    return declared(node, Constraints, by_joint=by_joint)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Greatest differences of positions (rad or m) and velocities (rad/s or m/s), (n,); infinite: any."""

    q: Array
    qd: Array


@dataclass(frozen=True, eq=False)
class Tolerances:
    """The tolerances of a goal: on the way, at its end, and the time after its end (s), infinite: any."""

    joint_names: Sequence[str]
    units: Sequence[str]  # of positions
    path: Bounds
    goal: Bounds
    goal_time: float

    @staticmethod
    def of_robot(constraints: Constraints, robot: Robot) -> Tolerances:
        """Return the defaults for a robot; DynError where a parameter names an unknown joint."""
        names = robot.coordinate_names
        by_kind = {}
        for kind, general in (("trajectory", constraints.trajectory), ("goal", constraints.goal)):
            own = constraints.by_joint.get(kind, {})
            for joint in own:
                if joint not in names and joint not in dict(robot.locked):
                    element = f"joint '{joint}'"
                    raise DynError("constraint-joint-unknown", joint=joint, known=names, element=element)
            by_kind[kind] = np.array([own.get(name, general) or math.inf for name in names])
        stopped = np.full(len(names), constraints.stopped_velocity or math.inf)
        return Tolerances(
            names,
            [joint.position_unit for joint in robot.independent_joints],
            Bounds(by_kind["trajectory"], np.full(len(names), math.inf)),
            Bounds(by_kind["goal"], stopped),
            constraints.goal_time or math.inf,
        )

    def of_goal(self, goal: Any) -> Tolerances:
        """Return the tolerances of a goal, these where it gives none; DynError where it gives others."""
        return replace(
            self,
            path=self._given("path_tolerance", goal.path_tolerance, self.path),
            goal=self._given("goal_tolerance", goal.goal_tolerance, self.goal),
            goal_time=self._given_time(seconds(goal.goal_time_tolerance)),
        )

    def on_the_way(self, q: Array, qd: Array, time: float) -> Notice | None:
        """Return the violation of the path tolerance by differences q and qd, (n,), or None.

        `time` is that from the start of the trajectory (s).
        """
        return self._violation("path-tolerance-violated", self.path, q, qd, time)

    def at_the_end(self, q: Array, qd: Array, late: float) -> Notice | None:
        """Return the violation of the goal tolerance, a time after the end (s), as `on_the_way`."""
        return self._violation("goal-tolerance-violated", self.goal, q, qd, late)

    def at_rest(self, qd: Array) -> bool:
        """Return whether velocities, (n,), are those of a robot at rest."""
        return bool((np.abs(qd) <= self.goal.qd).all())

    def _given(self, what: str, tolerances: Sequence[Any], defaults: Bounds) -> Bounds:
        q, qd = defaults.q.copy(), defaults.qd.copy()
        seen = set()
        for one in tolerances:
            told: dict[str, Any] = {"field": what, "joint": one.name, "element": f"joint '{one.name}'"}
            if one.name not in self.joint_names:
                raise DynError("tolerance-joint-unknown", known=self.joint_names, **told)
            if one.name in seen:
                raise DynError("tolerance-joint-repeated", **told)
            seen.add(one.name)
            j = self.joint_names.index(one.name)
            for quantity, bounds in (("position", q), ("velocity", qd), ("acceleration", None)):
                given = getattr(one, quantity)
                if not (given == _ERASED or 0.0 <= given < math.inf):
                    raise DynError("tolerance-invalid", quantity=quantity, given=given, **told)
                if bounds is None and given > 0.0:
                    raise DynError("tolerance-unmeasured", **told)
                if bounds is not None and given:
                    bounds[j] = math.inf if given == _ERASED else given
        return Bounds(q, qd)

    def _given_time(self, given: float) -> float:
        if given == _ERASED:
            return math.inf
        if given < 0.0:
            raise DynError("goal-time-tolerance-invalid", given=given)
        return given or self.goal_time

    def _violation(self, code: str, bounds: Bounds, q: Array, qd: Array, time: float) -> Notice | None:
        for quantity, values, limits, per in (
            ("position", q, bounds.q, ""),
            ("velocity", qd, bounds.qd, "/s"),
        ):
            beyond = np.abs(values) - limits
            j = int(beyond.argmax())
            if beyond[j] > 0.0:
                told = {"joint": self.joint_names[j], "quantity": quantity, "unit": self.units[j] + per}
                return Notice(code, given=abs(values[j]), limit=limits[j], time=time, **told)
        return None
