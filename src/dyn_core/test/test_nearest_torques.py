# SPDX-License-Identifier: Apache-2.0
"""The search for the nearest torques: C and Python give the same result for any input."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from random_case import random_case
from robots import example
from test_feasible_steps import SEEDS, Torques, random_given, random_limits

from dyn_core.feasibility.step_feasibility import Feasibility
from dyn_core.feasibility.step_program import NONE, Layout, Search, Vectors, fastest_search, nearest_torques

Searched = tuple[np.ndarray, int, float]
SAME = 1e-9
"""Largest difference of results by another order of summation, relative to the greatest torque."""


@pytest.fixture(scope="module")
def in_c() -> Search:
    search = fastest_search()
    assert search is not nearest_torques
    return search


def same(ours: Vectors | None, expected: Vectors | None, A: np.ndarray, dt: float) -> bool:
    """Whether both have a result and agree; accelerations are as exact as their torques."""
    assert (ours is None) == (expected is None)
    if ours is None:
        return False
    (q, qd, qdd, u), (q_, qd_, qdd_, u_) = ours, expected
    off = SAME * np.abs(u_).max()
    assert np.abs(u - u_).max() <= off
    room = np.linalg.norm(np.linalg.inv(A), 2) * np.sqrt(len(u)) * off + SAME * np.abs(qdd_).max()
    assert np.abs(qdd - qdd_).max() <= room
    np.testing.assert_allclose(qd, qd_, rtol=1e-12, atol=dt * room)
    np.testing.assert_allclose(q, q_, rtol=1e-12, atol=dt * dt * room)
    assert not any(vector.flags.writeable for vector in ours)
    return True


def compared(in_c: Search, given: Searched) -> bool:
    values, n, dt = given
    return same(in_c(*given), nearest_torques(*given), values[Layout(n).inertia].reshape(n, n), dt)


def made_up(random: np.random.Generator, n: int, kind: str) -> Searched:
    """Random result of a step program, with a random inertia matrix."""
    root = random.normal(size=(n, n)) / np.sqrt(n)
    scale = 10.0 ** random.uniform(-1.5, 1.5, n)
    A = root @ root.T * np.sqrt(np.outer(scale, scale)) + np.diag(scale) * random.uniform(0.05, 1.0)
    if kind == "parallel":
        A = np.diag(scale)
    elif kind == "twins" and n > 1:
        # Two joints about the same axis whose rotors differ: the planes of their limits are almost parallel.
        A = 1e2 * np.ones((n, n)) + np.diag(scale)
    return limited(random, A, random.normal(size=n) * np.sqrt(scale), kind)


def limited(random: np.random.Generator, A: np.ndarray, H: np.ndarray, kind: str) -> Searched:
    n = len(H)
    layout, values = Layout(n), np.zeros(Layout(n).size)
    wished = 5.0 * random.normal(size=n)
    feasible = wished + random.normal(size=n) * random.choice([0.1, 1.0, 10.0])
    u = A @ feasible + H
    size = np.abs(u) + 1e-3
    below, above = (random.uniform(0.0, 1.0, (2, n)) * random.choice([0.01, 0.3, 2.0]) for _ in range(2))
    least_u, most_u = u - below[0] * size, u + above[0] * size
    least_a, most_a = feasible - below[1], feasible + above[1]
    if kind == "none":
        most_a[0] = least_a[0] - random.choice([1e-3, 1.0, 1e3])
        most_a[0] -= np.abs(most_a[0]) if random.random() < 0.5 else 0.0
    elif kind == "zero width":
        chosen = random.random(n) < 0.5
        least_u, most_u = np.where(chosen, u, least_u), np.where(chosen, u, most_u)
    elif kind == "stops":
        chosen = random.random(n) < 0.5
        least_a, most_a = np.where(chosen, 0.0, least_a), np.where(chosen, 0.0, most_a)
    elif kind == "open":
        for vector, limit in ((least_u, -NONE), (most_u, NONE), (least_a, -NONE), (most_a, NONE)):
            vector[random.random(n) < 0.5] = limit
    names = ("least_torques", "greatest_torques", "least_qdd", "greatest_qdd", "wished_qdd", "H", "q", "qd")
    vectors = (least_u, most_u, least_a, most_a, wished, H, *random.normal(size=(2, n)))
    for name, vector in zip(names, vectors, strict=True):
        values[layout.vector(name)] = vector
    values[layout.inertia] = A.ravel()
    return values, n, 1e-3


KINDS = ("usual", "open", "parallel", "twins", "zero width", "stops", "none")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [*range(1, 9), 30])
def test_random_steps_agree_in_c_and_python(in_c: Search, n: int, kind: str) -> None:
    random = np.random.default_rng(100 * n + KINDS.index(kind))
    count = 60 if n < 9 else 6
    found = sum(compared(in_c, made_up(random, n, kind)) for _ in range(count))
    if kind in ("usual", "open", "parallel", "twins", "zero width"):
        assert found == count
    elif kind == "none":
        assert found < count


@pytest.mark.parametrize(("seed", "joints"), [*SEEDS, (7, 1), (8, 3), (9, 5), (10, 8)])
def test_steps_of_robots_agree_in_c_and_python(in_c: Search, seed: int, joints: int) -> None:
    case, random = random_case(seed, joints, massless_leaves=False), np.random.default_rng(seed)
    given: list[Searched] = []
    steps = Feasibility(case.robot, random_limits(random, case, points=3))
    steps._search = lambda *searched: given.append(searched) or in_c(*searched)
    for _ in range(40):
        one = steps.with_limits(random_limits(random, case))
        for _ in range(50):
            one.nearest(*random_given(random, one.limits), case.wrenches)
    assert len(given) > 30
    assert 0 < sum(compared(in_c, one) for one in given) < len(given)


def test_a_robot_of_thirty_joints(in_c: Search) -> None:
    """Its inertia matrix and bias torques are Pinocchio's, as compiling its step takes a minute."""
    case = random_case(11, 30, massless_leaves=False)
    random, torques = np.random.default_rng(1), Torques(case)
    for kind in KINDS[:2]:
        for _ in range(5):
            A, H = torques.affine(*random.uniform(-1.0, 1.0, (2, case.robot.dof)))
            assert compared(in_c, limited(random, A, H, kind))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("search", ["c", "python"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_that_are_not_finite_end_the_search(in_c: Search, search: str, bad: float) -> None:
    run = in_c if search == "c" else nearest_torques
    random, layout = np.random.default_rng(5), Layout(4)
    for name in ("H", "wished_qdd"):
        values, n, dt = made_up(random, 4, "usual")
        values[layout.vector(name)][2] = bad
        found = run(values, n, dt)
        assert found is None or all(np.isfinite(vector).all() for vector in found)
    values, n, dt = made_up(random, 4, "usual")
    for place, value in ((layout.inertia.start + 5, bad), (layout.inertia, 0.0)):
        values[place] = value
        assert run(values, n, dt) is None


def test_without_limits_the_desired_state_is_reached(in_c: Search) -> None:
    layout, (values, n, dt) = Layout(3), made_up(np.random.default_rng(9), 3, "usual")
    for vector in ("torques", "qdd"):
        values[layout.vector(f"least_{vector}")], values[layout.vector(f"greatest_{vector}")] = -NONE, NONE
    assert compared(in_c, (values, n, dt))
    assert in_c(values, n, dt)[2].tobytes() == values[layout.vector("wished_qdd")].tobytes()


def test_threads_do_not_disturb_each_other(in_c: Search) -> None:
    random = np.random.default_rng(6)
    given = [made_up(random, n, "usual") for n in (1, 2, 6, 8, 30) for _ in range(20)]
    alone = [in_c(*one) for one in given]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for ours, expected in zip(pool.map(lambda one: in_c(*one), given), alone, strict=True):
                assert [v.tobytes() for v in ours] == [v.tobytes() for v in expected]


def test_arguments_of_wrong_type_or_size_are_refused(in_c: Search) -> None:
    values, n, dt = made_up(np.random.default_rng(7), 3, "usual")
    for arguments in (
        *((values[:-1], n, dt), (values, n + 1, dt), (values.astype(np.float32), n, dt)),
        *((values.tolist(), n, dt), (values, n), (values, "3", dt), (values, 0, dt), (values, -1, dt)),
        *((values[::-1], n, dt), (values[None], n, dt), (values, n, None), (values, 1 << 40, dt)),
    ):
        with pytest.raises(TypeError):
            in_c(*arguments)  # type: ignore[call-arg]


def test_without_a_compiler_the_search_runs_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = example("rx90")
    compiled = Feasibility(robot)
    monkeypatch.setenv("CC", "no-such-compiler")
    slow = Feasibility(robot)
    assert slow._search is nearest_torques
    random = np.random.default_rng(8)
    searched, h = 0, 0.002
    for _ in range(200):
        q, qd = random.uniform(-1.0, 1.0, 6), random.uniform(-0.8, 0.8, 6) * slow.limits.velocity
        qd_next = qd + h * 1000.0 * random.normal(size=6)
        args = (q, qd, q + 0.5 * h * (qd + qd_next), qd_next, h)
        ours, expected = compiled.nearest(*args), slow.nearest(*args)
        assert (ours.feasible, ours.possible) == (expected.feasible, expected.possible)
        off = SAME * np.abs(expected.torques).max()
        np.testing.assert_allclose(ours.torques, expected.torques, rtol=0, atol=off)
        searched += expected._values[Layout(6).number("nearest")] > 0.0
    assert searched > 20
