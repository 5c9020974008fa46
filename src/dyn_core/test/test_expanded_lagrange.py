# SPDX-License-Identifier: Apache-2.0
"""The expanded Lagrange form: textbook formulas, derivatives by SymPy, and the compiled functions."""

from __future__ import annotations

import math
import re
import sys
from itertools import combinations
from operator import methodcaller
from random import Random

import numpy as np
import pytest
from depth import some
from planar_chains import planar_urdf, urdf
from properties import examples, given, hypothesis, st
from random_urdf import random_driven_urdf, random_urdf
from refusals import refused
from robots import ROBOTS, example

import dyn_core
from dyn_core.lagrange.trigonometric_sums import Harmonics, Product, by_power, variable

sympy = pytest.importorskip("sympy", reason="SymPy is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath, which SymPy needs, is not installed")

FORMS = [(False, False), (True, False), (False, True), (True, True)]
AXES = {"b": ("base", "1 1 0"), "c": ("b", "0 1 1")}  # prismatic joints, oblique to each other
SLIDES = urdf("slides", [(n, "prismatic", on, n, (0.0, 0.0, 0.0), axis) for n, (on, axis) in AXES.items()])


def planar_arm(joints: int = 2) -> dyn_core.Robot:
    """A planar arm about z with centres of mass on the lines of its links; x is horizontal, y up."""
    return dyn_core.load_robot(planar_urdf(joints), gravity=(0.0, -9.81, 0.0))


def s(names: str):
    return sympy.symbols(names, real=True)


def same(matrix, rows, values: dict) -> bool:
    """Whether a matrix has these rows, with values for the symbols by name."""
    own = matrix.subs({s(name): value for name, value in values.items()})
    return sympy.expand(own - sympy.Matrix(rows)).is_zero_matrix


def matrices(form: dyn_core.ExpandedLagrange) -> tuple:
    return form.A, form.B, form.C, form.Q


def test_a_planar_arm_with_two_joints_agrees_with_the_textbook() -> None:
    """As printed in Spong, Hutchinson, Vidyasagar: Robot Modeling and Control, 2006, sec. 7.4."""
    form = dyn_core.expanded_lagrange(planar_arm())
    q1, q2, qd1, qd2, g = s("q1 q2 qd1 qd2 g")
    m1, m2, l1, lc1, lc2, I1, I2 = s("m1 m2 l1 lc1 lc2 I1 I2")
    point = {"ZZ1": I1 + m1 * lc1**2, "MX1": m1 * lc1, "d2": l1, "ZZ2": I2 + m2 * lc2**2}
    point |= {"MX2": m2 * lc2, "M2": m2}
    assert str(form.A[0, 0]) == "M2*d2**2 + 2*MX2*d2*cos(q2) + ZZ1 + ZZ2"
    assert str(form.Q[0]) == "MX2*g*cos(q1 + q2) + g*(M2*d2 + MX1)*cos(q1)"
    d11 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * sympy.cos(q2)) + I1 + I2
    d12 = m2 * (lc2**2 + l1 * lc2 * sympy.cos(q2)) + I2
    h, phi2 = -m2 * l1 * lc2 * sympy.sin(q2), m2 * lc2 * g * sympy.cos(q1 + q2)
    Q = [[(m1 * lc1 + m2 * l1) * g * sympy.cos(q1) + phi2], [phi2]]
    printed = ([[d11, d12], [d12, m2 * lc2**2 + I2]], [[2 * h], [0]], [[0, h], [-h, 0]], Q)
    assert all(same(*pair, point) for pair in zip(matrices(form), printed, strict=True))
    assert same(form.coriolis_matrix, [[h * qd2, h * qd1 + h * qd2], [-h * qd1, 0]], point)


