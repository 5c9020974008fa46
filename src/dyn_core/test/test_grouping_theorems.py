# SPDX-License-Identifier: Apache-2.0
"""The grouping relations that SYMORO+ 2003 prints, transcribed, against what the symbolic method finds.

A relation says that a parameter can be replaced by a combination of others: the base parameters of both
are the same.
"""

from __future__ import annotations

import math
from math import cos, sin

import numpy as np
import pytest
from geometric_tables import DOWN, Row, chain, robot_of

import dyn_core

ANGLE = math.pi / 2
FIRST: Row = (0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SKEW: list[Row] = [FIRST, (1, 0, 0.4, 0.1, 1.1, 0.2, 0.0, 0.3), (2, 0, -0.7, 0.2, 0.5, 0.3, 0.0, -0.1)]
"""Three revolute joints in general position: only the general relations hold for the bodies after them."""


class Grouping:
    """The base parameters of a robot from a table, by standard parameters."""

    def __init__(self, rows: list[Row], gravity: tuple[float, float, float] = DOWN) -> None:
        self.robot = robot_of(rows, gravity)
        self.found = dyn_core.base_parameters(self.robot)

    def of(self, parameters: dict[str, float]) -> np.ndarray:
        """Base parameters for these standard parameters, with all others 0."""
        return self.found.values(dict.fromkeys(self.found.standard_names, 0.0) | parameters)

    def assert_replaced(self, name: str, by: dict[str, float]) -> None:
        np.testing.assert_allclose(self.of({name: 1.0}), self.of(by), rtol=0.0, atol=1e-12, err_msg=name)


BODY = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")


def of_body(i: int, *values: float) -> dict[str, float]:
    """Parameters of body i in the order of `BODY`."""
    return {f"{name}{i}": value for name, value in zip(BODY, values, strict=False)}


@pytest.mark.parametrize(
    "row",
    [
        *((antecedent, 0, 0.6, -0.2, 0.9, 0.25, 0.0, 0.35) for antecedent in (1, 2, 3)),
        (3, 0, 0.0, 0.0, 0.8, 0.3, 0.0, -0.2),  # for a chain: eq. (3.91)
    ],
)
def test_theorem_1(row: Row) -> None:
    """Eqs. (4.14), (4.15): YY, MZ and M of a revolute link, on any branch."""
    grouping = Grouping([*SKEW, row])
    i, _, g, b, alpha, d, _, r = row
    Sg, Cg, Sa, Ca = sin(g), cos(g), sin(alpha), cos(alpha)
    x, y, z = d * Cg + r * Sg * Sa, d * Sg - r * Cg * Sa, r * Ca + b
    inertia = (
        *(1.0 - Sg**2 * Sa**2, Cg * Sg * Sa**2, -Sg * Ca * Sa),
        *(1.0 - Cg**2 * Sa**2, Cg * Ca * Sa, Sa**2),
    )
    moment = (
        *(2.0 * (z * Ca - y * Cg * Sa), x * Cg * Sa - y * Sg * Sa, -x * Ca - z * Sg * Sa),
        *(2.0 * (x * Sg * Sa + z * Ca), -y * Ca + z * Cg * Sa, 2.0 * (x * Sg * Sa - y * Cg * Sa)),
        *(Sg * Sa, -Cg * Sa, Ca),
    )
    mass = (y**2 + z**2, -x * y, -x * z, x**2 + z**2, -y * z, x**2 + y**2, x, y, z, 1.0)
    grouping.assert_replaced("YY4", {"XX4": -1.0, **of_body(i, *inertia)})
    grouping.assert_replaced("MZ4", of_body(i, *moment))
    grouping.assert_replaced("M4", of_body(i, *mass))
    kept = [name for name in grouping.found.kept if name.endswith("4")]
    assert kept == [f"{name}4" for name in ("XX", "XY", "XZ", "YZ", "ZZ", "MX", "MY", "Ia")]


@pytest.mark.parametrize(
    "row",
    [
        *((antecedent, 1, 0.6, -0.2, 0.9, 0.25, 0.4, 0.0) for antecedent in (2, 3)),
        (3, 1, 0.0, 0.0, 0.9, 0.25, 0.4, 0.0),  # for a chain: theorem 2 of 3.5.2.2
    ],
)
def test_theorem_2(row: Row) -> None:
    """Eq. (4.16): the inertia of a prismatic link, turned by the rotation of eq. (1.3)."""
    grouping = Grouping([*SKEW, row])
    i, _, gamma, _, alpha, _, theta, _ = row

    def about_z(t: float) -> np.ndarray:
        return np.array([[cos(t), -sin(t), 0.0], [sin(t), cos(t), 0.0], [0.0, 0.0, 1.0]])

    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cos(alpha), -sin(alpha)], [0.0, sin(alpha), cos(alpha)]])
    A = about_z(gamma) @ about_x @ about_z(theta)
    for name, k, m in zip(BODY, *np.triu_indices(3), strict=False):
        J = np.zeros((3, 3))
        J[k, m] = J[m, k] = 1.0
        into = (A @ J @ A.T)[np.triu_indices(3)].tolist()
        grouping.assert_replaced(f"{name}4", of_body(i, *into))
    assert [name for name in grouping.found.kept if name.endswith("4")] == ["MX4", "MY4", "MZ4", "M4", "Ia4"]


