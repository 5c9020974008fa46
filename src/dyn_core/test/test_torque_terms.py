# SPDX-License-Identifier: Apache-2.0
"""Control laws and their torques in terms."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core import DynError
from dyn_core.control.computed_torque import TrackingGains, computed_torque, held, predictive
from dyn_core.control.motion import Motion
from dyn_core.control.smooth_friction import SmoothFriction
from dyn_core.control.terms import Switches, TorqueTerms

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
TERMS = ("inertial", "coriolis", "gravity", "friction")
FRICTION = {"Fv1": 0.4, "Fs1": 1.5, "Fo1": -0.2, "Fv3": 0.1, "Fs3": 0.7, "Ia2": 0.3, "Fo3": 0.05}


def model_of(name: str = "rx90", **options) -> dyn_core.Model:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf").with_parameters(FRICTION)
    return dyn_core.compile_model(robot, backend="python", **options)


def oracle_of(model: dyn_core.Model, name: str) -> Oracle:
    return Oracle((ROBOTS / f"{name}.urdf").read_text(), model.joint_names, model.robot.gravity)


def motions(n: int, count: int) -> list[Motion]:
    return [Motion(*v) for v in np.random.default_rng(1).uniform(-2.0, 2.0, (count, 3, n))]


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_laws_against_pinocchio(name: str) -> None:
    model = model_of(name, friction=False, rotor_inertia=False)
    oracle, n = oracle_of(model, name), len(model.joint_names)
    random = np.random.default_rng(2)
    Kp, Kd = random.uniform(1.0, 100.0, (2, n))
    gains = TrackingGains.checked(model.joint_names, Kp, Kd)
    terms = TorqueTerms(model)
    for desired, measured in itertools.pairwise(motions(n, 6)):
        q, qd = measured.q, measured.qd
        W = np.array(
            [
                desired.qdd[j] + Kd[j] * (desired.qd[j] - qd[j]) + Kp[j] * (desired.q[j] - q[j])
                for j in range(n)
            ]
        )
        for motion, expected in (
            (computed_torque(desired, q, qd, gains), oracle.inverse_dynamics(q, qd, W, {})),
            (predictive(desired, q, qd, gains), oracle.inverse_dynamics(desired.q, desired.qd, W, {})),
            (desired, oracle.inverse_dynamics(*desired, {})),
            (held(q), oracle.gravity_torques(q)),
        ):
            scale = np.abs(expected).max()
            np.testing.assert_allclose(terms.of(motion).total, expected, atol=1e-10 * scale)


def test_computed_torque_makes_the_error_linear() -> None:
    """With the exact model e'' = -Kd e' - Kp e, eq. (3.124), by the direct dynamics."""
    model = model_of()
    gains = TrackingGains.of_frequency(model.joint_names, 3.0, damping=0.7)
    desired, measured = motions(6, 2)
    torques = TorqueTerms(model).of(computed_torque(desired, measured.q, measured.qd, gains)).total
    qdd = model.forward_dynamics(measured.q, measured.qd, torques)
    e, ed = desired.q - measured.q, desired.qd - measured.qd
    w = 6.0 * math.pi
    np.testing.assert_allclose(desired.qdd - qdd, -1.4 * w * ed - w * w * e, rtol=1e-8)


def test_wrong_gains() -> None:
    with pytest.raises(DynError, match=r"the gain Kd of joint 'b' is -1.0: give a finite number >= 0"):
        TrackingGains.checked(("a", "b"), 1.0, [1.0, -1.0])
    with pytest.raises(DynError, match="the frequency of joint 'a' is nan"):
        TrackingGains.of_frequency(("a", "b"), math.nan)


@pytest.mark.parametrize("wanted", list(itertools.product([True, False], repeat=4)))
def test_every_combination_of_switches(wanted: tuple[bool, ...]) -> None:
    model = model_of("rrp")
    (motion,) = motions(3, 1)
    q, qd, qdd = motion
    whole = {
        "inertial": model.inertial_torques(q, qdd),
        "coriolis": model.coriolis_torques(q, qd),
        "gravity": model.gravity_torques(q),
        "friction": model.friction_torques(qd),
    }
    got = TorqueTerms(model, Switches(*wanted)).of(motion)
    for name, on in zip(TERMS, wanted, strict=True):
        np.testing.assert_array_equal(getattr(got, name), whole[name] if on else 0.0)
    expected = sum((whole[name] for name, on in zip(TERMS, wanted, strict=True) if on), np.zeros(3))
    np.testing.assert_allclose(got.total, expected, rtol=1e-13, atol=1e-13)
    if all(wanted):
        np.testing.assert_allclose(got.total, model.inverse_dynamics(q, qd, qdd), rtol=1e-10)


