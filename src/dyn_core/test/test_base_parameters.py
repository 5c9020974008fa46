# SPDX-License-Identifier: Apache-2.0
"""Base parameters: counts, sets and formulas of known robots, and agreement of both methods."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from base_agreement import assert_methods_agree
from example_robots import EMPTY, descriptions
from geometric_tables import (
    AKR,
    GENERAL_6R,
    LWR,
    PANDA,
    PUMA,
    RX90,
    SR400,
    STANFORD,
    UR,
    Row,
    chain,
    robot_of,
    with_random_parameters,
)
from refusals import refused
from robots import example

import dyn_core
from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.algorithms.base_parameters.torque_effects import cross_inertia

FILES = descriptions()
ANGLE = math.pi / 2
BODY = ("XX", "XY", "XZ", "YZ", "ZZ", "MX", "MY")
"""Parameters that remain for a body behind a revolute joint in general position."""


def bodies(*links: int) -> list[str]:
    return [f"{name}{j}" for j in links for name in BODY]


def inertial(found: dyn_core.BaseParameters) -> list[str]:
    return [name for name in found.kept if not name.startswith("Ia")]


def rotors(found: dyn_core.BaseParameters) -> list[str]:
    return [name for name in found.kept if name.startswith("Ia")]


COUNTS = {
    "rx90": (RX90, 36, 40),
    "puma": (PUMA, 36, 40),
    "stanford": (STANFORD, 33, 37),
    "lwr": (LWR, 43, 48),
    "panda": (PANDA, 43, 48),
    "ur": (UR, 36, 40),
    "sr400": (SR400, 50, 55),
    "akr-3000": (AKR, 58, 64),
    "general 6R": (GENERAL_6R, 36, 41),  # joints 1 and 2 are not perpendicular: theorem 4 holds only for Ia1
}


@pytest.mark.parametrize(("table", "of_bodies", "with_rotors"), COUNTS.values(), ids=COUNTS)
def test_counts(table: list[Row], of_bodies: int, with_rotors: int) -> None:
    robot = robot_of(table)
    found = assert_methods_agree(robot)
    assert (len(inertial(found)), len(found.kept)) == (of_bodies, with_rotors)
    without = dyn_core.base_parameters(robot, rotor_inertia=False)
    assert list(without.kept) == inertial(found)
    assert not any("Ia" in name for name in without.standard_names)


def test_the_set_of_rx90() -> None:
    """Grouped by hand by the theorems of SYMORO+ 2003, sec. 3.5.2.2, with D3 = 0.45 and RL4 = 0.48."""
    found = dyn_core.base_parameters(robot_of(RX90))
    assert inertial(found) == ["ZZ1", *bodies(2, 3, 4, 5, 6)]
    assert rotors(found) == ["Ia3", "Ia4", "Ia5", "Ia6"]
    masses = {j: " + ".join(f"{{0}}*M{k}" for k in range(j, 7)) for j in (3, 4)}
    square3, square4 = masses[3].format(0.2025), masses[4].format(0.2304)
    minus3 = square3.replace(" + ", " - ")
    changed = {
        f"ZZR1 = ZZ1 + Ia1 + YY2 + YY3 + {square3}",
        f"XXR2 = XX2 - YY2 - {minus3}",
        "XZR2 = XZ2 - 0.45*MZ3",
        f"ZZR2 = ZZ2 + Ia2 + {square3}",
        f"MXR2 = MX2 + {masses[3].format(0.45)}",
        f"XXR3 = XX3 - YY3 + YY4 + 0.96*MZ4 + {square4}",
        f"ZZR3 = ZZ3 + YY4 + 0.96*MZ4 + {square4}",
        f"MYR3 = MY3 + MZ4 + {masses[4].format(0.48)}",
        *("XXR4 = XX4 - YY4 + YY5", "ZZR4 = ZZ4 + YY5", "MYR4 = MY4 - MZ5", "XXR5 = XX5 - YY5 + YY6"),
        *("ZZR5 = ZZ5 + YY6", "MYR5 = MY5 + MZ6", "XXR6 = XX6 - YY6"),
    }
    assert {e for e in found.expressions if e.split(" = ")[0] not in found.standard_names} == changed
    assert found.no_effect == ("XX1", "XY1", "XZ1", "YY1", "YZ1", "MX1", "MY1", "MZ1", "M1", "MZ2", "M2")
    assert set(found.grouped) == {
        *("Ia1", "Ia2", "YY2", "YY3", "MZ3", "M3", "YY4", "MZ4", "M4", "YY5", "MZ5", "M5", "YY6", "MZ6", "M6")
    }
    assert found.grouped["MZ3"] == ("XZR2",)
    # On a moving base each joint has seven parameters and all rotors: the first body is like the others.
    found = assert_methods_agree(robot_of(RX90), "moving")
    assert (inertial(found), len(rotors(found))) == (bodies(1, 2, 3, 4, 5, 6), 6)


def test_the_set_of_the_stanford_arm() -> None:
    found = dyn_core.base_parameters(robot_of(STANFORD))
    assert inertial(found) == ["ZZ1", *bodies(2), "MX3", "MY3", "MZ3", "M3", *bodies(4, 5, 6)]
    assert rotors(found) == ["Ia3", "Ia4", "Ia5", "Ia6"]


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
@pytest.mark.parametrize("mount", ["fixed", "tilted", "moving"])
def test_our_robots(name: str, mount: str) -> None:
    assert_methods_agree(example(name), mount)


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES or [Path()], ids=lambda path: path.name)
def test_example_robots(path: Path) -> None:
    if path.name in EMPTY:
        pytest.skip("it has no link")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robots = [dyn_core.load_robot(path), dyn_core.load_robot(path, mimic=False)]
    for robot in robots if robots[0].dof < robots[1].dof else robots[:1]:
        for mount in ("fixed", "tilted", "moving"):
            assert_methods_agree(robot, mount)


@pytest.mark.parametrize(
    ("table", "gravity"),
    [
        (chain((0, 0.0, 0.0, 0.0), (1, 0.0, 0.2, 0.0), (0, ANGLE, 0.1, 0.0)), (1.0, 2.0, 3.0)),
        (chain((1, 0.3, 0.0, 0.0), (1, ANGLE, 0.0, 0.0), (0, 0.0, 0.2, 0.0)), (0.0, 0.0, -9.81)),
        (chain((1, ANGLE, 0.0, 0.0), (1, ANGLE, 0.0, 0.0), (1, ANGLE, 0.0, 0.0)), (0.0, 0.0, 0.0)),
    ],
)
def test_gravity_and_rotors_near_the_base(table: list[Row], gravity: tuple[float, float, float]) -> None:
    for mount in ("fixed", "tilted", "moving"):
        assert_methods_agree(robot_of(table, gravity), mount)


def test_first_axes_along_gravity_and_across_it() -> None:
    """MX1 and MY1 matter where the first axis is not along gravity (rule 5)."""
    upright = dyn_core.base_parameters(robot_of(RX90))
    tilted = dyn_core.base_parameters(robot_of(RX90, gravity=(1.0, 0.0, -9.0)))
    assert set(tilted.kept) - set(upright.kept) == {"MX1", "MY1"}
    assert dyn_core.base_parameters(robot_of(RX90), mount="tilted").kept == tilted.kept
    # Theorem 4: Ia1 is grouped with M1 where the first joint slides perpendicular to gravity; otherwise it is
    # kept.
    table = chain((1, 0.0, 0.0, 0.0), (0, ANGLE, 0.2, 0.0))
    assert "Ia1" in dyn_core.base_parameters(robot_of(table)).kept
    level = dyn_core.base_parameters(robot_of(table, gravity=(0.0, 9.81, 0.0)))
    assert "Ia1" not in level.kept
    assert level.expressions[0] == "MR1 = M1 + Ia1 + M2"


def test_repr_shapes_and_unknown_choices() -> None:
    robot = example("rx90")
    found = dyn_core.base_parameters(robot)
    assert repr(found) == "<40 base parameters of 'rx90', symbolic>"
    assert len(found.names) == len(found.expressions) == 40
    assert found.matrix.shape == (40, len(found.standard_names)) == (40, 66)
    assert set(found.standard_names) < set(robot.parameter_names)
    with pytest.raises(ValueError, match="read-only"):
        found.matrix[0, 0] = 1.0
    methods, mounts = "'symbolic' or 'numeric'", "'fixed', 'tilted' or 'moving'"
    for argument, known in (("method", methods), ("mount", mounts)):
        with refused("argument-choice-unknown", argument=argument, known=known, given="magic"):
            dyn_core.base_parameters(robot, **{argument: "magic"})


def test_loops_that_are_open_at_zero_are_refused() -> None:
    loop = {"name": "rod", "type": "revolute", "parent": {"link": "elbow"}, "child": {"link": "base_link"}}
    robot = example("rx90", loops={"loops": [loop]})
    for method in ("symbolic", "numeric"):
        with refused("loops-open-at-zero", robot="rx90"):
            dyn_core.base_parameters(robot, method)


def test_a_seed_gives_the_same_numbers_and_dynamic_parameters_do_not_matter() -> None:
    robot = robot_of(PUMA)
    one, again = (dyn_core.base_parameters(robot, "numeric", seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.matrix, again.matrix)
    other = with_random_parameters(robot, 9)
    assert dyn_core.base_parameters(robot).expressions == dyn_core.base_parameters(other).expressions


def test_robots_without_motion_have_no_base_parameters() -> None:
    """First a joint that mimics a fixed one with multiplier 0, then a robot without joints."""
    robot = dyn_core.load_robot(
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="j1" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j2" type="continuous"><parent link="b"/><child link="c"/>'
        '<mimic joint="j1" multiplier="0"/></joint></robot>'
    )
    assert (robot.dof, len(robot.joints)) == (0, 1)
    found = assert_methods_agree(robot)
    assert (found.kept, len(found.no_effect)) == ((), 11)
    robot = dyn_core.load_robot('<robot name="r"><link name="a"/></robot>')
    for method in ("symbolic", "numeric"):
        assert dyn_core.base_parameters(robot, method).matrix.shape == (0, 0)


@pytest.mark.parametrize(
    "table", [RX90, PANDA, STANFORD, GENERAL_6R], ids=["rx90", "panda", "stanford", "6R"]
)
@pytest.mark.parametrize("mount", ["fixed", "moving"])
@pytest.mark.parametrize("symbols", [False, True], ids=["numbers", "symbols"])
def test_text_and_matrix_have_the_same_values(table: list[Row], mount: str, symbols: bool) -> None:
    robot = robot_of(table)
    found = dyn_core.base_parameters(robot, mount=mount, symbols=symbols)
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    values, tolerance = found.values(known), {"rel": 1e-12, "abs": 1e-13}
    if symbols:
        tolerance = {"rel": 1e-11, "abs": 1e-11}
        known |= found.lengths
        assert set(found.lengths) >= set(re.findall(r"\b[bdr]\d", " ".join(found.expressions)))
    for name, expression, value in zip(found.names, found.expressions, values, strict=True):
        left, right = expression.split(" = ")
        assert left == name
        assert re.fullmatch(r"[\w.*+\- ()]+" if symbols else r"[\w.*+\- ]+", right)
        assert eval(right, {}, known) == pytest.approx(value, **tolerance)


def test_symbols_of_rx90_are_those_of_the_seeds() -> None:
    found = dyn_core.base_parameters(robot_of(RX90), symbols=True)
    assert found.lengths == {"d3": 0.45, "r4": 0.48}
    assert {
        "ZZR2 = ZZ2 + Ia2 + d3**2*M3 + d3**2*M4 + d3**2*M5 + d3**2*M6",
        "XXR3 = XX3 - YY3 + YY4 + 2*r4*MZ4 + r4**2*M4 + r4**2*M5 + r4**2*M6",
    } <= set(found.expressions)
    panda = dyn_core.base_parameters(robot_of(PANDA), symbols=True, rotor_inertia=False).expressions
    assert "MYR2 = MY2 - MZ3 - r3*M3 - r3*M4 - r3*M5 - r3*M6 - r3*M7" in panda
    assert "XYR4 = XY4 - d5*MZ5 - d5*r5*M5 - d5*r5*M6 - d5*r5*M7" in panda
    assert any(text.startswith("XXR4 = ") and "(r5**2 - d5**2)*M5" in text for text in panda)
    with refused("symbols-need-symbolic-method"):
        dyn_core.base_parameters(robot_of(RX90), "numeric", symbols=True)


def test_the_inertia_between_two_twists() -> None:
    """It is a product with the spatial inertia about the origin, which has ten parameters."""
    random = np.random.default_rng(0)
    a, b, K = random.normal(size=(4, 6)), random.normal(size=(1, 6)), random.normal(size=10)
    XX, XY, XZ, YY, YZ, ZZ, *MS, M = K
    J = np.array([[XX, XY, XZ], [XY, YY, YZ], [XZ, YZ, ZZ]])
    S = np.cross(np.eye(3), MS)  # v S = v x MS
    inertia = np.block([[M * np.eye(3), S.T], [S, J]])
    np.testing.assert_allclose(cross_inertia(a, b) @ K, a @ inertia @ b[0], rtol=1e-12)


def test_columns_of_zeros_are_not_independent() -> None:
    assert dependent_columns(np.zeros((4, 2))).columns == ()