@pytest.mark.parametrize(
    ("alpha", "theta", "eliminated"),
    [
        (0.7, 0.4, "MZ3"),  # the axis of joint 1 has a component along z_3
        (ANGLE, 0.4, "MY3"),  # no component along z_3
        (ANGLE, 0.0, "MY3"),  # along y_3
        (ANGLE, ANGLE, "MX3"),  # along x_3
    ],
)
@pytest.mark.parametrize("gravity", [DOWN, (3.0, 4.0, 5.0)])
def test_theorem_3a(alpha: float, theta: float, eliminated: str, gravity: tuple[float, float, float]) -> None:
    """Eqs. (3.92), (4.17), tables 3.2 and 4.1: a prismatic joint between r1 and r2, not parallel to r1."""
    revolute: list[Row] = [(1, 0, 0.2, 0.0, 0.0, 0.3, 0.0, 0.1), (3, 0, 0.1, 0.0, 0.8, 0.1, 0.0, 0.0)]
    grouping = Grouping([FIRST, revolute[0], (2, 1, 0.5, 0.1, alpha, 0.2, theta, 0.0), revolute[1]], gravity)
    a = (sin(theta) * sin(alpha), cos(theta) * sin(alpha), cos(alpha))  # axis of r1 in frame 3
    named = dict(zip(("MX3", "MY3", "MZ3"), a, strict=True))
    np.testing.assert_allclose(grouping.of(named), 0.0, atol=1e-12)
    assert eliminated not in grouping.found.kept
    assert {"MX3", "MY3", "MZ3"} - {eliminated} < set(grouping.found.kept)
    if eliminated == "MZ3":
        grouping.assert_replaced("MZ3", {"MX3": -a[0] / a[2], "MY3": -a[1] / a[2]})
    if theta in (0.0, ANGLE):
        assert eliminated in grouping.found.no_effect


def test_theorem_3b() -> None:
    """Eqs. (3.94) and (4.18): prismatic joints parallel to r1, behind a parallel and a not parallel one.

    In (4.18) the term of b in the last coefficient is printed with the wrong sign; it is
    ``2 (- d sin(theta) + b cos(theta) sin(alpha))``, which is twice the distance along y_j.
    """
    g, b, alpha, d, theta = 0.5, 0.1, -0.7, 0.2, 0.4
    rows: list[Row] = [
        FIRST,
        (1, 1, 0.0, 0.0, -alpha, 0.3, -g, 0.0),  # z_1 is in the plane of y_2 and z_2, turned by g
        (2, 1, g, b, alpha, d, theta, 0.0),  # and parallel to z_3
        (3, 0, 0.0, 0.0, 1.0, 0.3, 0.0, 0.1),
    ]
    grouping = Grouping(rows, (1.0, 2.0, 3.0))
    assert "MZ3" in grouping.found.no_effect
    C, S, Cg, Sg, Ca, Sa = cos(theta), sin(theta), cos(g), sin(g), cos(alpha), sin(alpha)
    distance = 2 * (d * C + b * S * Sa), 2 * (-d * S + b * C * Sa)
    x = {"MX2": Cg * C - Sg * Ca * S, "MY2": Sg * C + Cg * Ca * S, "MZ2": S * Sa, "ZZ1": distance[0]}
    y = {"MX2": -(Cg * S + Sg * Ca * C), "MY2": -Sg * S + Cg * Ca * C, "MZ2": C * Sa, "ZZ1": distance[1]}
    grouping.assert_replaced("MX3", x)
    grouping.assert_replaced("MY3", y)


