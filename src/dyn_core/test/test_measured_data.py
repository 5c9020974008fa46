# SPDX-License-Identifier: Apache-2.0
"""Identification from measured data reaches what is published for them."""

from __future__ import annotations

import numpy as np
import pytest
from example_robots import descriptions
from measured import EMPS_URDF, dataset, emps_motion, ur10_motion

import dyn_core
from dyn_core.identification.friction import STANDARD, FrictionModel
from dyn_core.identification.identified import Identified
from dyn_core.identification.identify import IdentificationSettings, identify
from dyn_core.identification.motion import Motion
from dyn_core.identification.pseudo_inertia import is_possible

PUBLISHED = {
    "MR1": (95.1089, 0.1085),
    "Fv1": (203.5034, 1.1460),
    "Fs1": (20.3935, 0.1012),
    "Fo1": (-3.1648, 0.0444),
}
"""EMPS (Janot, Gautier, Brunot 2019): values and standard deviations of IDIM-LS."""


def of_emps(motion: Motion, friction: tuple[FrictionModel, ...] | None) -> Identified:
    robot = dyn_core.load_robot(EMPS_URDF)
    return identify(robot, motion, IdentificationSettings(train=1.0, decimation=10, friction=friction))


def test_emps_has_the_published_parameters() -> None:
    found = of_emps(emps_motion("DATA_EMPS.mat"), (FrictionModel(),))
    values = {p.name: p for p in (*found.base, *found.friction[0].parameters)}
    for name, (value, deviation) in PUBLISHED.items():
        assert abs(values[name].value - value) <= deviation, name
        assert values[name].essential
    assert found.errors.fitted.relative <= 0.0408
    assert found.consistent_errors.fitted.relative <= found.errors.fitted.relative + 0.002


def test_emps_friction_that_is_chosen_predicts_another_motion_better() -> None:
    fitted, other = emps_motion("DATA_EMPS.mat"), emps_motion("DATA_EMPS_PULSES.mat")
    both = Motion(
        *(np.concatenate([getattr(fitted, k), getattr(other, k)]) for k in ("t", "q", "qd", "qdd", "tau")),
        segments=((0, len(fitted)), (len(fitted), len(fitted) + len(other))),
    )
    robot = dyn_core.load_robot(EMPS_URDF)
    errors = []
    for friction in ((FrictionModel(),), None):
        settings = IdentificationSettings(
            train=len(fitted) / len(both), decimation=10, friction=friction, loaded=False
        )
        found = identify(robot, both, settings)
        assert found.errors.held_out is not None
        errors.append(found.errors.held_out.relative)
    symmetric, chosen = errors
    assert chosen < 0.95 * symmetric


@pytest.fixture(scope="module")
def ur10() -> Identified:
    dataset("ur10_unisa")
    paths = [path for path in descriptions() if path.name == "ur10_robot.urdf"]
    if not paths:
        pytest.skip("example-robot-data, which has the UR10, is not installed")
    return identify(dyn_core.load_robot(paths[0]), ur10_motion())


def test_ur10_predicts_what_it_has_not_seen(ur10: Identified) -> None:
    assert ur10.errors.held_out is not None
    assert ur10.errors.held_out.relative <= 0.076
    assert any(friction.model.terms != STANDARD or friction.model.v0 for friction in ur10.friction)


def test_ur10_consistent_parameters_cost_next_to_nothing(ur10: Identified) -> None:
    assert ur10.errors.held_out is not None
    assert ur10.consistent_errors.held_out is not None
    assert ur10.consistent_errors.held_out.relative <= ur10.errors.held_out.relative + 0.002
    values = np.array([parameter.value for parameter in ur10.standard]).reshape(6, 14)
    assert all(is_possible(body[:10]) for body in values)
    assert np.all(values[:, 10:13] >= 0.0)


def test_ur10_standard_model_is_as_published() -> None:
    """OLS and WLS with viscous and Coulomb friction alone leave 8.49 % and 8.29 %."""
    paths = [path for path in descriptions() if path.name == "ur10_robot.urdf"]
    if not paths:
        pytest.skip("example-robot-data, which has the UR10, is not installed")
    settings = IdentificationSettings(friction=(FrictionModel(),) * 6)
    found = identify(dyn_core.load_robot(paths[0]), ur10_motion(), settings)
    assert found.errors.held_out is not None
    assert found.errors.held_out.relative == pytest.approx(0.0829, abs=2e-4)