def test_a_planar_arm_with_point_masses_agrees_with_craig() -> None:
    """As printed in Craig: Introduction to Robotics, 2005, sec. 6.7, with masses at the ends of the links."""
    massive = "".join(
        f'<link name="link{j}"><inertial><origin xyz="{length} 0 0"/><mass value="{mass}"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        for j, mass, length in ((1, 3.0, 0.6), (2, 2.0, 0.5))
    )
    text = re.sub(r"<link name=\"link[12]\">.*</link>", massive, planar_urdf(2))
    form = dyn_core.expanded_lagrange(dyn_core.load_robot(text, gravity=(0.0, -9.81, 0.0)))
    q1, q2, g, m1, m2, l1, l2 = s("q1 q2 g m1 m2 l1 l2")
    point = {"ZZ1": m1 * l1**2, "MX1": m1 * l1, "d2": l1, "ZZ2": m2 * l2**2, "MX2": m2 * l2, "M2": m2}
    numbers = {m1: 3.0, m2: 2.0, l1: 0.6, l2: 0.5}
    for name, value in point.items():
        assert float(value.subs(numbers)) == pytest.approx(form.values[name], rel=1e-12)
    m12 = l2**2 * m2 + l1 * l2 * m2 * sympy.cos(q2)
    m11 = l2**2 * m2 + 2 * l1 * l2 * m2 * sympy.cos(q2) + l1**2 * (m1 + m2)
    v, g2 = m2 * l1 * l2 * sympy.sin(q2), m2 * l2 * g * sympy.cos(q1 + q2)
    Q = [[g2 + (m1 + m2) * l1 * g * sympy.cos(q1)], [g2]]
    printed = ([[m11, m12], [m12, l2**2 * m2]], [[-2 * v], [0]], [[0, -v], [v, 0]], Q)
    assert all(same(*pair, point) for pair in zip(matrices(form), printed, strict=True))


def test_products_of_sines_become_sums_of_angles() -> None:
    """Text for an arm with three joints and base parameters has no product of sines."""
    form = dyn_core.expanded_lagrange(planar_arm(3), base_parameters=True)
    assert list(map(str, (form.Q[2], form.Q[0], form.A[0, 2], form.A[0, 1], form.B[0, 2]))) == [
        "MX3*g*cos(q1 + q2 + q3)",
        "MX3*g*cos(q1 + q2 + q3) + MXR1*g*cos(q1) + MXR2*g*cos(q1 + q2)",
        "MX3*d2*cos(q2 + q3) + MX3*d3*cos(q3) + ZZ3",
        "MX3*d2*cos(q2 + q3) + 2*MX3*d3*cos(q3) + MXR2*d2*cos(q2) + ZZ3 + ZZR2",
        "-2*MX3*d2*sin(q2 + q3) - 2*MX3*d3*sin(q3)",
    ]
    assert form.values["d3"] == pytest.approx(0.7)
    grouped = {"ZZR1": "ZZ1 + d2**2*M2 + d2**2*M3", "ZZR2": "ZZ2 + d3**2*M3"}
    grouped |= {"MXR1": "MX1 + d2*M2 + d2*M3", "MXR2": "MX2 + d3*M3"}
    assert dict(form.definitions) == grouped
    of_links = {"ZZ1", "ZZ2", "ZZ3", "MX1", "MX2", "MX3", "M2", "M3"}
    assert set(form.values) == {*grouped, *of_links, "d2", "d3", "g"}


def test_squares_and_their_factors_are_collected() -> None:
    form = dyn_core.expanded_lagrange(example("rrp"), base_parameters=True)
    inertia = "(M3*q3**2 + 2*MZ3*q3 + XXR2)"
    found = list(map(str, (form.A[0, 0], form.B[0, 0], form.C[1, 0], form.C[2, 1], form.Q[1])))
    assert found[:2] == [f"ZZR1 + {inertia}*cos(q2)**2", f"-{inertia}*sin(2*q2)"]
    assert found[2:] == [f"{inertia}*sin(2*q2)/2", "-M3*q3 - MZ3", "g*(M3*q3 - MY2 + MZ3)*cos(q2)"]


def test_numbers_are_factored_out() -> None:
    """Integers are printed as integers."""
    form = dyn_core.expanded_lagrange(example("sdt"), numbers=True)
    assert not [number for number in form.A.atoms(sympy.Float) if abs(number - round(number)) < 1e-9]
    tilted = dyn_core.expanded_lagrange(dyn_core.load_robot(planar_urdf(2), gravity=(3.0, 0.0, -4.0)))
    assert str(tilted.Q[0]) == "3*MX2*g*sin(q1 + q2)/5 + 3*g*(M2*d2 + MX1)*sin(q1)/5"
    gantry = dyn_core.expanded_lagrange(dyn_core.load_robot(SLIDES, gravity=(1.0, 2.0, 3.0)))
    assert re.fullmatch(r"-0\.\d+\*g\*\(M1 \+ M2\)", str(gantry.Q[0]))


