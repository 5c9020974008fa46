# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the signals of a motion is named, and nothing where nothing is wrong."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from simulated_truth import SEVEN, SIX, arm, arm_urdf, exact_motion, measured, with_drives

import dyn_core
from dyn_core.core.findings import Severity
from dyn_core.identification.diagnosis.diagnosis import diagnosis
from dyn_core.identification.diagnosis.signal_diagnosis import delay, earlier
from dyn_core.identification.effort_scale import effort_scale_findings
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.logs.conditioning.signals import Signals


@pytest.fixture(scope="module", params=[SIX, SEVEN], ids=["six", "seven"])
def case(request: pytest.FixtureRequest) -> tuple[BaseColumns, Signals]:
    """What was measured is right: what is done to the signals afterwards is not."""
    robot = with_drives(arm(request.param))
    return base_columns(robot), measured(exact_motion(robot, 10.0), seed=0)


def found_in(base: BaseColumns, moved: Signals):
    models = (FrictionModel(),) * moved.dof
    return diagnosis(Equations(moved, base), models)


def test_nothing_is_found_where_nothing_is_wrong(case: tuple) -> None:
    assert found_in(*case) == ()


def test_wrong_signs(case: tuple) -> None:
    base, moved = case
    for joint in range(moved.dof):
        tau = moved.tau.copy()
        tau[:, joint] *= -1.0
        (finding,) = found_in(base, replace(moved, tau=tau))
        assert finding.names == (f"joint_{joint + 1}",)
        assert "wrong sign" in finding.message
        assert finding.severity is Severity.ERROR


def test_wrong_signs_of_two_and_of_all(case: tuple) -> None:
    base, moved = case
    tau = moved.tau.copy()
    tau[:, [1, 4]] *= -1.0
    assert [f.names for f in found_in(base, replace(moved, tau=tau))] == [("joint_2",), ("joint_5",)]
    all_wrong = found_in(base, replace(moved, tau=-moved.tau))
    assert [f.names[0] for f in all_wrong] == list(base.robot.joint_names)


@pytest.mark.parametrize("torque", [1.0, -1.0], ids=["position", "position and torque"])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_wrong_signs_of_positions(case: tuple, torque: float, first: int) -> None:
    """Of each joint; with that of the torque as well, friction brakes as it should."""
    base, moved = case
    for joint in range(first, moved.dof, 3):
        turns = np.where(np.arange(moved.dof) == joint, -1.0, 1.0)
        factors = np.where(turns < 0.0, torque, 1.0)
        (finding,) = found_in(base, with_signs(moved, turns, factors))
        assert finding.names == (f"joint_{joint + 1}",)
        assert finding.severity is Severity.ERROR
        words = "its position has the wrong sign" if torque > 0.0 else "its position and its torque both have"
        assert finding.message.startswith(words)


def test_wrong_signs_of_all_positions(case: tuple) -> None:
    base, moved = case
    ones = np.ones(moved.dof)
    for factors, words in ((ones, "its position has"), (-ones, "its position and its torque both have")):
        findings = found_in(base, with_signs(moved, -ones, factors))
        assert [f.names[0] for f in findings] == list(base.robot.joint_names)
        assert all(f.message.startswith(words) for f in findings)


def test_signs_of_different_kinds_at_once() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 10.0), seed=0)
    turns, factors = np.array([1, -1, 1, -1, 1, 1.0]), np.array([1, -1, 1, 1, -1, 1.0])
    findings = found_in(base_columns(robot), with_signs(moved, turns, factors))
    assert [(f.names[0], f.message.split(" have ")[0].split(" has ")[0]) for f in findings] == [
        ("joint_2", "its position and its torque both"),
        ("joint_4", "its position"),
        ("joint_5", "its torque"),
    ]