def test_rules_4_to_6() -> None:
    """Links before r2: a mass before r1, then ZZ, MX and MY, and ZZ alone about an axis along gravity."""
    slides, arm = ((1, ANGLE, 0.0, 0.0), (1, ANGLE, 0.2, 0.0)), ((0, 0.4, 0.1, 0.0), (0, 0.0, 0.3, 0.0))
    found = Grouping(chain(*slides, *arm, (0, 1.0, 0.2, 0.1))).found
    kept = [name for name in found.kept if name[-1] in "1234" and not name.startswith("Ia")]
    assert kept == ["M1", "M2", "ZZ3", "MX3", "MY3", "ZZ4", "MX4", "MY4"]
    for d, r, expected in (
        (0.3, 0.0, ["ZZ1", "ZZ2", "MX2", "MY2", "Ia2"]),
        (0.0, 0.2, ["ZZ1", "ZZ2", "Ia2"]),
    ):
        found = Grouping(chain((0, 0.0, 0.0, 0.0), (0, 0.0, d, r), (0, 1.0, 0.2, 0.1))).found
        assert [name for name in found.kept if name[-1] in "12"] == expected


@pytest.mark.parametrize(
    ("alpha", "left"), [(0.0, {"Ia2", "Ia3"}), (0.7, {"Ia2", "Ia3"}), (ANGLE, {"Ia3"}), (-ANGLE, {"Ia3"})]
)
def test_theorem_4(alpha: float, left: set[str]) -> None:
    """Ia1 is grouped with ZZ1, and Ia2 with ZZ2 where the axes are perpendicular."""
    grouping = Grouping(chain((0, 0.0, 0.0, 0.0), (0, alpha, 0.2, 0.1), (0, 1.0, 0.2, 0.1)))
    assert {name for name in grouping.found.kept if name.startswith("Ia")} == left
    grouping.assert_replaced("Ia1", {"ZZ1": 1.0})
    if "Ia2" not in left:
        k = grouping.found.kept.index("ZZ2")
        assert grouping.of({"Ia2": 1.0})[k] == pytest.approx(1.0)


def test_rotors_of_a_cross_slide() -> None:
    """Without a theorem: two horizontal prismatic joints move M1 + M2 and M2.

    The rotors are grouped with these.
    """
    rows = chain((1, ANGLE, 0.0, 0.0), (1, ANGLE, 0.0, 0.0), (0, ANGLE, 0.1, 0.0))
    expressions = Grouping(rows, (0.0, 0.0, 0.0)).found.expressions
    assert {"MR2 = M2 + Ia2 + M3", "MR1 = M1 + Ia1 - Ia2"} <= {*expressions}


def test_a_pendulum() -> None:
    """The bounds of theorems 4 and 5 allow two parameters; a pendulum across gravity has three."""
    across = Grouping(chain((0, 0.0, 0.0, 0.0)), (9.81, 0.0, 0.0))
    assert across.found.expressions == ("ZZR1 = ZZ1 + Ia1", "MX1 = MX1", "MY1 = MY1")
    assert Grouping(chain((0, 0.0, 0.0, 0.0))).found.expressions == ("ZZR1 = ZZ1 + Ia1",)
