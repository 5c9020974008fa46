# SPDX-License-Identifier: Apache-2.0
"""Control laws, and torques split into terms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from refusals import refusal, refused
from robots import ROBOTS, example

import dyn_core
from dyn_core.control.laws.inverse_dynamics_control import (
    SmoothFriction,
    Switches,
    TorqueTerms,
    TrackingGains,
    computed_torque,
    held,
    predictive,
)
from dyn_core.control.trajectories.piecewise_polynomials import Motion

FRICTION = {"Fv1": 0.4, "Fs1": 1.5, "Fo1": -0.2, "Fv3": 0.1, "Fs3": 0.7, "Ia2": 0.3, "Fo3": 0.05}


def model_of(name: str = "rx90", **options) -> dyn_core.Model:
    return dyn_core.compile_model(example(name).with_parameters(FRICTION), backend="python", **options)


def motions(n: int, count: int) -> list[Motion]:
    return [Motion(*v) for v in np.random.default_rng(1).uniform(-2.0, 2.0, (count, 3, n))]


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_laws_agree_with_pinocchio(name: str) -> None:
    model = model_of(name, friction=False, rotor_inertia=False)
    oracle = Oracle((ROBOTS / f"{name}.urdf").read_text(), model.joint_names, model.robot.gravity)
    n, terms = len(model.joint_names), TorqueTerms(model)
    Kp, Kd = np.random.default_rng(2).uniform(1.0, 100.0, (2, n))
    gains = TrackingGains.checked(model.joint_names, Kp, Kd)
    for desired, (q, qd, _) in itertools.pairwise(motions(n, 6)):
        W = desired.qdd + Kd * (desired.qd - qd) + Kp * (desired.q - q)
        for motion, expected in (
            (computed_torque(desired, q, qd, gains), oracle.inverse_dynamics(q, qd, W, {})),
            (predictive(desired, q, qd, gains), oracle.inverse_dynamics(desired.q, desired.qd, W, {})),
            (desired, oracle.inverse_dynamics(*desired, {})),
            (held(q), oracle.gravity_torques(q)),
        ):
            scale = np.abs(expected).max()
            np.testing.assert_allclose(terms.of(motion).total, expected, atol=1e-10 * scale)


def test_computed_torque_makes_the_error_linear() -> None:
    """With the exact model, e'' = -Kd e' - Kp e (eq. (3.124)), by direct dynamics."""
    model, w = model_of(), 6.0 * math.pi
    gains = TrackingGains.of_frequency(model.joint_names, 3.0, damping=0.7)
    desired, (q, qd, _) = motions(6, 2)
    qdd = model.forward_dynamics(q, qd, TorqueTerms(model).of(computed_torque(desired, q, qd, gains)).total)
    expected = -1.4 * w * (desired.qd - qd) - w * w * (desired.q - q)
    np.testing.assert_allclose(desired.qdd - qdd, expected, rtol=1e-8)


def test_wrong_settings_are_refused() -> None:
    Kd, least = "the gain Kd", "a finite number >= 0"
    with refused("joint-setting-range", setting=Kd, joint="b", given=-1.0, expected=least):
        TrackingGains.checked(("a", "b"), 1.0, [1.0, -1.0])
    with refused("joint-setting-range", setting="the frequency", joint="a"):
        TrackingGains.of_frequency(("a", "b"), math.nan)
    with refused("joint-setting-range", setting="the velocity of the Coulomb transition", given=-1.0):
        TorqueTerms(model_of("rrp"), coulomb_velocity=-1.0)


@pytest.mark.parametrize("wanted", list(itertools.product([True, False], repeat=4)))
def test_every_combination_of_switches(wanted: tuple[bool, ...]) -> None:
    model, ((q, qd, qdd),) = model_of("rrp"), motions(3, 1)
    whole = {"inertial": model.inertial_torques(q, qdd), "coriolis": model.coriolis_torques(q, qd)}
    whole |= {"gravity": model.gravity_torques(q), "friction": model.friction_torques(qd)}
    got = TorqueTerms(model, Switches(*wanted)).of(Motion(q, qd, qdd))
    total = np.zeros(3)
    for (name, torques), on in zip(whole.items(), wanted, strict=True):
        np.testing.assert_array_equal(getattr(got, name), torques if on else 0.0)
        total += torques if on else 0.0
    np.testing.assert_allclose(got.total, total, rtol=1e-13, atol=1e-13)
    if all(wanted):
        np.testing.assert_allclose(got.total, model.inverse_dynamics(q, qd, qdd), rtol=1e-10)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(("index", "what"), [(0, "position"), (1, "velocity"), (2, "acceleration")])
