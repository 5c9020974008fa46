# SPDX-License-Identifier: Apache-2.0
"""Parameters that change while torques go on: no step, checked values, reasons where they cannot change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from loose_node import LooseNode, Make
from message_makers import to_rest_at
from rclpy.parameter import Parameter
from robot_files import ROBOTS
from sentence_patterns import said
from torque_steps import PERIOD, Q, nodes_of_the_arm, send_state

import dyn_core

LIMITS = [joint.limits.effort for joint in dyn_core.load_robot(ROBOTS["rrp"]).independent_joints]
OFF = [Q[0] + 0.02, Q[1] - 0.03, Q[2] + 0.01]
"""Where the robot is held away from what is desired, so that feedback acts."""


@pytest.fixture
def make() -> Iterator[Make]:
    with nodes_of_the_arm() as made:
        yield made


def change(loose: LooseNode, **values: Any) -> list[str]:
    """Set parameters, each by itself; return the reasons of those that are refused."""
    parameters = [Parameter(name.replace("__", "."), value=value) for name, value in values.items()]
    return [one.reason for one in loose.node.set_parameters(parameters) if not one.successful]


def torques(loose: LooseNode) -> np.ndarray:
    return np.array([message.total for message in loose.published["torques"]])


def held(loose: LooseNode, seconds: float) -> np.ndarray:
    """Return the torques of a time in which the robot stands away from what is desired."""
    first = len(loose.published["torques"])
    for _ in range(round(seconds / PERIOD)):
        send_state(loose, OFF)
    return torques(loose)[first - 1 :]


def begun(make: Make, case: str, **parameters: Any) -> LooseNode:
    """Return a node that desires to stand at Q, while the robot is at OFF."""
    loose = make(case, ramp_start=0.0, **parameters)
    send_state(loose)
    loose.send("joint_trajectory", to_rest_at(Q, 0.1))
    held(loose, 1.0)
    return loose


def smooth(values: np.ndarray) -> bool:
    """Whether no torque goes by more than a hundredth of its limit from one message to the next."""
    return bool((np.abs(np.diff(values, axis=0)) < 0.02 * np.array(LIMITS)).all())


@pytest.mark.promise("live-tuning")
@pytest.mark.parametrize(
    ("case", "before", "after"),
    [
        ("controller", {"p": 100.0}, {"p": 1000.0, "d": 20.0}),
        ("controller", {"gains.lift.p": 200.0}, {"gains__lift__p": 1500.0}),
        ("computed torque", {"natural_frequency": 1.0}, {"natural_frequency": 4.0}),
        ("computed torque", {"gains.lift.p": 10.0}, {"gains__lift__p": 500.0}),
    ],
    ids=str,
)
def test_other_gains_act_without_a_step(
    case: str, before: dict[str, float], after: dict[str, float], make: Make
) -> None:
    loose = begun(make, case, **before)
    first = torques(loose)[-1]
    assert change(loose, **after) == []
    way = held(loose, 1.5)
    assert smooth(way)
    whole = {**before, **{name.replace("__", "."): value for name, value in after.items()}}
    expected = torques(begun(make, case, **whole))[-1]
    np.testing.assert_allclose(way[-1], expected, rtol=1e-6, atol=1e-6)
    assert np.abs(way[-1] - first).max() > 0.5


@pytest.mark.promise("live-tuning")
@pytest.mark.parametrize(
    ("case", "after"),
    [
        ("gravity", {"mode": "computed_torque"}),
        ("computed torque", {"mode": "gravity"}),
        ("inverse dynamics", {"drive_compensates": ["gravity"]}),
        ("computed torque", {"drive_compensates": ["gravity", "friction"], "mode": "inverse_dynamics"}),
        ("gravity", {"effort_scale": 0.1}),
        ("gravity", {"effort_scale": 0.1, "on_limit": "scale"}),
        ("controller", {"effort_scale": 0.01}),
        ("inverse dynamics", {"coulomb_velocity": 0.1}),
    ],
    ids=str,
)
def test_another_mode_or_limit_acts_without_a_step(case: str, after: dict[str, Any], make: Make) -> None:
    loose = begun(make, case)
    assert change(loose, **after) == []
    way = held(loose, 1.5)
    assert (np.abs(np.diff(way, axis=0)) < 0.05 * np.array(LIMITS)).all()
    most = after.get("effort_scale", 1.0) * np.array(LIMITS)
    assert (np.abs(way[-1]) <= most + 1e-9).all()
    if case != "controller":
        given = dict(after)
        expected = torques(begun(make, case, **given))[-1]
        if "mode" not in after:
            np.testing.assert_allclose(way[-1], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.promise("live-tuning")
def test_ramps_and_speeds_change_at_once(make: Make) -> None:
    loose = begun(make, "gravity")
    names = (
        "ramp_up",
        "ramp_down",
        "ramp_start",
        "max_torque_rate",
        "max_reference_speed",
        "reference_slack",
    )
    before = torques(loose)[-1]
    assert change(loose, **dict.fromkeys(names, 0.25)) == []
    np.testing.assert_array_equal(held(loose, 0.1)[-1], before)
    stage = loose.node._running.maker.stage
    assert (stage._settings.ramp_up, stage._settings.ramp_down, stage._at_first.ramp_up) == (0.25,) * 3


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("gravity", {}, {"drive_compensates": ["gravity"]}, said("gravity-compensated-twice").pattern),
    ("gravity", {}, {"mode": "fast"}, "fast"),
    ("gravity", {}, {"drive_compensates": ["weight"]}, "weight"),
    ("gravity", {}, {"timeout": 1.0}, "read-only"),
    ("gravity", {}, {"effort_scale": 2.0}, "range"),
    ("gravity", {}, {"blend_time": -1.0}, "range"),
    ("controller", {}, {"p": float("nan")}, ""),
    ("controller", {}, {"natural_frequency": 2.0}, said("gain-given-twice", gain="p").pattern),
    ("controller", {}, {"drive_compensates": ["gravity"]}, said("parameter-at-start").pattern),
]


@pytest.mark.promise("live-tuning")
@pytest.mark.parametrize(("case", "before", "after", "reason"), REFUSED, ids=str)
def test_what_cannot_change_is_refused_with_a_reason(
    case: str, before: dict[str, Any], after: dict[str, Any], reason: str, make: Make
) -> None:
    loose = begun(make, case, **before)
    values = {name: loose.node.get_parameter_or(name).value for name in after}
    expected = held(loose, 0.1)
    (said_why,) = change(loose, **after)
    assert re.search(reason, said_why), said_why
    assert {name: loose.node.get_parameter_or(name).value for name in after} == values
    np.testing.assert_array_equal(held(loose, 0.1)[-1], expected[-1])


@pytest.mark.promise("live-tuning")
def test_the_mode_does_not_change_in_motion(make: Make) -> None:
    loose = begun(make, "inverse dynamics")
    loose.send("joint_trajectory", to_rest_at([0.3, 0.4, 0.1], 2.0))
    held(loose, 1.0)
    (reason,) = change(loose, mode="gravity")
    assert said("mode-in-motion", mode="inverse_dynamics").search(reason)
    held(loose, 1.5)
    assert change(loose, mode="gravity") == []
