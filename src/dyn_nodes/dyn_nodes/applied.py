# SPDX-License-Identifier: Apache-2.0
"""The parameters that ~/apply hands on: of the last result, estimated online, or of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from builtin_interfaces.msg import Time

from dyn_core import DynError, Robot, load_parameters
from dyn_core.identification.online.recursive_estimator import Knowledge
from dyn_core.identification.online_standard import online_standard
from dyn_core.identification.pseudo_inertia import is_nearly_possible
from dyn_msgs.msg import DynamicParameters, IdentificationResult
from dyn_msgs.srv import ApplyParameters
from dyn_nodes.identification.computation_requests import possible_bodies
from dyn_nodes.identification.result_handover import Make
from dyn_nodes.result_message import parameter_message


def source_of(
    request: ApplyParameters.Request,
    robot: Robot | None,
    last: IdentificationResult | None,
    online: Callable[[], Knowledge],
    stamp: Time,
    *,
    impossible: bool,
) -> Make:
    """Answer what makes the parameters that are asked for.

    Args:
        request: what is asked for.
        robot: the robot in use; None where there is none.
        last: the last result; None where there is none.
        online: answers what was learnt online; DynError where that is not enough.
        stamp: the present.
        impossible: whether a link may be no possible body.

    Raises:
        DynError: there are none, or nobody should get them.
    """
    kinds = (request.SOURCE_RESULT, request.SOURCE_ONLINE, request.SOURCE_FILE)
    if request.source not in kinds:
        raise DynError(f"source is {request.source}: give 0 (result), 1 (online) or 2 (file)")
    if request.file and request.source != request.SOURCE_FILE:
        raise DynError("a file is given, but source is not 2 (file): give one of both")
    if request.source == request.SOURCE_RESULT:
        parameters = _of_result(robot, last, impossible=impossible)
        return lambda: parameters
    if robot is None:
        raise DynError("there is no robot yet: nothing came on the topic robot_description")
    if request.source == request.SOURCE_ONLINE:
        knowledge = online()
        return lambda: _of_online(knowledge, stamp)
    if not request.file:
        raise DynError("source is 2 (file), but no file is given")
    known = robot
    return lambda: _of_file(known, request.file, stamp, impossible=impossible)


def _of_result(
    robot: Robot | None, result: IdentificationResult | None, *, impossible: bool
) -> DynamicParameters:
    if result is None:
        raise DynError("there is no result yet: identify first")
    if robot is None or result.parameters.description_hash != robot.description_hash:
        raise DynError(
            f"the result belongs to another description of robot '{result.parameters.robot_name}' than "
            "the one in use: identify again"
        )
    if not result.physically_consistent and not impossible:
        raise _impossible("this result")
    return result.parameters


def _of_online(knowledge: Knowledge, stamp: Time) -> DynamicParameters:
    found = online_standard(knowledge)
    return parameter_message(
        knowledge.base.robot, list(found.names), list(found.values), list(found.deviations), stamp
    )


def _of_file(robot: Robot, path: str, stamp: Time, *, impossible: bool) -> DynamicParameters:
    found = load_parameters(path)
    found.applied_to(robot)
    values: Mapping[str, float] = found.values
    if not impossible and not possible_bodies(robot, values, is_nearly_possible):
        raise _impossible(f"'{path}'")
    names = list(robot.parameter_names)
    spreads = (found.deviations[name] for name in names)
    deviations = [math.inf if spread is None else spread for spread in spreads]
    return parameter_message(robot, names, [values[name] for name in names], deviations, stamp)


def _impossible(what: str) -> DynError:
    return DynError(
        f"with {what} a link would be no possible body: look at its report; the parameter apply.impossible "
        "allows it"
    )
