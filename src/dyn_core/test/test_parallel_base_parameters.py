# SPDX-License-Identifier: Apache-2.0
"""Base parameters of parallel robots: numbers of the paper, two methods, and their use."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from depth import each, some
from parallel_cases import NAMES, case, motions
from refusals import refused

import dyn_core
from dyn_core.algorithms.parallel import parallel_base_parameters as grouping
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.algorithms.parallel.parallel_structure import parallel_robot
from dyn_core.robot.dynamic_parameters import INERTIAL
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.robot.mdh.direct_geometry import body_placements
from dyn_core.symbolic.transform import compose, inverse

# Of the three bodies of a leg: Khalil-Guegan 2004, tables III and II
ESSENTIAL = (("ZZ",), ("XX", "ZZ", "MY"), ("MX", "MY", "MZ"))
TABLE_II = (("ZZ", "MX", "MY"), ("XX", "XY", "XZ", "YZ", "ZZ", "MX", "MY"), ("MX", "MY", "MZ"))
FEW = (("fixed", "delta"), ("tilted", "delta"), ("fixed", "gough_stewart"), ("tilted", "planar"))


@cache
def structure(name: str):
    return parallel_robot(case(name).load(), "platform")


def of_legs(robot: ParallelRobot, table: tuple[tuple[str, ...], ...]) -> list[str]:
    """Names of parameters of the bodies of all legs."""
    bodies = (pair for leg in robot.legs for pair in zip(leg.bodies, table, strict=True))
    return [f"{name}{j}" for j, names in bodies for name in names]


def essential_robot() -> dyn_core.Robot:
    """A Gough-Stewart robot with 52 base parameters that are not 0, without friction and rotors."""
    grouped = grouping.with_parallel_base_parameters(structure("gough_stewart"))
    names = set(grouped.robot.parameter_names) - set(of_legs(grouped, ESSENTIAL))
    zeros = {name: 0.0 for name in names if not re.fullmatch(f"[A-Z]+{grouped.body}", name)}
    return grouped.robot.with_parameters(zeros)


def test_the_gough_stewart_robot_has_the_parameters_of_table_2() -> None:
    found = dyn_core.parallel_base_parameters(case("gough_stewart").load(), "platform", rotor_inertia=False)
    assert len(found.standard_names) == 190
    assert (len(found.kept), found.of_platform, found.of_legs) == (88, 10, (13,) * 6)
    robot = structure("gough_stewart")
    of_platform = [name for name in found.standard_names[:10] if name.endswith(str(robot.body))]
    assert list(found.kept) == [*of_platform, *of_legs(robot, TABLE_II)]
    assert repr(found) == "<88 base parameters of 'gough_stewart', symbolic>"


def test_the_numeric_rank_of_the_gough_stewart_regressor_is_88() -> None:
    robot = structure("gough_stewart")
    W = grouping.random_regressor(robot, "fixed")
    W = W[:, [k for k in range(W.shape[1]) if k < 10 or (k - 10) % 11 < 10]]  # without rotors
    sizes = np.linalg.svd(W / np.maximum(np.linalg.norm(W, axis=0), 1e-9), compute_uv=False)
    assert W.shape[1] == 190
    assert sizes[87] > 1e3 * sizes[88]
    assert sizes[88] < 1e-12 * sizes[0]


@pytest.mark.parametrize(("mount", "name"), some([(m, n) for n in NAMES for m in ("fixed", "tilted")], *FEW))
def test_rules_and_numeric_method_group_alike(mount: str, name: str) -> None:
    symbolic = dyn_core.parallel_base_parameters(case(name).load(), "platform", mount=mount)
    numeric = dyn_core.parallel_base_parameters(case(name).load(), "platform", "numeric", mount)
    assert symbolic.kept == numeric.kept
    np.testing.assert_allclose(symbolic.matrix, numeric.matrix, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_the_base_parameters_give_all_efforts(name: str) -> None:
    robot = structure(name)
    found = dyn_core.parallel_base_parameters(robot.robot, "platform")
    W = grouping.random_regressor(robot, "fixed", seed=3, samples=20)
    columns = [found.standard_names.index(kept) for kept in found.kept]
    values = dict(zip(robot.robot.parameter_names, robot.robot.parameters, strict=True))
    full = W @ np.array([values[standard] for standard in found.standard_names])
    grouped = W[:, columns] @ found.values(values)
    np.testing.assert_allclose(grouped, full, rtol=0, atol=1e-11 * np.abs(full).max())


def test_a_mass_at_the_end_of_a_leg_is_grouped_with_the_platform() -> None:
    """Khalil-Guegan 2004, eqs. (57) to (66), with the coordinates of P_i in the frame of the platform."""
    robot = structure("gough_stewart")
    L = np.array([[0, 36, 42, 24, 12, -6], [0, 0, 11, 42, 42, 11], [0, 0, 1.2, -0.8, 1, 0]]) / 100
    M = np.array([robot.robot.bodies[leg.bodies[-1]].M for leg in robot.legs])
    x, y, z = L
    of_masses = [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y, x, y, z, np.ones(6)]
    platform, found = (
        each.platform_inertia() for each in (robot, grouping.with_parallel_base_parameters(robot))
    )
    np.testing.assert_allclose(found.values, platform.values + np.array(of_masses) @ M, rtol=0.0, atol=1e-12)


def test_a_delta_has_one_base_parameter_of_its_platform() -> None:
    found = dyn_core.parallel_base_parameters(case("delta").load(), "platform", rotor_inertia=False)
    assert (len(found.kept), found.of_platform, found.of_legs) == (37, 1, (12, 12, 12))
    assert found.kept[0] == f"M{structure('delta').body}"


def test_a_fixed_body_may_belong_to_the_leg_or_to_the_platform() -> None:
    """A payload on the platform, or on the last link of the leg that ends in a fixed joint."""
    tree = case("six_legs").load()
    robot = structure("six_legs")
    platform, roll = tree.link_frame("platform"), tree.link_frame("leg5_roll")
    of_bodies = {
        platform.body: compose(robot.T_home, inverse(platform.T_body_link)),
        roll.body: body_placements(robot.legs[5].robot, robot.q_home[5])[-1],
    }
    payload = InertialParameters(0.1, 0.02, -0.01, 0.2, 0.03, 0.15, 0.3, -0.2, 0.1, 2.0)
    values = dict(zip(tree.parameter_names, tree.parameters, strict=True))
    heavier = []
    for body, T_root_body in of_bodies.items():
        added = in_frame(compose(inverse(T_root_body), robot.T_home), payload).values
        names = [f"{name}{body}" for name in INERTIAL]
        more = {name: values[name] + x for name, x in zip(names, added, strict=True)}
        heavier.append(dyn_core.compile_parallel(tree.with_parameters(more), "platform", backend="python"))
    T_platform, V, Vd = motions(heavier[0], 3)
    first, second = (model.inverse_dynamics(T_platform, V, Vd) for model in heavier)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-10 * np.abs(first).max())


def test_operations_of_the_gough_stewart_robot() -> None:
    """Khalil-Guegan 2004, sec. VII and table IV; a division or a root counts as one multiplication here."""
    robot = essential_robot()
    assert sum(value != 0.0 for value in robot.parameters) == 52
    bare = {"backend": "python", "friction": False, "rotor_inertia": False}
    model = dyn_core.compile_parallel(robot, "platform", **bare)

    def multiplications(counts: dict[str, int]) -> int:
        return counts["mul"] + counts["div"] + counts["sqrt"] + counts["trig"]

    bars = {"inverse_dynamics": ((1290, 788), (300, 226)), "forward_dynamics": ((1823, 1120), (414, 387))}
    for function, (total, split) in bars.items():
        for counts, bar in (
            (model.operation_counts(function), total),
            (model.critical_path(function), split),
        ):
            assert multiplications(counts) <= bar[0]
            assert counts["add"] <= bar[1]
    assert np.all(np.isfinite(model.inverse_dynamics(*motions(model, 3))))


def test_grouping_reduces_the_number_of_operations() -> None:
    for name in each(NAMES, "delta"):
        plain, grouped = (
            dyn_core.compile_parallel(case(name).load(), "platform", backend="python", base_parameters=on)
            for on in (False, True)
        )
        for function in ("inverse_dynamics", "forward_dynamics"):
            assert grouped.operation_counts(function)["mul"] < plain.operation_counts(function)["mul"]


@pytest.mark.parametrize(
    ("argument", "given", "known"),
    [("method", "qr", "'symbolic' or 'numeric'"), ("mount", "moving", "'fixed' or 'tilted'")],
)
def test_unknown_options_are_refused(argument: str, given: str, known: str) -> None:
    with refused("argument-choice-unknown", argument=argument, given=given, known=known):
        dyn_core.parallel_base_parameters(case("delta").load(), "platform", **{argument: given})
