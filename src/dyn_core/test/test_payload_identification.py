# SPDX-License-Identifier: Apache-2.0
"""What a link holds is found: from two motions, and from one of an arm that is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_truth import SEVEN, SIX, arm, exact_motion, measured, true_values, with_drives

import dyn_core
from dyn_core import IdentificationSettings
from dyn_core.identification.estimators.least_squares import weighted
from dyn_core.identification.factors import factors
from dyn_core.identification.fit import Fit
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.payload.payload_estimate import payload_of_known_arm, payload_of_pair
from dyn_core.identification.payload.payload_parameters import Payload
from dyn_core.identification.pseudo_inertia import is_possible
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rows import Rows

MASS, CENTRE, INERTIA = 1.5, (0.03, -0.02, 0.08), (0.004, 0.0005, -0.0002, 0.006, 0.0001, 0.003)


def data_of(robot: dyn_core.Robot, seed: int, friction: FrictionModel | None = None) -> Fit:
    moved = measured(exact_motion(robot, 20.0, seed), seed)
    models = ((friction or FrictionModel(),),) * robot.dof
    rows = Rows(Equations(moved, base_columns(robot)), models)
    data = factors(rows)
    return Fit(rows, weighted(data), data)


def assert_right(found: Payload, deviations: float = 4.0) -> None:
    assert found.mass == pytest.approx(MASS, abs=deviations * found.deviations[9])
    assert found.mass == pytest.approx(MASS, rel=0.01)
    np.testing.assert_allclose(found.centre, CENTRE, atol=1e-3)
    np.testing.assert_allclose(found.inertia, INERTIA, atol=2e-3)
    assert is_possible(found.parameters)
    assert np.all(np.isfinite(found.least_squares_deviations))


@pytest.mark.parametrize("axes", [SIX, SEVEN], ids=["six", "seven"])
def test_payload_is_found(axes: tuple) -> None:
    robot = with_drives(arm(axes))
    link = f"link_{len(axes)}"
    loaded = robot.with_payload(link, MASS, CENTRE, INERTIA)
    base = base_columns(robot)
    with_it = data_of(loaded, seed=2)
    assert_right(payload_of_pair(link, base, data_of(robot, seed=1), with_it).payload)
    for friction in (True, False):
        known = true_values(robot, base)
        found = payload_of_known_arm(link, base, with_it, known, friction).payload
        assert_right(found)
        again = robot.with_payload(link, found.mass, found.centre, found.inertia)
        assert pytest.approx(loaded.bodies[-1].M, rel=0.01) == again.bodies[-1].M


def test_payload_is_found_from_signals() -> None:
    """By a motion without it, and by what was identified from that."""
    robot = with_drives(arm(SIX))
    loaded = robot.with_payload("link_6", MASS, CENTRE, INERTIA)
    without, with_it = (
        measured(exact_motion(one, 20.0, seed), seed, train=1.0) for seed, one in ((1, robot), (2, loaded))
    )
    settings = IdentificationSettings(diagnose=False)
    known = dyn_core.identify(arm(SIX), without, settings)
    for arm_alone in (without, known):
        assert_right(dyn_core.identify_payload(arm(SIX), "link_6", with_it, arm_alone, settings))
    with pytest.raises(dyn_core.DynError, match="has other base parameters"):
        dyn_core.identify_payload(arm(SIX), "link_6", with_it, replace(known, base=known.base[1:]))


def test_payload_of_an_arm_of_which_a_joint_was_held() -> None:
    """What was identified has no parameters of that joint; neither has the motion with the payload."""
    robot = with_drives(arm(SIX))
    loaded = robot.with_payload("link_6", MASS, CENTRE, INERTIA)

    def held(one: dyn_core.Robot, seed: int, at: float = 0.4) -> dyn_core.Signals:
        exact = exact_motion(one, 20.0, seed)
        exact.q[:, 3], exact.qd[:, 3], exact.qdd[:, 3] = at, 0.0, 0.0
        model = dyn_core.compile_model(one, backend="python")
        tau = model.inverse_dynamics(exact.q, exact.qd, exact.qdd)
        return measured(replace(exact, tau=tau), seed, position_noise=0.0, train=1.0)

    settings = IdentificationSettings(diagnose=False)
    known = dyn_core.identify(arm(SIX), held(robot, 1), settings)
    assert set(known.fixed) == {"joint_4"}
    of_all = replace(settings, friction=(FrictionModel(),) * 6)  # though that of the arm counts
    found = dyn_core.identify_payload(arm(SIX), "link_6", held(loaded, 2), known, of_all)
    assert found.mass == pytest.approx(MASS, rel=0.02)
    np.testing.assert_allclose(found.centre, CENTRE, atol=2e-3)
    with pytest.raises(dyn_core.DynError, match=r"with the payload: joint 'joint_4' stood at 0.4 .* at 1.2"):
        dyn_core.identify_payload(arm(SIX), "link_6", held(loaded, 2, at=1.2), known, settings)


def test_changed_friction_is_no_payload() -> None:
    """Friction that has changed with the temperature is estimated anew; else the payload is wrong."""
    robot = with_drives(arm(SIX))
    base = base_columns(robot)
    warmer = robot.with_parameters({f"Fv{j}": 0.7 * robot.joints[j - 1].friction.Fv for j in range(1, 7)})
    loaded = warmer.with_payload("link_6", MASS, CENTRE, INERTIA)
    data, known = data_of(loaded, seed=3), true_values(robot, base)
    assert_right(payload_of_known_arm("link_6", base, data, known, friction=True).payload)
    trusting = payload_of_known_arm("link_6", base, data, known, friction=False).payload
    assert np.abs(np.array(trusting.inertia) - INERTIA).max() > 2e-3


def test_what_was_held_out_may_speak_against_it() -> None:
    """A payload that is lost where the part that is held out begins."""
    robot = with_drives(arm(SIX))
    loaded = robot.with_payload("link_6", MASS, CENTRE, INERTIA)
    settings = IdentificationSettings((FrictionModel(),) * 6, diagnose=False)
    without, moved, held = (
        measured(exact_motion(one, 12.0, seed), seed) for seed, one in ((1, robot), (2, robot), (2, loaded))
    )
    part = round(moved.train * len(moved))
    moved.tau[:part] = held.tau[:part]
    found = dyn_core.identify_payload(arm(SIX), "link_6", moved, without, settings)
    assert found.errors is not None
    assert found.errors.with_it.fitted.relative < found.errors.without.fitted.relative
    assert any(remark.startswith("what was held out speaks against the payload") for remark in found.remarks)


def test_no_payload_is_next_to_nothing() -> None:
    robot = with_drives(arm(SIX))
    data = (data_of(robot, seed) for seed in (4, 5))
    found = payload_of_pair("link_6", base_columns(robot), *data).payload
    assert found.mass < 0.02
    assert is_possible(found.parameters)


def test_mistakes_are_sentences() -> None:
    robot = with_drives(arm(SIX))
    base, data = base_columns(robot), data_of(robot, seed=6)
    with pytest.raises(dyn_core.DynError, match="link 'base' does not move"):
        payload_of_pair("base", base, data, data)
    with pytest.raises(dyn_core.DynError, match="no link 'hand'"):
        payload_of_pair("hand", base, data, data)
    other = data_of(robot, seed=6, friction=FrictionModel(("viscous",)))
    with pytest.raises(dyn_core.DynError, match="different models of friction"):
        payload_of_pair("link_6", base, data, other, friction=False)