@pytest.mark.parametrize("name", ["rrp", "planar"])
def test_sympy_finds_no_shorter_form(name: str) -> None:
    """SymPy's trigonometric simplification leaves as many operations, or more."""
    form = dyn_core.expanded_lagrange(planar_arm(3) if name == "planar" else example(name))
    entries = [entry for matrix in matrices(form) for entry in matrix]
    found = [sympy.trigsimp(sympy.expand(entry)) for entry in entries]
    assert sum(map(sympy.count_ops, entries)) <= sum(map(sympy.count_ops, found))


def values(form: dyn_core.ExpandedLagrange, robot: dyn_core.Robot, q: np.ndarray) -> dict:
    """Values of the symbols at a position, with definitions."""
    found = {f"q{j}": float(x) for j, x in zip(form.coordinates, q, strict=True)} | dict(form.values)
    standard = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    for name, text in form.definitions:
        value = eval(text, {"__builtins__": {}}, standard | found)
        assert found.setdefault(name, value) == pytest.approx(value, rel=1e-9, abs=1e-12)
    return {s(name): value for name, value in found.items()}


@pytest.mark.parametrize(("base_parameters", "numbers"), FORMS)
@examples(25, 8)
@given(seed=st.integers(0, 2**32 - 1))
@hypothesis.example(seed=84623)
def test_values_agree_with_the_model(base_parameters: bool, numbers: bool, seed: int) -> None:
    """Random trees with at most three joints, some of them mimic joints.

    Seed 84623 gives coefficients that are nearly equal.
    """
    robot = dyn_core.load_robot((random_urdf if seed % 2 else random_driven_urdf)(seed, 3))
    hypothesis.assume(robot.dof > 0)
    assert_same_values(robot, base_parameters, numbers, seed)


@pytest.mark.parametrize("joints", some([3, 4], 3))
def test_chains(joints: int) -> None:
    assert_same_values(dyn_core.load_robot(random_urdf(7, joints, chain=True)), True, False, 0)


EXAMPLES = ("five_bar", "rrp", "sdt")  # Example robots of at most four joints; five_bar without its loop


@pytest.mark.parametrize(("base_parameters", "numbers"), FORMS)
@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (1.0, 2.0, -3.0)])
@pytest.mark.parametrize("name", EXAMPLES)
def test_torques_of_the_example_robots_with_30_digits(name, gravity, base_parameters, numbers) -> None:
    """Evaluated by mpmath, they agree with inverse dynamics to 1e-10 N m."""
    robot = example(name, gravity=gravity)
    form = dyn_core.expanded_lagrange(robot, base_parameters, numbers)
    q, qd, qdd = np.random.default_rng(5).uniform(-2.0, 2.0, (3, robot.dof))
    at = values(form, robot, q)
    with mpmath.workdps(30):
        given = [mpmath.mpf(value) for value in at.values()]
        A, B, C, Q = (
            np.reshape(sympy.lambdify(list(at), matrix.tolist(), "mpmath")(*given), matrix.shape)
            for matrix in matrices(form)
        )
        j, k = np.triu_indices(robot.dof, 1)
        torques = A @ qdd + B @ (qd[j] * qd[k]) + C @ qd**2 + Q[:, 0]
    expected = dyn_core.compile_model(robot, backend="python", friction=False).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torques.astype(float), expected, rtol=0, atol=1e-10)


def test_all_example_robots_that_can_be_expanded_are_tested() -> None:
    joints = {path.stem: len(dyn_core.load_robot(path).joints) for path in ROBOTS.glob("*.urdf")}
    assert {name for name, count in joints.items() if count <= 4} == set(EXAMPLES)


