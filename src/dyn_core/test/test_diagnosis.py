# SPDX-License-Identifier: Apache-2.0
"""Wrong signals of a motion are named; correct signals give no finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from depth import each, some
from simulated_truth import SEVEN, SIX, arm, arm_urdf, exact_motion, measured, with_drives

import dyn_core
from dyn_core.core.findings import Finding, Severity
from dyn_core.identification.diagnosis.described_torques import effort_scale_findings
from dyn_core.identification.diagnosis.signal_diagnosis import (
    Delay,
    _of_single_joints,
    delay,
    diagnosis,
    earlier,
)
from dyn_core.identification.diagnosis.signal_hypotheses import Evidence
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.logs.conditioning.signals import Signals

ARMS = {"six": SIX, "seven": SEVEN}
Case = tuple[BaseColumns, Signals]


@cache
def of_arm(name: str) -> Case:
    """Return correct signals of an arm; the tests change them afterwards."""
    robot = with_drives(arm(ARMS[name]))
    return base_columns(robot), measured(exact_motion(robot, 10.0), seed=0)


@pytest.fixture(params=some(ARMS, "six"))
def case(request: pytest.FixtureRequest) -> Case:
    return of_arm(request.param)


def found_in(base: BaseColumns, moved: Signals) -> tuple[Finding, ...]:
    return diagnosis(Equations(moved, base), (FrictionModel(),) * moved.dof)


def only(findings: Sequence[Finding], joints: Sequence[int], code: str) -> Finding:
    """Return the only finding, an error about these joints (by index)."""
    (finding,) = findings
    assert finding.names == tuple(f"joint_{joint + 1}" for joint in joints)
    assert (finding.code, finding.severity) == (code, Severity.ERROR)
    return finding


def numbered(findings: Sequence[Finding]) -> list[tuple[int, str]]:
    """Return joint number, counted from 1, and code of each finding."""
    return [(int(finding.names[0].removeprefix("joint_")), finding.code) for finding in findings]


def with_torque(moved: Signals, joint: int, change: Callable[[np.ndarray], np.ndarray]) -> Signals:
    tau = moved.tau.copy()
    tau[:, joint] = change(tau[:, joint])
    return replace(moved, tau=tau)


def at(joint: int, value: float, dof: int, otherwise: float = 1.0) -> np.ndarray:
    """Return an array with one value at a joint and another elsewhere."""
    return np.where(np.arange(dof) == joint, value, otherwise)


@pytest.mark.parametrize("name", some(ARMS, "six"))
def test_wrong_signs(name: str) -> None:
    base, moved = of_arm(name)
    assert found_in(base, moved) == ()
    for joint in each(range(moved.dof), 4):
        wrong = replace(moved, tau=moved.tau * at(joint, -1.0, moved.dof))
        only(found_in(base, wrong), [joint], "torque-sign-wrong")


def test_wrong_signs_of_several_torques(case: Case) -> None:
    base, moved = case
    tau = moved.tau.copy()
    tau[:, [1, 4]] *= -1.0
    wrong_sign = "torque-sign-wrong"
    assert numbered(found_in(base, replace(moved, tau=tau))) == [(2, wrong_sign), (5, wrong_sign)]
    all_joints = range(1, moved.dof + 1)
    assert numbered(found_in(base, replace(moved, tau=-moved.tau))) == [(j, wrong_sign) for j in all_joints]
    ones = np.ones(moved.dof)
    for factors, code in ((ones, "position-sign-wrong"), (-ones, "axis-sign-wrong")):
        assert numbered(found_in(base, with_signs(moved, -ones, factors))) == [(j, code) for j in all_joints]


@pytest.mark.parametrize("torque", [1.0, -1.0], ids=["position", "position and torque"])
def test_wrong_signs_of_positions(case: Case, torque: float) -> None:
    """Of each joint. If the torque has the wrong sign, too, friction still opposes the motion."""
    base, moved = case
    code, first = ("position-sign-wrong", 1) if torque > 0.0 else ("axis-sign-wrong", 5)
    for joint in each(range(moved.dof), first):
        wrong = with_signs(moved, at(joint, -1.0, moved.dof), at(joint, torque, moved.dof))
        only(found_in(base, wrong), [joint], code)


def test_several_mistakes_are_found_together() -> None:
    """Signs of different kinds; gains together with a zero."""
    base, moved = of_arm("six")
    turns, factors = np.array([1, -1, 1, -1, 1, 1.0]), np.array([1, -1, 1, 1, -1, 1.0])
    expected = [(2, "axis-sign-wrong"), (4, "position-sign-wrong"), (5, "torque-sign-wrong")]
    assert numbered(found_in(base, with_signs(moved, turns, factors))) == expected
    factors, zeros = np.array([1.0, 0.5, 1.0, 1.3, 1.0, 1.0]), np.array([0.0, 0.0, 0.7, 0.0, 0.0, 0.0])
    expected = [(2, "torque-gain-wrong"), (3, "revolute-zero-wrong"), (4, "torque-gain-wrong")]
    wrong = replace(moved, q=moved.q + zeros, tau=moved.tau * factors)
    assert numbered(found_in(base, wrong)) == expected


def with_signs(moved: Signals, turns: np.ndarray, factors: np.ndarray) -> Signals:
    """Return the signals that are recorded with other signs of positions and torques."""
    q, qd, qdd = (values * turns for values in (moved.q, moved.qd, moved.qdd))
    return replace(moved, q=q, qd=qd, qdd=qdd, tau=moved.tau * factors)


@pytest.mark.parametrize(("i", "k"), some([(0, 1), (1, 2), (2, 4), (0, 5), (4, 5)], (0, 5)))
@pytest.mark.parametrize("what", ["torques", "positions", "positions and torques"])
def test_swapped_joints(case: Case, i: int, k: int, what: str) -> None:
    base, moved = case
    order = list(range(moved.dof))
    order[i], order[k] = k, i
    wrong = moved
    if "positions" in what:
        wrong = replace(wrong, q=wrong.q[:, order], qd=wrong.qd[:, order], qdd=wrong.qdd[:, order])
    if "torques" in what:
        wrong = replace(wrong, tau=wrong.tau[:, order])
    assert only(found_in(base, wrong), [i, k], "signals-swapped").values["signals"] == what


def test_saturated_torques(case: Case) -> None:
    base, moved = case
    for joint in each((0, 1, 3, 5), 3):
        limit = 0.75 * np.abs(moved.tau[:, joint]).max()
        findings = found_in(base, with_torque(moved, joint, partial(np.clip, a_min=-limit, a_max=limit)))
        assert {(f.names, f.code) for f in findings} == {((f"joint_{joint + 1}",), "torque-saturated")}
        assert abs(findings[0].values["limit"]) == pytest.approx(limit)


@pytest.mark.parametrize("milliseconds", some([5, -5, 2, 20], -5, 2, 20))
def test_common_delays_of_torques(case: Case, milliseconds: int) -> None:
    """Torques that are recorded some samples later than the positions."""
    base, moved = case
    late = replace(moved, tau=np.roll(moved.tau, milliseconds, axis=0))
    (finding,) = found_in(base, late)
    assert finding.code == ("torques-late" if milliseconds > 0 else "torques-early")
    assert finding.values["delay"] == pytest.approx(1e-3 * milliseconds, abs=5e-4)
    found = delay(Equations(late, base), (FrictionModel(),) * moved.dof)
    assert found.common == pytest.approx(1e-3 * milliseconds, abs=max(3e-4, 5.0 * found.deviation))
    assert found.deviation < 2e-4


@pytest.mark.parametrize("milliseconds", [-5, 5, 20])
def test_one_late_joint_is_named(milliseconds: int) -> None:
    base, moved = of_arm("six")
    for joint in each(range(moved.dof), {-5: 0, 5: 3, 20: 5}[milliseconds]):
        late = with_torque(moved, joint, partial(np.roll, shift=milliseconds))
        code = "torque-late" if milliseconds > 0 else "torque-early"
        finding = only(found_in(base, late), [joint], code)
        assert finding.values["delay"] == pytest.approx(1e-3 * milliseconds, abs=1e-3)


@pytest.mark.parametrize("guess", [0.014, 0.028])
def test_the_delay_of_a_joint_is_found_near_a_guess(guess: float) -> None:
    base, moved = of_arm("six")
    late = with_torque(moved, 3, partial(np.roll, shift=20))
    found = Delay(0.0, 1e-4, at(3, guess, moved.dof, 0.0), np.full(moved.dof, 1e-5), 0.0, np.ones(moved.dof))
    evidence = Evidence(Equations(late, base), (FrictionModel(),) * moved.dof)
    ((joint, value, _, explained),) = _of_single_joints(evidence, found)
    assert joint == 3
    assert value == pytest.approx(0.02, abs=1.5e-3)
    assert explained > 0.0


def test_two_late_joints_are_named() -> None:
    base, moved = of_arm("six")
    late = with_torque(moved, 1, partial(np.roll, shift=8))
    found = found_in(base, with_torque(late, 4, partial(np.roll, shift=-8)))
    assert {f.names for f in found} == {("joint_2",), ("joint_5",)}
    assert [f.severity for f in found] == [Severity.ERROR] * 2


def test_a_delay_that_explains_little_is_a_warning() -> None:
    """A much larger error hides the delay: the torques of a spring that is not in the model."""
    base, moved = of_arm("six")
    tau = np.roll(moved.tau, 5, axis=0)
    tau += 0.05 * np.abs(tau).max(axis=0) * np.sign(np.sin(7.0 * moved.q))
    (finding,) = found_in(base, replace(moved, tau=tau))
    assert (finding.code, finding.severity) == ("torques-late", Severity.WARNING)


@pytest.mark.parametrize("gain", [0.5, 1.3, 1000.0])
def test_wrong_gain_of_one_torque(case: Case, gain: float) -> None:
    base, moved = case
    first = {0.5: 0, 1.3: 1, 1000.0: 2}[gain]
    for joint in each(range(first, moved.dof, 3), first):
        findings = found_in(base, replace(moved, tau=moved.tau * at(joint, gain, moved.dof)))
        assert {f.names for f in findings} == {(f"joint_{joint + 1}",)}
        # An earlier finding may say that the torque exceeds its limit.
        finding = only(findings[-1:], [joint], "torque-gain-wrong")
        assert finding.values["ratio"] == pytest.approx(gain, rel=0.02)


@pytest.mark.parametrize("degrees", some([90.0, -20.0, 6.0], -20.0, 6.0))
def test_wrong_zero_of_one_position(case: Case, degrees: float) -> None:
    """The first axis is vertical and the last axis only turns its own body: no log shows their zeros."""
    base, moved = case
    first = {90.0: 1, -20.0: 2, 6.0: 3}[degrees]
    for joint in each(range(first, moved.dof - 1, 3), first):
        zeros = at(joint, np.radians(degrees), moved.dof, 0.0)
        finding = only(found_in(base, replace(moved, q=moved.q - zeros)), [joint], "revolute-zero-wrong")
        assert finding.values["degrees"] == pytest.approx(degrees, abs=0.7)


UNITS = {1e3: "unit-millinewton-metre", 1e2: "unit-newton-centimetre", 1e-3: "unit-kilonewton-metre"}


@pytest.mark.parametrize("factor", UNITS, ids=["mN m", "N cm", "kN m"])
def test_wrong_unit_of_all_torques(case: Case, factor: float) -> None:
    """Only the description shows it."""
    base, moved = case
    code = "torque-unit-wrong-beyond-limits" if factor > 1.0 else "torque-unit-wrong"
    finding = only(found_in(base, replace(moved, tau=factor * moved.tau)), [], code)
    assert finding.values["suspected"].code == UNITS[factor]


def scale_findings(robot: dyn_core.Robot, factor: float = 1.0) -> list[Finding]:
    """Return the findings about the torque unit of a robot with drives."""
    moved = measured(exact_motion(with_drives(robot), 5.0), seed=0)
    return effort_scale_findings(Equations(replace(moved, tau=factor * moved.tau), base_columns(robot)))


def test_wrong_unit_of_torques_without_known_limits() -> None:
    text = re.sub(r"<limit[^>]*/>", "", arm_urdf(SIX)).replace("revolute", "continuous")
    finding = only(scale_findings(dyn_core.load_robot(text), 1e3), [], "torque-unit-wrong")
    assert finding.values["suspected"].code == "unit-millinewton-metre"
    assert scale_findings(dyn_core.load_robot(text)) == []


def test_wrong_limits_and_wrong_masses_are_warnings() -> None:
    """First the limits contradict masses and torques, then masses contradict torques within the limits."""
    (finding,) = scale_findings(dyn_core.load_robot(arm_urdf(SIX).replace('effort="300"', 'effort="1"')))
    assert (finding.code, finding.severity) == ("torques-beyond-limits", Severity.WARNING)
    moved = measured(exact_motion(with_drives(arm(SIX)), 5.0), seed=0)
    light = arm(SIX).with_parameters(np.array(arm(SIX).parameters) * 1e-3)
    (finding,) = effort_scale_findings(Equations(moved, base_columns(light)))
    assert (finding.code, finding.severity) == ("torques-unlike-masses", Severity.WARNING)


def test_large_friction_is_not_a_wrong_unit() -> None:
    """A robot whose torques are almost only friction."""
    robot = arm(SIX)
    values = np.array(with_drives(robot).parameters).reshape(-1, 14).copy()
    values[:, 11:13] *= 300.0
    moved = measured(exact_motion(robot.with_parameters(values.ravel()), 5.0), seed=0, torque_noise=1e-4)
    findings = effort_scale_findings(Equations(moved, base_columns(robot)))
    assert {f.code for f in findings} <= {"torques-beyond-limits"}


def test_errors_that_no_log_shows_give_no_finding(case: Case) -> None:
    """Zeros of the first (vertical) axis and of the last joint, and one factor for all torques."""
    base, moved = case
    for joint in (0, moved.dof - 1):
        assert found_in(base, replace(moved, q=moved.q + at(joint, 1.0, moved.dof, 0.0))) == ()
    assert found_in(base, replace(moved, tau=2.0 * moved.tau)) == ()


def test_earlier_shifts_the_motion_in_time() -> None:
    moved = exact_motion(with_drives(arm(SIX)), 4.0)
    shifted = earlier(moved, 0.0125)
    for found, exact, atol in ((shifted.q, moved.q, 1e-6), (shifted.qd, moved.qd, 1e-5)):
        np.testing.assert_allclose(found[50:-50], 0.5 * (exact[37:-63] + exact[38:-62]), atol=atol)
    assert earlier(moved, 0.0) is moved


def test_joints_at_rest_do_not_hide_wrong_signals() -> None:
    """While a joint rests, stiction makes its torque arbitrary, so these samples are not used."""
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
    for joint, factor, code in ((1, -1.0, "torque-sign-wrong"), (2, 1.6, "torque-gain-wrong")):
        only(found_in(base, replace(moved, tau=moved.tau * at(joint, factor, 6))), [joint], code)


def test_a_joint_that_rests_all_the_time_has_no_known_delay(case: Case) -> None:
    base, moved = case
    q, qd, qdd = moved.q.copy(), moved.qd.copy(), moved.qdd.copy()
    q[:, 3], qd[:, 3], qdd[:, 3] = 0.4, 0.0, 0.0
    tau = dyn_core.compile_model(base.robot, backend="python").inverse_dynamics(q, qd, qdd)
    tau += 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    late = earlier(replace(moved, q=q, qd=qd, qdd=qdd, tau=tau), -0.005)
    found = delay(Equations(late, base), (FrictionModel(),) * moved.dof)
    assert found.common == pytest.approx(0.005, abs=3e-4)
    assert np.isinf(found.deviations).tolist() == [joint == 3 for joint in range(moved.dof)]
