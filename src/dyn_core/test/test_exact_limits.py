# SPDX-License-Identifier: Apache-2.0
"""Values exactly at a limit: on which side of it they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checked_robot import CLEAN, SLIDER
from excitation_robots import robot_of, two_links
from refusals import refused

import dyn_core
from dyn_core.core.findings import Severity
from dyn_core.excitation.excitation_settings import CoordinateBox
from dyn_core.excitation.motion_limits import drive_torques, motion_limits
from dyn_core.excitation.optimisation_problem import _in_boxes
from dyn_core.excitation.rest_position import rest_position
from dyn_core.feasibility.actuator_limits import ROUNDING
from dyn_core.feasibility.limit_violations import RatedTorques, _next_of_power
from dyn_core.identification.diagnosis.signal_hypotheses import nothing_wrong
from dyn_core.identification.diagnosis.wrong_signals import WRONG_GAIN, Explained, miscalibrated_findings
from dyn_core.identification.output.identification_result import BINS, FEWEST, _means
from dyn_core.logs.log import Unit
from dyn_core.logs.readers.matlab import LARGEST, _count
from dyn_core.logs.repair.column_anomalies import unwrapped
from dyn_core.logs.repair.time_stamps import MOST_BACK, _forwards
from dyn_core.robot.joint_coupling import range_of_leader
from dyn_core.robot.joints import Mimic
from dyn_core.robot.mdh_table import length_text
from dyn_core.robot.side_file.conversion import _SAME, _near
from dyn_core.simulation.integrators.integration_step import _solution


@pytest.mark.parametrize(("step", "is_jump"), [(3072.0, False), (3073.0, True)])
def test_a_jump_is_less_than_a_quarter_from_a_turn(step: float, is_jump: bool) -> None:
    """Only 4096 of the ranges of counters is between the step and twice the step."""
    values, count, turn = unwrapped(np.array([0.0, step]), Unit("counts", 1.0, "counts"), None)
    assert (count, turn) == ((1, 4096.0) if is_jump else (0, 0.0))
    assert values.tolist() == [0.0, step - turn]


def test_the_most_stamps_that_may_step_back() -> None:
    """Three of ten steps may, four may not."""
    assert MOST_BACK * 10.0 == 3.0
    late = 0.01 * np.array([0, 2, 1, 4, 3, 6, 5, 7, 8, 9, 10])
    time, values = _forwards(late, late[:, None].copy(), lambda severity, message: None, True)
    np.testing.assert_allclose(time, 0.01 * np.arange(11))
    np.testing.assert_array_equal(values[:, 0], time)
    late[[7, 8]] = late[[8, 7]]
    with refused("time-backwards", count=4, steps=10):
        _forwards(late, late[:, None].copy(), lambda severity, message: None, True)


@pytest.mark.parametrize("count", [FEWEST - 1, FEWEST])
def test_a_mean_needs_the_fewest_samples(count: int) -> None:
    velocity = np.linspace(-1.0, 1.0, BINS + 1)
    centre = np.full(count, 0.5 * (velocity[0] + velocity[1]))
    neighbour = np.full(FEWEST + 1, 0.5 * (velocity[1] + velocity[2]))
    friction = np.concatenate([np.full(count, 2.0), np.full(FEWEST + 1, 4.0)])
    mean = _means(velocity, np.concatenate([centre, neighbour]), friction)[1]
    np.testing.assert_allclose(mean, 3.0 if count == FEWEST else np.nan)


@pytest.mark.parametrize(("distance", "is_near"), [(_SAME, True), (1.001 * _SAME, False)])
def test_places_are_the_same_up_to_a_distance(distance: float, is_near: bool) -> None:
    assert _near((distance, 0.0, 0.0), (0.0, 0.0, 0.0)) is is_near


def test_power_that_exceeds_its_limit_by_rounding_slows_nothing() -> None:
    power = np.array([2.0])
    none, one = np.zeros((1, 1)), np.ones((1, 1))
    at_limit = RatedTorques(none, none, power[None] * (1.0 + ROUNDING))
    assert _next_of_power(one, power, at_limit, 1.0).tolist() == [[1.0]]
    above = RatedTorques(none, none, np.array([[4.0]]))
    np.testing.assert_allclose(_next_of_power(one, power, above, 1.0), 0.5)


@pytest.mark.parametrize("effort", [19.62, 19.63])
def test_a_robot_rests_only_where_torque_is_left(effort: float) -> None:
    """A load of 2 kg on a vertical guide needs all of the smaller limit at every position."""
    lift = (
        '<joint name="j1" type="prismatic"><parent link="l0"/><child link="l1"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="1" velocity="1" effort="{effort}"/></joint>'
    )
    robot = robot_of(lift)
    settings = dyn_core.ExcitationSettings(effort_scale=1.0)
    limits = motion_limits(robot, settings)
    assert limits.effort.tolist() == [effort]
    if effort == 19.62:
        with refused("rest-position-not-found"):
            rest_position(None, limits, drive_torques(robot), (), 0)
    else:
        assert rest_position(None, limits, drive_torques(robot), (), 0)[0].tolist() == [0.0]


def test_touching_a_box_does_not_join_two_visits() -> None:
    """One visit leaves the box along the second joint, the other along the first; both touch its corner."""
    limits = motion_limits(two_links(), dyn_core.ExcitationSettings(position_scale=1.0))
    half = 0.5 * (limits.upper - limits.lower)
    box = CoordinateBox("corner", np.array([0, 1]), np.zeros(2), np.ones(2))
    visit = np.array([[0.5, 0.1], [0.5, 0.1], [0.0, 0.0]])
    q = np.concatenate([visit, visit[::-1, ::-1]])
    slopes = np.zeros_like(q)
    total = _in_boxes([box], q, limits, slopes)
    assert total == pytest.approx(2.0 * 0.1**2 * (1.0 / half**2).sum())


def test_two_equations_without_unknowns_have_the_shortest_solution() -> None:
    assert _solution([[0.0, 0.0], [0.0, 0.0]], [1.0, -1.0]) == [0.0, 0.0]
    np.testing.assert_allclose(_solution([[2.0, 0.0], [0.0, 4.0]], [1.0, -1.0]), [-0.5, 0.25])


@pytest.mark.parametrize(("length", "text"), [(1e-12, "1e-12"), (-1e-12, "-1e-12"), (9e-13, "0"), (0.0, "0")])
def test_the_least_length_that_is_shown(length: float, text: str) -> None:
    assert length_text(length) == text


def test_the_largest_variable_of_matlab() -> None:
    assert _count(np.array([LARGEST, 1])) == LARGEST
    with refused("matlab-shape-invalid", dimensions=2, count=LARGEST + 1):
        _count(np.array([LARGEST + 1, 1]))


def test_a_torque_is_wrong_from_a_gain_on() -> None:
    robot = dyn_core.load_robot(CLEAN)
    exactly = math.exp(WRONG_GAIN)
    assert math.log(exactly) == WRONG_GAIN
    for factor, severity in ((exactly, Severity.WARNING), (1.001 * exactly, Severity.ERROR)):
        found = Explained(nothing_wrong(robot.dof).scaled(1, factor), 0.0, 1.0)
        (finding,) = miscalibrated_findings(robot, found)
        assert (finding.severity, finding.names) == (severity, ("elbow",))


def test_a_link_without_mass_and_inertia_is_no_finding() -> None:
    nothing = 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"'
    text = CLEAN.replace(SLIDER, nothing).replace('<mass value="0.5"/>', '<mass value="0"/>')
    codes = {finding.detail.code for finding in dyn_core.check_robot(text)}
    assert not {code for code in codes if code.startswith("inertia-")}


def test_ends_at_zero_have_no_sign() -> None:
    ends = range_of_leader(Mimic(1, -1.0, 0.0), 0.0, 1.0)
    assert ends == (-1.0, 0.0)
    assert math.copysign(1.0, ends[1]) == 1.0
