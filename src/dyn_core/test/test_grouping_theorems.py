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
SKEW: list[Row] = [
    (0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (1, 0, 0.4, 0.1, 1.1, 0.2, 0.0, 0.3),
    (2, 0, -0.7, 0.2, 0.5, 0.3, 0.0, -0.1),
]
"""Three revolute joints in general position: behind them only the general relations hold."""


class Grouping:
    """The base parameters of a robot of a table, asked for parameters by name."""

    def __init__(self, rows: list[Row], gravity: tuple[float, float, float] = DOWN) -> None:
        self.robot = robot_of(rows, gravity)
        self.found = dyn_core.base_parameters(self.robot)

    def of(self, parameters: dict[str, float]) -> np.ndarray:
        """Base parameters of these standard parameters, the others 0."""
        return self.found.values(dict.fromkeys(self.found.standard_names, 0.0) | parameters)

    def assert_replaced(self, name: str, by: dict[str, float]) -> None:
        np.testing.assert_allclose(self.of({name: 1.0}), self.of(by), rtol=0.0, atol=1e-12, err_msg=name)


def position(row: Row) -> tuple[float, float, float]:
    """Eq. (4.15)."""
    _, _, gamma, b, alpha, d, _, r = row
    return (
        d * cos(gamma) + r * sin(gamma) * sin(alpha),
        d * sin(gamma) - r * cos(gamma) * sin(alpha),
        r * cos(alpha) + b,
    )


@pytest.mark.parametrize("antecedent", [1, 2, 3])
def test_theorem_1(antecedent: int) -> None:
    """Eq. (4.14): YY, MZ and M of a revolute link, on any branch."""
    row: Row = (antecedent, 0, 0.6, -0.2, 0.9, 0.25, 0.0, 0.35)
    grouping = Grouping([*SKEW, row])
    g, alpha, i = row[2], row[4], antecedent
    Px, Py, Pz = position(row)
    Sg, Cg, Sa, Ca = sin(g), cos(g), sin(alpha), cos(alpha)
    grouping.assert_replaced(
        "YY4",
        {
            "XX4": -1.0,
            f"XX{i}": 1.0 - Sg**2 * Sa**2,
            f"XY{i}": Cg * Sg * Sa**2,
            f"XZ{i}": -Sg * Ca * Sa,
            f"YY{i}": 1.0 - Cg**2 * Sa**2,
            f"YZ{i}": Cg * Ca * Sa,
            f"ZZ{i}": Sa**2,
        },
    )
    grouping.assert_replaced(
        "MZ4",
        {
            f"XX{i}": 2.0 * (Pz * Ca - Py * Cg * Sa),
            f"XY{i}": Px * Cg * Sa - Py * Sg * Sa,
            f"XZ{i}": -Px * Ca - Pz * Sg * Sa,
            f"YY{i}": 2.0 * (Px * Sg * Sa + Pz * Ca),
            f"YZ{i}": -Py * Ca + Pz * Cg * Sa,
            f"ZZ{i}": 2.0 * (Px * Sg * Sa - Py * Cg * Sa),
            f"MX{i}": Sg * Sa,
            f"MY{i}": -Cg * Sa,
            f"MZ{i}": Ca,
        },
    )
    grouping.assert_replaced(
        "M4",
        {
            f"XX{i}": Py**2 + Pz**2,
            f"XY{i}": -Px * Py,
            f"XZ{i}": -Px * Pz,
            f"YY{i}": Px**2 + Pz**2,
            f"YZ{i}": -Py * Pz,
            f"ZZ{i}": Px**2 + Py**2,
            f"MX{i}": Px,
            f"MY{i}": Py,
            f"MZ{i}": Pz,
            f"M{i}": 1.0,
        },
    )
    assert [name for name in grouping.found.kept if name.endswith("4")] == [
        *("XX4", "XY4", "XZ4", "YZ4", "ZZ4", "MX4", "MY4", "Ia4")
    ]


def test_theorem_1_of_chains() -> None:
    """Eq. (3.91), with gamma = b = 0."""
    d, r, alpha = 0.3, -0.2, 0.8
    grouping = Grouping([*SKEW, (3, 0, 0.0, 0.0, alpha, d, 0.0, r)])
    S, C = sin(alpha), cos(alpha)
    grouping.assert_replaced("YY4", {"XX4": -1.0, "XX3": 1.0, "YY3": C * C, "YZ3": C * S, "ZZ3": S * S})
    grouping.assert_replaced(
        "MZ4",
        {
            "XX3": 2 * r,
            "XY3": d * S,
            "XZ3": -d * C,
            "YY3": 2 * r * C * C,
            "YZ3": 2 * r * C * S,
            "ZZ3": 2 * r * S * S,
            "MY3": -S,
            "MZ3": C,
        },
    )
    grouping.assert_replaced(
        "M4",
        {
            "XX3": r * r,
            "XY3": d * r * S,
            "XZ3": -d * r * C,
            "YY3": d * d + r * r * C * C,
            "YZ3": r * r * C * S,
            "ZZ3": d * d + r * r * S * S,
            "MX3": d,
            "MY3": -r * S,
            "MZ3": r * C,
            "M3": 1.0,
        },
    )


@pytest.mark.parametrize("antecedent", [2, 3])
def test_theorem_2(antecedent: int) -> None:
    """Eq. (4.16): the inertia of a prismatic link, turned by the rotation of eq. (1.3)."""
    row: Row = (antecedent, 1, 0.6, -0.2, 0.9, 0.25, 0.4, 0.0)
    grouping = Grouping([*SKEW, row])
    (_, _, gamma, _, alpha, _, theta, _), i = row, antecedent

    def about_z(t: float) -> np.ndarray:
        return np.array([[cos(t), -sin(t), 0.0], [sin(t), cos(t), 0.0], [0.0, 0.0, 1.0]])

    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cos(alpha), -sin(alpha)], [0.0, sin(alpha), cos(alpha)]])
    A = about_z(gamma) @ about_x @ about_z(theta)
    for name, (k, m) in {
        "XX": (0, 0),
        "XY": (0, 1),
        "XZ": (0, 2),
        "YY": (1, 1),
        "YZ": (1, 2),
        "ZZ": (2, 2),
    }.items():
        J = np.zeros((3, 3))
        J[k, m] = J[m, k] = 1.0
        J = A @ J @ A.T
        entries = dict(zip(("XX", "XY", "XZ", "YY", "YZ", "ZZ"), J[np.triu_indices(3)].tolist(), strict=True))
        grouping.assert_replaced(f"{name}4", {f"{key}{i}": value for key, value in entries.items()})
    assert [name for name in grouping.found.kept if name.endswith("4")] == ["MX4", "MY4", "MZ4", "M4", "Ia4"]