def test_motions_that_are_not_finite_are_refused(index: int, what: str, bad: float) -> None:
    model, (motion,) = model_of("rrp"), motions(3, 1)
    motion[index][1] = bad
    with refused("joint-value-not-finite", quantity=what, joint=model.joint_names[1], given=bad):
        TorqueTerms(model).of(motion)
    if index == 2:
        assert np.isfinite(TorqueTerms(model, Switches(inertial=False)).of(motion).total).all()


def test_smooth_friction_agrees_with_the_formula() -> None:
    model, v0 = model_of("rrp"), (0.1, 0.1, 0.0)
    friction = SmoothFriction(model, v0)
    values = dict(zip(model.parameter_names, model.parameters, strict=True))
    for qd in [*np.random.default_rng(3).normal(0.0, 0.2, (20, 3)), np.array([1e-9, -1e-9, -1e-9])]:
        expected = [
            values[f"Fo{j}"]
            + values[f"Fv{j}"] * v
            + values[f"Fs{j}"] * (math.tanh(v / v0[j - 1]) if v0[j - 1] else math.copysign(1.0, v))
            for j, v in enumerate(qd, start=1)
        ]
        np.testing.assert_allclose(friction.torques(qd), expected, rtol=1e-12, atol=1e-12)
    sharp, smooth = SmoothFriction(model, 0.0), SmoothFriction(model, 0.1)
    for either in (sharp, smooth):  # at rest it is zero
        np.testing.assert_allclose(either.torques(np.zeros(3)), [-0.2, 0.0, 0.05], atol=1e-15)
    # The docstring states which part of Fs is missing at which speed.
    qd = np.full(3, 0.265)
    assert (sharp.torques(qd) - smooth.torques(qd))[0] == pytest.approx(0.01 * 1.5, rel=0.02)


@pytest.mark.parametrize("backend", ["c", "python"])
def test_smooth_friction_follows_the_parameters(backend: str) -> None:
    model = dyn_core.compile_model(example("rrp"), "runtime", backend=backend)
    friction, qd = SmoothFriction(model, 0.1), np.array([0.05, 0.0, 0.0])
    for Fs in (0.0, 2.0, 5.0):
        model.set_parameters({"Fs1": Fs})
        coulomb = friction.torques(qd)[0] - SmoothFriction(model, 1e9).torques(qd)[0]
        np.testing.assert_allclose(coulomb, Fs * math.tanh(0.5), atol=1e-9)


def test_friction_at_another_velocity() -> None:
    model, (motion, other) = model_of("rrp"), motions(3, 2)
    got = TorqueTerms(model).of(motion, friction_velocity=other.qd)
    np.testing.assert_array_equal(got.friction, model.friction_torques(other.qd))
    np.testing.assert_array_equal(got.coriolis, model.coriolis_torques(motion.q, motion.qd))
    with refused("joint-value-not-finite", quantity="velocity"):
        TorqueTerms(model).of(motion, friction_velocity=np.array([0.0, 0.0, math.nan]))


def test_smooth_friction_of_joints_with_mimic_followers() -> None:
    urdf = """<robot name="r"><link name="base"/><link name="a"/><link name="b"/>
      <joint name="leader" type="continuous"><parent link="base"/><child link="a"/>
        <dynamics friction="2" damping="1"/></joint>
      <joint name="follower" type="continuous"><parent link="a"/><child link="b"/>
        <mimic joint="leader" multiplier="-0.5"/><dynamics friction="4"/></joint></robot>"""
    model = dyn_core.compile_model(dyn_core.load_robot(urdf), backend="python")
    for v in (-0.3, 0.02):
        expected = v + (2.0 + 0.5 * 4.0) * math.tanh(v / 0.1)
        np.testing.assert_allclose(SmoothFriction(model, 0.1).torques(np.array([v])), expected)


@pytest.mark.parametrize("coulomb_velocity", [0.0, 0.1])
def test_a_whole_trajectory_at_once(coulomb_velocity: float) -> None:
    model, singles = model_of("rrp"), motions(3, 7)
    many = Motion(*(np.array(vectors) for vectors in zip(*singles, strict=True)))
    for wanted in (Switches(), Switches(inertial=False, friction=False)):
        terms = TorqueTerms(model, wanted, coulomb_velocity)
        together = terms.of(many)
        for k, motion in enumerate(singles):
            for all_, one in zip(together[:5], terms.of(motion)[:5], strict=True):
                np.testing.assert_allclose(all_[k], one, rtol=1e-12, atol=1e-12)
    many.qd[4, 2] = math.nan
    assert refusal(TorqueTerms(model).of, many) == "joint-value-not-finite: nan, stretch, velocity"


def test_returned_torques_are_writable_except_for_terms_that_are_left_out() -> None:
    terms, (motion,) = TorqueTerms(model_of("rrp"), Switches(True, False, False, False)), motions(3, 1)
    expected = terms.of(motion).total.copy()
    terms.of(motion).total[:] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        terms.of(motion).gravity[:] = 7.0
    np.testing.assert_array_equal(terms.of(motion).total, expected)