def with_signs(moved: Signals, turns: np.ndarray, factors: np.ndarray) -> Signals:
    """What is recorded if positions and torques have other signs."""
    q, qd, qdd = (values * turns for values in (moved.q, moved.qd, moved.qdd))
    return replace(moved, q=q, qd=qd, qdd=qdd, tau=moved.tau * factors)


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (2, 4), (0, 5), (4, 5)], ids=str)
@pytest.mark.parametrize("what", ["torques", "positions", "positions and torques"])
def test_swapped_joints(case: tuple, pair: tuple[int, int], what: str) -> None:
    base, moved = case
    order = list(range(moved.dof))
    i, k = pair
    order[i], order[k] = k, i
    wrong = moved
    if "positions" in what:
        wrong = replace(wrong, q=wrong.q[:, order], qd=wrong.qd[:, order], qdd=wrong.qdd[:, order])
    if "torques" in what:
        wrong = replace(wrong, tau=wrong.tau[:, order])
    (finding,) = found_in(base, wrong)
    assert finding.names == (f"joint_{i + 1}", f"joint_{k + 1}")
    assert f"their {what} are swapped" in finding.message


def test_saturated_torques(case: tuple) -> None:
    base, moved = case
    for joint in (0, 1, 3, 5):
        tau = moved.tau.copy()
        limit = 0.75 * np.abs(tau[:, joint]).max()
        tau[:, joint] = np.clip(tau[:, joint], -limit, limit)
        findings = found_in(base, replace(moved, tau=tau))
        assert findings
        assert {f.names for f in findings} == {(f"joint_{joint + 1}",)}
        assert all("saturated" in f.message for f in findings)
        assert f"{limit:.4g} N m" in findings[0].message.replace("-", "")


@pytest.mark.parametrize("milliseconds", [5, -5, 2, 20])
def test_delays(case: tuple, milliseconds: int) -> None:
    """Torques that are recorded later than the positions, by a number of samples."""
    base, moved = case
    late = replace(moved, tau=np.roll(moved.tau, milliseconds, axis=0))
    (finding,) = found_in(base, late)
    order = "later" if milliseconds > 0 else "earlier"
    assert f"recorded {abs(milliseconds)} ms" in finding.message.replace(".0 ", " ")
    assert order in finding.message
    found = delay(Equations(late, base), (FrictionModel(),) * moved.dof)
    assert found.common == pytest.approx(1e-3 * milliseconds, abs=max(3e-4, 5.0 * found.deviation))
    assert found.deviation < 2e-4


@pytest.mark.parametrize("milliseconds", [-5, 5, 20])
def test_one_joint_that_is_late_is_named(milliseconds: int) -> None:
    robot = with_drives(arm(SIX))
    base, moved = base_columns(robot), measured(exact_motion(robot, 10.0), seed=0)
    for joint in range(moved.dof):
        tau = moved.tau.copy()
        tau[:, joint] = np.roll(tau[:, joint], milliseconds)
        (finding,) = found_in(base, replace(moved, tau=tau))
        assert finding.names == (f"joint_{joint + 1}",)
        assert finding.severity is Severity.ERROR
        value = float(finding.message.split("delay: ")[1].split("}")[0])
        assert value == pytest.approx(1e-3 * milliseconds, abs=1e-3)


def test_two_joints_that_are_late_are_named() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 10.0), seed=0)
    tau = moved.tau.copy()
    tau[:, 1], tau[:, 4] = np.roll(tau[:, 1], 8), np.roll(tau[:, 4], -8)
    findings = found_in(base_columns(robot), replace(moved, tau=tau))
    assert {(f.names, f.severity) for f in findings} == {
        (("joint_2",), Severity.ERROR),
        (("joint_5",), Severity.ERROR),
    }