def test_friction_at_another_velocity() -> None:
    model = model_of("rrp")
    motion, other = motions(3, 2)
    got = TorqueTerms(model).of(motion, friction_velocity=other.qd)
    np.testing.assert_array_equal(got.friction, model.friction_torques(other.qd))
    np.testing.assert_array_equal(got.coriolis, model.coriolis_torques(motion.q, motion.qd))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(("index", "what"), [(0, "position"), (1, "velocity"), (2, "acceleration")])
def test_motions_that_are_not_finite(index: int, what: str, bad: float) -> None:
    model = model_of("rrp")
    (motion,) = motions(3, 1)
    motion[index][1] = bad
    name = model.joint_names[1]
    with pytest.raises(ValueError, match=f"the {what} of joint '{name}' is {bad}: it has to be finite"):
        TorqueTerms(model).of(motion)
    if index == 2:
        assert np.isfinite(TorqueTerms(model, Switches(inertial=False)).of(motion).total).all()


def test_a_friction_velocity_that_is_not_finite() -> None:
    (motion,) = motions(3, 1)
    with pytest.raises(ValueError, match=r"the velocity of joint .* is nan"):
        TorqueTerms(model_of("rrp")).of(motion, friction_velocity=np.array([0.0, 0.0, math.nan]))


def test_coulomb_friction_at_rest_is_zero() -> None:
    for v0 in (0.0, 0.1):
        torques = SmoothFriction(model_of("rrp"), v0).torques(np.zeros(3))
        np.testing.assert_allclose(torques, [-0.2, 0.0, 0.05], atol=1e-15)


def test_smooth_friction_as_by_hand() -> None:
    model = model_of("rrp")
    v0 = (0.1, 0.1, 0.0)
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
    # The docstring says how much of Fs is missing, and where.
    whole, rest = (SmoothFriction(model, v).torques(np.full(3, 0.265)) for v in (0.0, 0.1))
    assert (whole - rest)[0] == pytest.approx(0.01 * 1.5, rel=0.02)


@pytest.mark.parametrize("backend", ["c", "python"])
def test_smooth_friction_follows_the_parameters(backend: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    model = dyn_core.compile_model(robot, "runtime", backend=backend)
    friction = SmoothFriction(model, 0.1)
    for Fs in (0.0, 2.0, 5.0):
        model.set_parameters({"Fs1": Fs})
        np.testing.assert_allclose(
            friction.torques(np.array([0.05, 0.0, 0.0]))[0]
            - SmoothFriction(model, 1e9).torques(np.array([0.05, 0.0, 0.0]))[0],
            Fs * math.tanh(0.5),
            atol=1e-9,
        )


def test_smooth_friction_of_joints_that_others_mimic() -> None:
    """A follower that turns the other way at half the speed has a share in the friction of its leader."""
    urdf = """<robot name="r"><link name="base"/><link name="a"/><link name="b"/>
      <joint name="leader" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
        <dynamics friction="2" damping="1"/></joint>
      <joint name="follower" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
        <mimic joint="leader" multiplier="-0.5"/><dynamics friction="4"/></joint></robot>"""
    model = dyn_core.compile_model(dyn_core.load_robot(urdf), backend="python")
    for v in (-0.3, 0.02):
        expected = v + (2.0 + 0.5 * 4.0) * math.tanh(v / 0.1)
        np.testing.assert_allclose(SmoothFriction(model, 0.1).torques(np.array([v])), expected)


@pytest.mark.parametrize("coulomb_velocity", [0.0, 0.1])
def test_a_whole_trajectory_at_once(coulomb_velocity: float) -> None:
    model = model_of("rrp")
    singles = motions(3, 7)
    many = Motion(*(np.array(vectors) for vectors in zip(*singles, strict=True)))
    for wanted in (Switches(), Switches(inertial=False, friction=False)):
        terms = TorqueTerms(model, wanted, coulomb_velocity)
        together = terms.of(many)
        for k, motion in enumerate(singles):
            for all_, one in zip(together, terms.of(motion), strict=True):
                np.testing.assert_allclose(all_[k], one, rtol=1e-12, atol=1e-12)
    many.qd[4, 2] = math.nan
    with pytest.raises(ValueError, match=f"the velocity of joint '{model.joint_names[2]}' is nan"):
        TorqueTerms(model).of(many)


def test_wrong_velocity_of_transition() -> None:
    with pytest.raises(DynError, match=r"the velocity of the Coulomb transition of joint .* is -1.0"):
        TorqueTerms(model_of("rrp"), coulomb_velocity=-1.0)


def test_what_is_answered_can_be_written_to_but_for_terms_that_are_left_out() -> None:
    model = model_of("rrp")
    (motion,) = motions(3, 1)
    terms = TorqueTerms(model, Switches(True, False, False, False))
    expected = terms.of(motion).total.copy()
    terms.of(motion).total[:] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        terms.of(motion).gravity[:] = 7.0
    np.testing.assert_array_equal(terms.of(motion).total, expected)
