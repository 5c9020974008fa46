# SPDX-License-Identifier: Apache-2.0
"""Torques of an arm on a vehicle, from the measured motion of the vehicle."""

from __future__ import annotations

import math

import numpy as np
from moving_base_cases import free_case, free_state, heavy_base
from properties import examples, given, st
from random_case import assert_close
from random_urdf import random_urdf
from refusals import refused

import dyn_core
from dyn_core.control.laws.base_measurement import BaseMotionFilter, mount, orientation
from dyn_core.control.laws.inverse_dynamics_control import Switches, TorqueTerms
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.symbolic.transform import IDENTITY

GRAVITY = np.array([0.0, 0.0, -9.81])


def rotation(pose: np.ndarray) -> np.ndarray:
    return orientation(pose[3:].tolist())


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 8))
def test_terms_agree_with_a_base_of_given_motion(seed: int, joints: int) -> None:
    case = free_case(seed, joints)
    s = case.state
    if case.robot.dof == 0:
        return
    whole = dyn_core.compile_moving_base(case.robot, "given", backend="python")
    model = dyn_core.compile_model(case.robot, backend="python")
    driven, motion = dyn_core.DrivenBase(model), Motion(s.q, s.qd, s.qdd)
    force = s.Vd[:3] - rotation(s.pose).T @ np.array(case.robot.gravity)
    driven.feel(np.concatenate((force, s.V[3:], s.Vd[3:])))
    expected = whole.inverse_dynamics_given_base(s.pose, s.V, s.Vd, s.q, s.qd, s.qdd)[6:]
    assert_close(TorqueTerms(model, driven=driven).of(motion).total, expected, 1e-9)
    driven.at_rest()
    on_floor, at_rest = TorqueTerms(model).of(motion), TorqueTerms(model, driven=driven).of(motion)
    assert at_rest.by_drive is None
    assert on_floor.by_drive is None
    for ours, theirs in zip(at_rest[:-1], on_floor[:-1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * max(1.0, np.abs(on_floor.total).max()))


def test_parameters_and_backends() -> None:
    case = free_case(5, 4)
    s = case.state
    model = dyn_core.compile_model(case.robot, "runtime", backend="c")
    driven = dyn_core.DrivenBase(model)
    motion = np.array([1.0, -2.0, 9.0, 0.3, 0.4, -0.5, 1.0, 0.5, 0.2])
    driven.feel(motion)
    before = driven.gravity_torques(s.q)
    names = [f"{name}{j}" for name in ("MX", "M") for j in range(1, case.robot.dof + 1)]
    model.set_parameters({name: 3.0 + k for k, name in enumerate(names)})
    heavier = case.robot.with_parameters(dict(zip(model.parameter_names, model.parameters, strict=True)))
    baked = dyn_core.DrivenBase(dyn_core.compile_model(heavier, backend="python"))
    baked.feel(motion)
    after = driven.gravity_torques(s.q)
    assert np.abs(after - before).max() > 0.1
    for name, vectors in (("gravity", (s.q,)), ("coriolis", (s.q, s.qd)), ("inertial", (s.q, s.qdd))):
        ours, theirs = (getattr(each, f"{name}_torques")(*vectors) for each in (driven, baked))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    many = np.tile(s.q, (3, 1))
    np.testing.assert_allclose(driven.gravity_torques(many), np.tile(after, (3, 1)), rtol=1e-9)
    still = TorqueTerms(model, Switches(False, False, True, False), driven=driven)
    np.testing.assert_allclose(still.of(Motion(s.q, 0.0 * s.q, 0.0 * s.q)).total, after, rtol=1e-12)
    with refused("argument-numbers", argument="motion", count=9):
        driven.feel(np.full(9, math.nan))
    np.testing.assert_array_equal(driven.motion, motion)


@examples(30)
@given(seed=st.integers(0, 2**32 - 1))
def test_imu_and_odometry_anywhere_on_the_base_give_the_motion_of_the_root(seed: int) -> None:
    """Inertial measurement units and odometries may be fixed at any place of the base."""
    random = np.random.default_rng(seed)
    urdf = heavy_base(random_urdf(seed, 5, massless_leaves=False))
    xyz, rpy = (" ".join(map(str, values)) for values in random.normal(size=(2, 3)))
    unit = (
        f'<link name="unit"/><joint name="to_unit" type="fixed"><parent link="l0"/><child link="unit"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/></joint></robot>'
    )
    robot = dyn_core.load_robot(urdf.replace("</robot>", unit), snap=0)
    model = dyn_core.compile_moving_base(robot, "given", backend="python")
    s = free_state(random, robot.dof)
    args = (s.pose, s.V, s.Vd, s.q, s.qd, s.qdd)
    placed = model.forward_kinematics(s.pose, s.q, "unit")[:3, :3]
    v, a = model.link_velocity(*args[:2], s.q, s.qd, "unit"), model.link_acceleration(*args, "unit")
    w, wd = placed.T @ v[3:], placed.T @ a[3:]
    expected = np.concatenate((s.Vd[:3] - rotation(s.pose).T @ GRAVITY, s.V[3:], s.Vd[3:]))

    T = mount(robot, "unit")
    exact = BaseMotionFilter(0.0, 1.0).at_root(T, w, wd, placed.T @ (a[:3] - GRAVITY))
    np.testing.assert_allclose(exact, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))
    # Without filters, the angular acceleration and its effect at the root are neglected.
    felt = BaseMotionFilter(0.0, 1.0).of_imu(T, 0.0, w, placed.T @ (a[:3] - GRAVITY))
    lever = np.cross(s.Vd[3:], np.array(T.p))
    np.testing.assert_allclose(felt[:3] - lever, expected[:3], atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(felt[3:6], s.V[3:], atol=1e-12)
    np.testing.assert_array_equal(felt[6:], 0.0)


def test_accelerations_are_derived_from_measurements() -> None:
    """A vehicle accelerates on a circle: odometry and inertial measurement unit agree."""
    odometry, unit = BaseMotionFilter(5.0, 0.1), BaseMotionFilter(5.0, 0.1)
    alpha, radius = 0.4, 3.0
    for t in 0.01 * np.arange(400):
        rate, half = alpha * t, 0.25 * alpha * t * t
        w, v = np.array([0.0, 0.0, rate]), np.array([radius * rate, 0.0, 0.0])
        R = orientation([0.0, 0.0, math.sin(half), math.cos(half)])
        of_odometry = odometry.of_odometry(IDENTITY, t, R, v, w, GRAVITY)
        force = np.array([radius * alpha, radius * rate * rate, 9.81])
        of_unit = unit.of_imu(IDENTITY, t, w, force)
    expected = [*force, 0.0, 0.0, rate, 0.0, 0.0, alpha]
    np.testing.assert_allclose(of_unit, expected, atol=1e-6)
    np.testing.assert_allclose(of_odometry, expected, atol=1e-6)
    unit.reset()
    np.testing.assert_array_equal(unit.of_imu(IDENTITY, 99.0, w, force)[6:], 0.0)


def test_mistakes() -> None:
    robot = dyn_core.load_robot(heavy_base(random_urdf(3, 4, massless_leaves=False)))
    with refused("link-unknown", link="imu_link"):
        mount(robot, "imu_link")
    moving = next(link.name for link in robot.link_frames if link.body)
    with refused("measuring-link-moves", link=moving):
        mount(robot, moving)
    for quaternion, length in (([0.0] * 4, 0.0), ([0.0, 0.0, 0.0, 1.1], 1.1), ([math.nan] * 4, math.nan)):
        with refused("orientation-not-normalised", length=length):
            orientation(quaternion)
    np.testing.assert_allclose(orientation([0.0, 0.0, 0.0, 1.001]), np.eye(3), atol=1e-15)