def assert_same_values(robot: dyn_core.Robot, base_parameters: bool, numbers: bool, seed: int) -> None:
    form = dyn_core.expanded_lagrange(robot, base_parameters, numbers)
    assert not (numbers and form.values)
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, robot.dof)
    expected = dyn_core.compile_model(robot, backend="python").lagrange_terms(q)
    at = values(form, robot, q)
    for matrix, other in zip(matrices(form), expected, strict=True):
        ours = np.reshape(sympy.lambdify(list(at), matrix.tolist(), "math")(*at.values()), other.shape)
        scale = max(1e-3, np.abs(other).max(initial=0.0))
        np.testing.assert_allclose(ours, other, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", ["rrp", "planar"])
def test_coefficients_are_derivatives_of_the_inertia_matrix(name: str) -> None:
    """(A2.2), (A2.3) and dA/dt - 2 H by SymPy's derivatives and simplification."""
    form = dyn_core.expanded_lagrange(planar_arm(3) if name == "planar" else example(name))
    q, qd, n = s("q1 q2 q3"), s("qd1 qd2 qd3"), range(3)
    A = form.A

    def zero(value) -> bool:
        return sympy.simplify(sympy.expand_trig(value)) == 0

    for i in n:
        for column, (j, k) in enumerate(combinations(n, 2)):
            rates = A[i, j].diff(q[k]) + A[i, k].diff(q[j]) - A[j, k].diff(q[i])
            assert zero(form.B[i, column] - rates)
        assert all(zero(form.C[i, j] - A[i, j].diff(q[j]) + A[j, j].diff(q[i]) / 2) for j in n)
    rate = sum((A.diff(x) * v for x, v in zip(q, qd, strict=True)), sympy.zeros(3, 3))
    skew = rate - 2 * form.coriolis_matrix
    assert all(zero(entry) for entry in skew + skew.T)


def test_angle_offsets_are_symbols() -> None:
    """An angle that is not 0 at q = 0 is one symbol instead of a sum of sines with numeric factors."""
    text = planar_urdf(3).replace('xyz="0.7 0 0"', 'xyz="0.7 0.4 0"')
    form = dyn_core.expanded_lagrange(dyn_core.load_robot(text, gravity=(0.0, -9.81, 0.0)), True)
    assert form.definitions[0] == ("th2", f"q2 + {math.atan2(0.4, 0.7):.15g}")
    assert str(form.Q[2]) == "MX3*g*cos(q1 + q3 + th2) - MY3*g*sin(q1 + q3 + th2)"


def test_robots_that_cannot_be_expanded_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("expanded-form-too-large", robot="rx90", count=6):
        dyn_core.expanded_lagrange(example("rx90"))
    monkeypatch.setitem(sys.modules, "sympy", None)
    with refused("sympy-missing"):
        dyn_core.expanded_lagrange(planar_arm())


def value_of(product: Product, at: dict[str, float]) -> float:
    factors = ((kind, sum(float(m) * at[name] for name, m in angle)) for kind, angle in product.factors)
    return product.coefficient * math.prod(getattr(math, kind)(angle) for kind, angle in factors)


def test_expanded_products_have_the_value_of_the_sum() -> None:
    """Random sums of products of up to three cosines and sines of three angles."""
    random = Random(3)
    at = {name: random.uniform(-3.0, 3.0) for name in "abc"}
    for _ in range(300):
        total: Harmonics | float = 0.0
        expected = 0.0
        for _ in range(random.randint(1, 3)):
            term: Harmonics | float = float(random.randint(1, 2))
            value = term
            for _ in range(random.randint(1, 3)):
                kind = random.choice(("cos", "sin"))
                factors = [random.choice((-1.0, 1.0, 2.0)) for _ in range(random.randint(1, 2))]
                chosen = dict(zip(random.sample("abc", len(factors)), factors, strict=True))
                term = term * getattr(sum(m * variable(name) for name, m in chosen.items()), kind)()
                value *= getattr(math, kind)(sum(m * at[name] for name, m in chosen.items()))
            total, expected = total + term, expected + value
        products = by_power(total, 1e-12).get((), [])
        assert sum(value_of(product, at) for product in products) == pytest.approx(expected, abs=1e-12)


ONE_PRODUCT = (
    *("cos(a)*cos(a) + sin(a)*sin(a)", "cos(a)*cos(b) - sin(a)*sin(b)", "cos(a)*cos(a) - sin(a)*sin(a)"),
    *("sin(a)*sin(a)", "cos(a)*cos(a + b)", "cos(a)*cos(b)*cos(c)", "cos(a)*cos(a)*sin(b)"),
)


@pytest.mark.parametrize("text", [*ONE_PRODUCT, "cos(a) + cos(b)", "sin(a) + cos(a)"])
def test_few_products_remain(text: str) -> None:
    names = {name: variable(name) for name in "abc"}
    waves = {kind: methodcaller(kind) for kind in ("cos", "sin")}
    assert len(by_power(eval(text, waves | names), 1e-12)[()]) == (1 if text in ONE_PRODUCT else 2)