def test_theorem_2_of_chains() -> None:
    """Theorem 2 of 3.5.2.2, row by row as printed there."""
    alpha, theta = 0.9, 0.4
    grouping = Grouping([*SKEW, (3, 1, 0.0, 0.0, alpha, 0.25, theta, 0.0)])
    C, S = cos(theta), sin(theta)
    CC, SS, CS, twice = C * C, S * S, C * S, C * C - S * S
    Ca, Sa = cos(alpha), sin(alpha)
    CCa, SSa, CSa = Ca * Ca, Sa * Sa, Ca * Sa
    columns = ("XX4", "XY4", "XZ4", "YY4", "YZ4", "ZZ4")
    rows = {
        "XX3": (CC, -2 * CS, 0.0, SS, 0.0, 0.0),
        "XY3": (CS * Ca, twice * Ca, -C * Sa, -CS * Ca, S * Sa, 0.0),
        "XZ3": (CS * Sa, twice * Sa, C * Ca, -CS * Sa, -S * Ca, 0.0),
        "YY3": (SS * CCa, 2 * CS * CCa, -2 * S * CSa, CC * CCa, -2 * C * CSa, SSa),
        "YZ3": (SS * CSa, 2 * CS * CSa, S * (CCa - SSa), CC * CSa, C * (CCa - SSa), -CSa),
        "ZZ3": (SS * SSa, 2 * CS * SSa, 2 * S * CSa, CC * SSa, 2 * C * CSa, CCa),
    }
    for k, name in enumerate(columns):
        grouping.assert_replaced(name, {into: row[k] for into, row in rows.items()})


