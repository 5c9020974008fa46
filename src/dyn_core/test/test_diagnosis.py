# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the signals of a motion is named, and nothing where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_truth import SEVEN, SIX, arm, exact_motion, measured, with_drives

from dyn_core.check.finding import Severity
from dyn_core.identification.base_columns import BaseColumns, base_columns
from dyn_core.identification.delays import delay, earlier
from dyn_core.identification.diagnosis import diagnosis
from dyn_core.identification.equations import Equations
from dyn_core.identification.friction import FrictionModel
from dyn_core.signals.signals import Signals


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
@pytest.mark.parametrize("first", [0, 1])
def test_wrong_signs_of_positions(case: tuple, torque: float, first: int) -> None:
    """Of each joint; with that of the torque as well, friction brakes as it should."""
    base, moved = case
    for joint in range(first, moved.dof, 2):
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


def test_one_joint_that_is_late_is_named() -> None:
    robot = with_drives(arm(SIX))
    moved = measured(exact_motion(robot, 10.0), seed=0)
    tau = moved.tau.copy()
    tau[:, 2] = np.roll(tau[:, 2], 6)
    findings = found_in(base_columns(robot), replace(moved, tau=tau))
    assert ("joint_3",) in [f.names for f in findings]
    assert all("recorded" in f.message for f in findings)


def test_earlier_motion_is_the_motion_earlier() -> None:
    moved = exact_motion(with_drives(arm(SIX)), 4.0)
    shifted = earlier(moved, 0.0125)
    inner = slice(50, -50)
    np.testing.assert_allclose(shifted.q[50:-50], 0.5 * (moved.q[37:-63] + moved.q[38:-62]), atol=1e-6)
    np.testing.assert_allclose(shifted.qd[inner], 0.5 * (moved.qd[37:-63] + moved.qd[38:-62]), atol=1e-5)
    assert earlier(moved, 0.0) is moved
