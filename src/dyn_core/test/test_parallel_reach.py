# SPDX-License-Identifier: Apache-2.0
"""Placements of a platform that legs do not reach, and placements that are none."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from parallel_cases import case, motions

import dyn_core
from dyn_core.parallel.closed_form import closed_positions
from dyn_core.parallel.leg_closure import closed_leg
from dyn_core.parallel.platform_motion import platform_motion
from dyn_core.parallel.reach import refuse_unreachable

BACKENDS = ("c", "python")
FUNCTIONS = (
    *("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "inverse_jacobian"),
    *("leg_positions", "leg_motions", "inverse_kinematics"),
)


@cache
def model(name: str, backend: str, parameters: str = "baked") -> dyn_core.ParallelModel:
    return dyn_core.compile_parallel(case(name).load(), "platform", parameters, backend)


def arguments(robot: dyn_core.ParallelModel, function: str, T: np.ndarray) -> list[np.ndarray]:
    """T and as many vectors at rest as a function takes."""
    sizes = {"inverse_dynamics": (6, 6), "leg_motions": (6, 6), "inverse_kinematics": (6, 6)}
    sizes["forward_dynamics"] = (6, len(robot.joint_names))
    return [T, *(np.zeros((*T.shape[:-2], n)) for n in sizes.get(function, ()))]


def moved(robot: dyn_core.ParallelModel, by: float) -> np.ndarray:
    """The placement of the assembly, moved along the first velocity of the platform."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = robot.structure.T_home
    T[:3, 3] += by * robot.mobility[:3, 0]
    return T


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("z", [-0.3, -1.2, -5.0])
def test_each_function_names_the_leg_of_a_delta(backend: str, z: float) -> None:
    """How far the arms and the forearms are from there follows from their lengths alone."""
    robot = model("delta", backend)
    T = np.eye(4)
    T[2, 3] = z
    r = math.hypot(0.2 - 0.05, z)  # from the shoulder, in the plane of an arm of 0.3 m, forearm of 0.66 m
    left = max(r - 0.3 - 0.66, 0.66 - (r + 0.3))
    assert left > 0.01
    message = rf"leg 'leg_1' does not reach the platform at \(0, 0, {z:.4g}\) m: {left:.3g} is left"
    for function in FUNCTIONS:
        with pytest.raises(dyn_core.DynError, match=message):
            getattr(robot, function)(*arguments(robot, function, T))
    with pytest.raises(dyn_core.DynError, match=message):
        robot.inverse_dynamics(*arguments(robot, "inverse_dynamics", T), wrenches={"platform": np.ones(6)})
    with pytest.raises(dyn_core.DynError, match=message):
        robot.inverse_dynamics(*arguments(robot, "inverse_dynamics", T), out=np.empty(3))


def test_parameters_that_can_be_set_change_nothing_of_that() -> None:
    robot = model("delta", "c", "runtime")
    with pytest.raises(dyn_core.DynError, match="leg 'leg_1' does not reach the platform"):
        robot.inertia_matrix(moved(robot, 30.0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["six_legs", "planar"])
def test_legs_with_and_without_closed_form(name: str, backend: str) -> None:
    robot = model(name, backend)
    for function in FUNCTIONS:
        with pytest.raises(dyn_core.DynError, match=r"leg '\w+' does not reach the platform at \("):
            getattr(robot, function)(*arguments(robot, function, moved(robot, 30.0)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["delta", "planar"])
def test_a_batch_has_rows_of_nan(name: str, backend: str) -> None:
    robot = model(name, backend)
    T, V, Vd = motions(robot, 4, seed=21)
    expected = robot.inverse_dynamics(T, V, Vd)
    T[2] = moved(robot, 30.0)
    for _ in range(2):
        found = robot.inverse_dynamics(T, V, Vd)
        assert np.all(np.isnan(found[2]))
        np.testing.assert_allclose(np.delete(found, 2, 0), np.delete(expected, 2, 0), rtol=1e-12)
    assert np.all(np.isnan(robot.leg_positions(T)).any(axis=1) == [False, False, True, False])


def test_closed_forms_reach_what_newton_reaches() -> None:
    """All around the workspace of the delta."""
    structure = model("delta", "python").structure
    random = np.random.default_rng(4)
    counts = {True: 0, False: 0}
    for x, y, z in random.uniform((-0.6, -0.6, -1.1), (0.6, 0.6, -0.2), (150, 3)):
        T = np.eye(4)
        T[:3, 3] = x, y, z
        motion = platform_motion(T.ravel().tolist(), (0.0,) * 6, (0.0,) * 6, structure.R_constant)
        found = []
        for leg, home in zip(structure.legs, structure.q_home, strict=True):
            q = [math.atan2(a.sin(), a.cos()) for a in closed_positions(leg, motion)]
            try:
                closed_leg(leg, motion, home if any(map(math.isnan, q)) else q)
            except dyn_core.DynError:
                found.append(leg.name)
        counts[not found] += 1
        if found:
            with pytest.raises(dyn_core.DynError, match=f"leg '{found[0]}' does not reach"):
                refuse_unreachable(structure, T.ravel().tolist())
        else:
            refuse_unreachable(structure, T.ravel().tolist())
    assert min(counts.values()) > 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["gough_stewart", "delta", "six_legs", "planar"])
def test_a_placement_without_rotation(name: str, backend: str) -> None:
    robot = model(name, backend)
    message = "T: its first three rows and columns R are no rotation matrix: R R.T is off the identity"
    for function in ("inverse_dynamics", "forward_dynamics", "jacobian"):
        with pytest.raises(ValueError, match=message):
            getattr(robot, function)(*arguments(robot, function, np.zeros((4, 4))))
    mirrored = moved(robot, 30.0) @ np.diag([1.0, 1.0, -1.0, 1.0])
    if name in ("six_legs", "planar"):
        with pytest.raises(ValueError, match="no rotation matrix: it mirrors, its determinant is -1"):
            robot.inertia_matrix(mirrored)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_singular_is_no_number(backend: str) -> None:
    """All legs of the platform in one plane, which they all reach."""
    robot = model("gough_stewart", backend)
    T = np.eye(4)
    T[1, 3] = 0.16
    assert not np.all(np.isfinite(robot.inverse_dynamics(*arguments(robot, "inverse_dynamics", T))))
    assert np.all(np.isnan(robot.jacobian(np.full((4, 4), math.nan))))