@pytest.mark.parametrize(
    ("alpha", "theta", "eliminated"),
    [
        (0.7, 0.4, "MZ3"),  # the axis of joint 1 has a component along z_3
        (ANGLE, 0.4, "MY3"),  # none along z_3
        (ANGLE, 0.0, "MY3"),  # along y_3
        (ANGLE, ANGLE, "MX3"),  # along x_3
    ],
)
@pytest.mark.parametrize("gravity", [DOWN, (3.0, 4.0, 5.0)])
def test_theorem_3a(alpha: float, theta: float, eliminated: str, gravity: tuple[float, float, float]) -> None:
    """Eqs. (3.92), (4.17), tables 3.2 and 4.1: a slide between r1 and r2 that is not parallel to r1."""
    rows: list[Row] = [
        (0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (1, 0, 0.2, 0.0, 0.0, 0.3, 0.0, 0.1),
        (2, 1, 0.5, 0.1, alpha, 0.2, theta, 0.0),
        (3, 0, 0.1, 0.0, 0.8, 0.1, 0.0, 0.0),
    ]
    grouping = Grouping(rows, gravity)
    a = (sin(theta) * sin(alpha), cos(theta) * sin(alpha), cos(alpha))  # of r1, in frame 3
    named = dict(zip(("MX3", "MY3", "MZ3"), a, strict=True))
    np.testing.assert_allclose(grouping.of(named), 0.0, atol=1e-12)
    assert eliminated not in grouping.found.kept
    assert {"MX3", "MY3", "MZ3"} - {eliminated} < set(grouping.found.kept)
    if eliminated == "MZ3":
        grouping.assert_replaced("MZ3", {"MX3": -a[0] / a[2], "MY3": -a[1] / a[2]})
    if theta in (0.0, ANGLE):
        assert eliminated in grouping.found.no_effect


def test_theorem_3b() -> None:
    """Eqs. (3.94) and (4.18): slides that are parallel to r1, behind one that is and one that is not.

    In (4.18) the term of b in the last coefficient has the other sign than printed:
    ``2 (- d sin(theta) + b cos(theta) sin(alpha))``, which is twice the distance along y_j.
    """
    g, b, alpha, d, theta = 0.5, 0.1, -0.7, 0.2, 0.4
    rows: list[Row] = [
        (0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (1, 1, 0.0, 0.0, -alpha, 0.3, -g, 0.0),  # z_1 is in the plane of y_2 and z_2, turned by g
        (2, 1, g, b, alpha, d, theta, 0.0),  # and parallel to z_3
        (3, 0, 0.0, 0.0, 1.0, 0.3, 0.0, 0.1),
    ]
    grouping = Grouping(rows, (1.0, 2.0, 3.0))
    assert "MZ3" in grouping.found.no_effect
    C, S, Cg, Sg, Ca, Sa = cos(theta), sin(theta), cos(g), sin(g), cos(alpha), sin(alpha)
    grouping.assert_replaced(
        "MX3",
        {
            "MX2": Cg * C - Sg * Ca * S,
            "MY2": Sg * C + Cg * Ca * S,
            "MZ2": S * Sa,
            "ZZ1": 2 * (d * C + b * S * Sa),
        },
    )
    grouping.assert_replaced(
        "MY3",
        {
            "MX2": -(Cg * S + Sg * Ca * C),
            "MY2": -Sg * S + Cg * Ca * C,
            "MZ2": C * Sa,
            "ZZ1": 2 * (-d * S + b * C * Sa),
        },
    )


def test_rules_4_to_6() -> None:
    """Links before r2: a mass before r1, then ZZ, MX and MY, and ZZ alone about an axis along gravity."""
    rows = chain(
        (1, ANGLE, 0.0, 0.0), (1, ANGLE, 0.2, 0.0), (0, 0.4, 0.1, 0.0), (0, 0.0, 0.3, 0.0), (0, 1.0, 0.2, 0.1)
    )
    found = Grouping(rows).found
    assert [name for name in found.kept if name[-1] in "1234" and not name.startswith("Ia")] == [
        *("M1", "M2", "ZZ3", "MX3", "MY3", "ZZ4", "MX4", "MY4")
    ]
    upright = Grouping(chain((0, 0.0, 0.0, 0.0), (0, 0.0, 0.3, 0.0), (0, 1.0, 0.2, 0.1))).found
    assert [name for name in upright.kept if name[-1] in "12"] == ["ZZ1", "ZZ2", "MX2", "MY2", "Ia2"]
    along = Grouping(chain((0, 0.0, 0.0, 0.0), (0, 0.0, 0.0, 0.2), (0, 1.0, 0.2, 0.1))).found
    assert [name for name in along.kept if name[-1] in "12"] == ["ZZ1", "ZZ2", "Ia2"]


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
    """No theorem: two slides in a level plane move M1 + M2 and M2; the rotors go with these."""
    found = Grouping(
        chain((1, ANGLE, 0.0, 0.0), (1, ANGLE, 0.0, 0.0), (0, ANGLE, 0.1, 0.0)), (0.0, 0.0, 0.0)
    ).found
    by_name = {text.split(" = ")[0]: text for text in found.expressions}
    assert by_name["MR2"] == "MR2 = M2 + Ia2 + M3"
    assert by_name["MR1"] == "MR1 = M1 + Ia1 - Ia2"


def test_a_pendulum() -> None:
    """The bounds of theorems 4 and 5 allow two parameters; across gravity there are three."""
    across = Grouping(chain((0, 0.0, 0.0, 0.0)), (9.81, 0.0, 0.0))
    assert across.found.expressions == ("ZZR1 = ZZ1 + Ia1", "MX1 = MX1", "MY1 = MY1")
    assert Grouping(chain((0, 0.0, 0.0, 0.0))).found.expressions == ("ZZR1 = ZZ1 + Ia1",)