def test_a_delay_that_explains_little_is_a_warning() -> None:
    """Where something else is wrong by far more, as torques of a spring that nobody knows of."""
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 10.0), seed=0)
    tau = np.roll(moved.tau, 5, axis=0)
    tau += 0.05 * np.abs(tau).max(axis=0) * np.sign(np.sin(7.0 * moved.q))
    (finding,) = found_in(base_columns(robot), replace(moved, tau=tau))
    assert "later than the positions" in finding.message
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("gain", [0.5, 1.3, 1000.0])
def test_gain_of_one_torque(case: tuple, gain: float) -> None:
    base, moved = case
    for joint in range({0.5: 0, 1.3: 1, 1000.0: 2}[gain], moved.dof, 3):
        factors = np.where(np.arange(moved.dof) == joint, gain, 1.0)
        findings = found_in(base, replace(moved, tau=moved.tau * factors))
        assert {f.names for f in findings} == {(f"joint_{joint + 1}",)}
        finding = findings[-1]  # before it, that the torque is beyond its limit
        assert finding.severity is Severity.ERROR
        value = float(finding.message.split("its torque is ")[1].split(" times")[0])
        assert value == pytest.approx(gain, rel=0.02)


@pytest.mark.parametrize("degrees", [90.0, -20.0, 6.0])
def test_zero_of_one_position(case: tuple, degrees: float) -> None:
    """The first axis is vertical, and that of the last joint turns its body: no log shows their zeros."""
    base, moved = case
    for joint in range({90.0: 1, -20.0: 2, 6.0: 3}[degrees], moved.dof - 1, 3):
        zeros = np.where(np.arange(moved.dof) == joint, np.radians(degrees), 0.0)
        (finding,) = found_in(base, replace(moved, q=moved.q - zeros))
        assert finding.names == (f"joint_{joint + 1}",)
        assert finding.severity is Severity.ERROR
        value = float(finding.message.split("with ")[1].split(" deg")[0])
        assert value == pytest.approx(degrees, abs=0.7)


@pytest.mark.parametrize(
    ("factor", "unit"), [(1e3, "mN m"), (1e2, "N cm"), (1e-3, "kN m")], ids=["mN m", "N cm", "kN m"]
)
def test_unit_of_all_torques(case: tuple, factor: float, unit: str) -> None:
    """Nothing but the description says so."""
    base, moved = case
    (finding,) = found_in(base, replace(moved, tau=factor * moved.tau))
    assert finding.severity is Severity.ERROR
    assert f"they look like {unit}" in finding.message
    assert ("times their limits" in finding.message) == (factor > 1.0)


def test_unit_of_torques_where_no_limits_are_known() -> None:
    text = re.sub(r"<limit[^>]*/>", "", arm_urdf(SIX)).replace("revolute", "continuous")
    robot = dyn_core.load_robot(text)
    moved = measured(exact_motion(with_drives(robot), 5.0), seed=0)
    (finding,) = effort_scale_findings(Equations(replace(moved, tau=1e3 * moved.tau), base_columns(robot)))
    assert finding.severity is Severity.ERROR
    assert "mN m" in finding.message
    assert effort_scale_findings(Equations(moved, base_columns(robot))) == []


def test_limits_that_are_wrong_are_a_warning() -> None:
    """Masses and torques agree: it is the limits that are made up."""
    robot = dyn_core.load_robot(arm_urdf(SIX).replace('effort="300"', 'effort="1"'))
    moved = measured(exact_motion(with_drives(robot), 5.0), seed=0)
    (finding,) = effort_scale_findings(Equations(moved, base_columns(robot)))
    assert finding.severity is Severity.WARNING
    assert "times the limit of the description" in finding.message


def test_masses_that_are_wrong_are_a_warning() -> None:
    """Torques are within the limits: it is the masses that are made up."""
    robot = arm(SIX)
    moved = measured(exact_motion(with_drives(robot), 5.0), seed=0)
    values = np.array(robot.parameters) * 1e-3
    light = robot.with_parameters(values)
    (finding,) = effort_scale_findings(Equations(moved, base_columns(light)))
    assert finding.severity is Severity.WARNING
    assert "or these masses are wrong" in finding.message


def test_friction_is_no_unit() -> None:
    """A robot whose torques are nearly all friction."""
    robot = arm(SIX)
    values = np.array(with_drives(robot).parameters).reshape(-1, 14).copy()
    values[:, 11:13] *= 300.0
    moved = measured(exact_motion(robot.with_parameters(values.ravel()), 5.0), seed=0, torque_noise=1e-4)
    assert all("limit" in f.message for f in effort_scale_findings(Equations(moved, base_columns(robot))))


