# SPDX-License-Identifier: Apache-2.0
"""The same algorithm runs with numbers, arrays over samples, and symbols."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from toy_symbol import Symbol, evaluate

import dyn_core
from dyn_core.algorithms.dynamics.newton_euler import inverse_dynamics
from dyn_core.dynamics.drive import friction_torque
from dyn_core.linalg import transform
from dyn_core.linalg.angle import cos_sin, cos_sin_of_sum, wrapped
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Friction
from dyn_core.symbolic import mat3, scalar, vec3

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_numbers_arrays_and_symbols_agree(name: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    n = robot.dof
    q, qd, qdd = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 5, n))

    def torques(q, qd, qdd):
        return inverse_dynamics(robot, q, qd, qdd, robot.gravity_0, {})

    single = [torques(*(x.tolist() for x in sample)) for sample in zip(q, qd, qdd, strict=True)]
    batch = np.array(torques(list(q.T), list(qd.T), list(qdd.T))).T
    np.testing.assert_allclose(batch, single, rtol=1e-12, atol=1e-12)

    symbols = [[Symbol(None) for _ in range(n)] for _ in range(3)]
    traced = torques(*symbols)
    names = [name for vector in symbols for name in vector]
    for k in range(5):
        numbers = np.concatenate((q[k], qd[k], qdd[k])).tolist()
        values = evaluate(traced, dict(zip(names, numbers, strict=True)))
        np.testing.assert_allclose(values, single[k], rtol=1e-12, atol=1e-12)


def test_sign_of_every_kind() -> None:
    assert [scalar.sign(x) for x in (-2.0, 0.0, -0.0, 3)] == [-1.0, 0.0, 0.0, 1.0]
    assert math.isnan(scalar.sign(math.nan))
    np.testing.assert_array_equal(scalar.sign(np.array([-2.0, 0.0, np.nan])), [-1.0, 0.0, np.nan])
    x = Symbol(None)
    assert evaluate([scalar.sign(x)], {x: -2.0}) == [-1.0]


def test_the_larger_of_every_kind() -> None:
    assert scalar.larger(2.0, 1.0, 3.0, 4.0) == 3.0
    assert scalar.larger(1.0, 1.0, 3.0, 4.0) == 4.0
    assert scalar.larger(math.nan, 1.0, 3.0, 4.0) == 4.0
    chosen = scalar.larger(np.array([0.0, 2.0, np.nan]), 1.0, 3.0, np.array([4.0, 5.0, 6.0]))
    np.testing.assert_array_equal(chosen, [4.0, 3.0, 6.0])


@pytest.mark.parametrize("angle", [math.inf, -math.inf, math.nan])
def test_sine_and_cosine_of_no_angle_are_nan(angle: float) -> None:
    assert math.isnan(scalar.sin(angle))
    assert math.isnan(scalar.cos(angle))


def test_friction_follows_the_paper() -> None:
    friction = Friction(Fv=2.0, Fs=3.0, Fo=0.5)
    assert friction_torque(friction, 4.0) == 3.0 + 8.0 + 0.5
    assert friction_torque(friction, -4.0) == -3.0 - 8.0 + 0.5
    assert friction_torque(friction, 0.0) == 0.5


def test_quarter_turns_are_exact() -> None:
    quarter = math.pi / 2
    table = {0.0: (1, 0), quarter: (0, 1), math.pi: (-1, 0), -quarter: (0, -1), 3 * quarter: (0, -1)}
    for angle, expected in table.items():
        assert cos_sin(angle) == expected
        c, s = cos_sin_of_sum(0.3, angle)
        assert (c, s) == pytest.approx((math.cos(0.3 + angle), math.sin(0.3 + angle)), abs=1e-15)
    assert cos_sin_of_sum(0.3, quarter) == (-math.sin(0.3), math.cos(0.3))
    assert cos_sin_of_sum(0.3, 0.2) == (math.cos(0.5), math.sin(0.5))
    assert wrapped(-math.pi) == math.pi
    assert wrapped(2.5 * math.pi) == pytest.approx(quarter)


def test_linear_algebra_agrees_with_numpy() -> None:
    random = np.random.default_rng(0)
    A, B = random.normal(size=(2, 3, 3))
    u, v = random.normal(size=(2, 3))
    a, b = (tuple(map(tuple, M.tolist())) for M in (A, B))
    s, t = tuple(u.tolist()), tuple(v.tolist())
    for ours, expected in (
        (mat3.mul(a, b), A @ B),
        (mat3.add(a, b), A + B),
        (mat3.transpose(a), A.T),
        (mat3.mul_vec(a, s), A @ u),
        (mat3.outer(s, t), np.outer(u, v)),
        (vec3.cross(s, t), np.cross(u, v)),
        (vec3.dot(s, t), u @ v),
        (vec3.sub(s, t), u - v),
        (mat3.mul_vec(mat3.skew(s), t), np.cross(u, v)),
        (mat3.mul_vec(mat3.skew_squared(s), t), np.cross(u, np.cross(u, v))),
        (vec3.unit((3e-320, 0.0, 0.0)), [1.0, 0.0, 0.0]),
        (vec3.unit((1e308, 1e308, 0.0)), np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0)),
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-14, atol=1e-15)


def test_inverse_undoes_a_transform() -> None:
    T_a_b = Transform(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (1.0, 2.0, 3.0))
    assert transform.apply(T_a_b, (1.0, 0.0, 0.0)) == (1.0, 3.0, 3.0)
    assert transform.compose(T_a_b, transform.inverse(T_a_b)) == transform.IDENTITY