def test_what_no_log_shows(case: tuple) -> None:
    """Zeros of the first vertical axis and of the last joint, and one factor of all torques."""
    base, moved = case
    for joint in (0, moved.dof - 1):
        zeros = np.where(np.arange(moved.dof) == joint, 1.0, 0.0)
        assert found_in(base, replace(moved, q=moved.q + zeros)) == ()
    assert found_in(base, replace(moved, tau=2.0 * moved.tau)) == ()


def test_gains_and_zeros_of_several_joints() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 10.0), seed=0)
    factors, zeros = np.array([1.0, 0.5, 1.0, 1.3, 1.0, 1.0]), np.array([0.0, 0.0, 0.7, 0.0, 0.0, 0.0])
    wrong = replace(moved, q=moved.q + zeros, tau=moved.tau * factors)
    findings = found_in(base_columns(robot), wrong)
    assert [(f.names[0], f.message.split(" ")[1]) for f in findings] == [
        ("joint_2", "torque"),
        ("joint_3", "position"),
        ("joint_4", "torque"),
    ]


def test_earlier_motion_is_the_motion_earlier() -> None:
    moved = exact_motion(with_drives(arm(SIX)), 4.0)
    shifted = earlier(moved, 0.0125)
    inner = slice(50, -50)
    np.testing.assert_allclose(shifted.q[50:-50], 0.5 * (moved.q[37:-63] + moved.q[38:-62]), atol=1e-6)
    np.testing.assert_allclose(shifted.qd[inner], 0.5 * (moved.qd[37:-63] + moved.qd[38:-62]), atol=1e-5)
    assert earlier(moved, 0.0) is moved


def test_standing_hides_nothing() -> None:
    """The torque of a joint that stands for a part of the time says nothing then, be it ever so great."""
    robot = with_drives(arm(SIX))
    exact = exact_motion(robot, 10.0)
    stands = np.zeros(exact.q.shape, dtype=bool)
    for joint in (1, 2):
        turn = 5000 + int(np.flatnonzero(np.diff(np.sign(exact.qd[5000:, joint])))[0])
        stands[turn:, joint] = True
        exact.q[turn:, joint] = exact.q[turn, joint]
    qd, qdd = np.where(stands, 0.0, exact.qd), np.where(stands, 0.0, exact.qdd)
    model = dyn_core.compile_model(robot, backend="python")
    stiction = 0.8 * np.array([joint.friction.Fs for joint in robot.joints])
    tau = model.inverse_dynamics(exact.q, qd, qdd) + np.where(stands, stiction, 0.0)
    moved = measured(replace(exact, qd=qd, qdd=qdd, tau=tau), seed=0, position_noise=0.0)
    base = base_columns(robot)
    assert Equations(moved, base).stands[:, [1, 2]].any(axis=0).all()
    assert found_in(base, moved) == ()
    for joint, factor, words in ((1, -1.0, "wrong sign"), (2, 1.6, "its torque is 1.6")):
        factors = np.where(np.arange(6) == joint, factor, 1.0)
        (finding,) = found_in(base, replace(moved, tau=moved.tau * factors))
        assert finding.names == (f"joint_{joint + 1}",)
        assert words in finding.message


def test_a_joint_that_stands_all_the_time_knows_no_delay(case: tuple) -> None:
    base, moved = case
    q, qd, qdd = moved.q.copy(), moved.qd.copy(), moved.qdd.copy()
    q[:, 3], qd[:, 3], qdd[:, 3] = 0.4, 0.0, 0.0
    tau = dyn_core.compile_model(base.robot, backend="python").inverse_dynamics(q, qd, qdd)
    tau += 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    late = earlier(replace(moved, q=q, qd=qd, qdd=qdd, tau=tau), -0.005)
    found = delay(Equations(late, base), (FrictionModel(),) * moved.dof)
    assert found.common == pytest.approx(0.005, abs=3e-4)
    assert np.isinf(found.deviations).tolist() == [joint == 3 for joint in range(moved.dof)]
