# SPDX-License-Identifier: Apache-2.0
"""Base parameters of parallel robots: the numbers of the paper, two methods, and what they are good for."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from parallel_cases import NAMES, case, motions

import dyn_core
from dyn_core.algorithms.parallel.parallel_structure import parallel_robot
from dyn_core.geometry.forward import body_placements
from dyn_core.linalg.transform import compose, inverse
from dyn_core.parallel.random_states import random_regressor
from dyn_core.parallel.regroup import with_parallel_base_parameters
from dyn_core.robot.links import InertialParameters, in_frame

ESSENTIAL = (("ZZ",), ("XX", "ZZ", "MY"), ("MX", "MY", "MZ"))
"""Of the three bodies of a leg: Khalil-Guegan 2004, table III."""

TABLE_II = (("ZZ", "MX", "MY"), ("XX", "XY", "XZ", "YZ", "ZZ", "MX", "MY"), ("MX", "MY", "MZ"))
"""Khalil-Guegan 2004, table II."""


@cache
def structure(name: str):
    return parallel_robot(case(name).load(), "platform")


def essential_robot() -> dyn_core.Robot:
    """A Gough-Stewart robot of which 52 of the base parameters are not 0, without friction and rotors."""
    grouped = with_parallel_base_parameters(structure("gough_stewart"))
    kept = {
        f"{name}{j}"
        for leg in grouped.legs
        for j, names in zip(leg.bodies, ESSENTIAL, strict=True)
        for name in names
    }
    zeros = {
        name: 0.0
        for name in grouped.robot.parameter_names
        if name not in kept and not re.fullmatch(f"[A-Z]+{grouped.body}", name)
    }
    return grouped.robot.with_parameters(zeros)


def test_the_gough_stewart_robot_has_the_parameters_of_table_2() -> None:
    found = dyn_core.parallel_base_parameters(case("gough_stewart").load(), "platform", rotor_inertia=False)
    assert len(found.standard_names) == 190
    assert (len(found.kept), found.of_platform, found.of_legs) == (88, 10, (13,) * 6)
    robot = structure("gough_stewart")
    of_legs = [
        f"{name}{j}"
        for leg in robot.legs
        for j, names in zip(leg.bodies, TABLE_II, strict=True)
        for name in names
    ]
    of_platform = [name for name in found.standard_names[:10] if name.endswith(str(robot.body))]
    assert list(found.kept) == [*of_platform, *of_legs]
    assert repr(found) == "<88 base parameters of 'gough_stewart', symbolic>"


def test_the_numeric_rank_of_the_gough_stewart_regressor_is_88() -> None:
    robot = structure("gough_stewart")
    W = random_regressor(robot, "fixed")
    names = [f"{name}{j}" for leg in robot.legs for j in leg.bodies for name in (*"0123456789", "Ia")]
    W = W[:, [*range(10), *(10 + k for k, name in enumerate(names) if not name.startswith("Ia"))]]
    sizes = np.linalg.svd(W / np.maximum(np.linalg.norm(W, axis=0), 1e-9), compute_uv=False)
    assert W.shape[1] == 190
    assert sizes[87] > 1e3 * sizes[88]
    assert sizes[88] < 1e-12 * sizes[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mount", ["fixed", "tilted"])
def test_rules_and_numbers_group_alike(name: str, mount: str) -> None:
    symbolic = dyn_core.parallel_base_parameters(case(name).load(), "platform", mount=mount)
    numeric = dyn_core.parallel_base_parameters(case(name).load(), "platform", "numeric", mount)
    assert symbolic.kept == numeric.kept
    np.testing.assert_allclose(symbolic.matrix, numeric.matrix, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_the_base_parameters_give_all_efforts(name: str) -> None:
    robot = structure(name)
    found = dyn_core.parallel_base_parameters(robot.robot, "platform")
    W = random_regressor(robot, "fixed", seed=3, samples=20)
    columns = [found.standard_names.index(kept) for kept in found.kept]
    values = dict(zip(robot.robot.parameter_names, robot.robot.parameters, strict=True))
    standard = np.array([values[standard] for standard in found.standard_names])
    full = W @ standard
    np.testing.assert_allclose(
        W[:, columns] @ found.values(values), full, rtol=0, atol=1e-11 * np.abs(full).max()
    )


def test_a_mass_at_the_end_of_a_leg_goes_to_the_platform() -> None:
    """Khalil-Guegan 2004, eqs. (57) to (66), with the coordinates of P_i in the frame of the platform."""
    robot = structure("gough_stewart")
    tree = robot.robot
    L = [
        (0, 0, 0),
        (0.36, 0, 0),
        (0.42, 0.11, 0.012),
        (0.24, 0.42, -0.008),
        (0.12, 0.42, 0.01),
        (-0.06, 0.11, 0),
    ]
    M = [tree.bodies[leg.bodies[-1]].M for leg in robot.legs]
    platform = robot.platform_inertia()
    found = with_parallel_base_parameters(robot).platform_inertia()
    for name, coefficient in {
        "XX": lambda x, y, z: y * y + z * z,
        "XY": lambda x, y, z: -x * y,
        "XZ": lambda x, y, z: -x * z,
        "YY": lambda x, y, z: x * x + z * z,
        "YZ": lambda x, y, z: -y * z,
        "ZZ": lambda x, y, z: x * x + y * y,
        "MX": lambda x, y, z: x,
        "MY": lambda x, y, z: y,
        "MZ": lambda x, y, z: z,
        "M": lambda x, y, z: 1.0,
    }.items():
        expected = getattr(platform, name) + sum(coefficient(*p) * m for p, m in zip(L, M, strict=True))
        assert getattr(found, name) == pytest.approx(expected, abs=1e-12)


def test_a_delta_shows_one_parameter_of_its_platform() -> None:
    found = dyn_core.parallel_base_parameters(case("delta").load(), "platform", rotor_inertia=False)
    assert (len(found.kept), found.of_platform, found.of_legs) == (37, 1, (12, 12, 12))
    assert found.kept[0] == f"M{structure('delta').body}"


def test_a_fixed_body_may_belong_to_the_leg_or_to_the_platform() -> None:
    """A payload on the platform, and the same one on the last link of the leg that ends in a fixed joint."""
    tree = case("six_legs").load()
    robot = structure("six_legs")
    platform, roll = tree.link_frame("platform"), tree.link_frame("leg5_roll")
    of_bodies = {
        platform.body: compose(robot.T_home, inverse(platform.T_body_link)),
        roll.body: body_placements(robot.legs[5].robot, robot.q_home[5])[-1],
    }
    payload = InertialParameters(0.1, 0.02, -0.01, 0.2, 0.03, 0.15, 0.3, -0.2, 0.1, 2.0)
    heavier = []
    for body, T_root_body in of_bodies.items():
        T_body_payload = compose(inverse(T_root_body), robot.T_home)
        added = in_frame(T_body_payload, payload).values
        values = dict(zip(tree.parameter_names, tree.parameters, strict=True))
        names = [f"{name}{body}" for name in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")]
        more = {name: values[name] + x for name, x in zip(names, added, strict=True)}
        heavier.append(dyn_core.compile_parallel(tree.with_parameters(more), "platform", backend="python"))
    T_platform, V, Vd = motions(heavier[0], 3)
    first, second = (model.inverse_dynamics(T_platform, V, Vd) for model in heavier)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-10 * np.abs(first).max())


def test_operations_of_the_gough_stewart_robot() -> None:
    """Khalil-Guegan 2004, sec. VII and table IV; a division or a root counts as a multiplication here."""
    robot = essential_robot()
    assert sum(value != 0.0 for value in robot.parameters) == 52
    model = dyn_core.compile_parallel(
        robot, "platform", backend="python", friction=False, rotor_inertia=False
    )

    def multiplications(counts: dict[str, int]) -> int:
        return counts["mul"] + counts["div"] + counts["sqrt"] + counts["trig"]

    bars = {"inverse_dynamics": ((1290, 788), (300, 226)), "forward_dynamics": ((1823, 1120), (414, 387))}
    for function, (total, split) in bars.items():
        counts, path = model.operation_counts(function), model.critical_path(function)
        assert multiplications(counts) <= total[0]
        assert counts["add"] <= total[1]
        assert multiplications(path) <= split[0]
        assert path["add"] <= split[1]
    T, V, Vd = motions(model, 3)
    assert np.all(np.isfinite(model.inverse_dynamics(T, V, Vd)))


def test_grouping_leaves_fewer_operations() -> None:
    for name in NAMES:
        plain, grouped = (
            dyn_core.compile_parallel(case(name).load(), "platform", backend="python", base_parameters=on)
            for on in (False, True)
        )
        for function in ("inverse_dynamics", "forward_dynamics"):
            assert grouped.operation_counts(function)["mul"] < plain.operation_counts(function)["mul"]


def test_mistakes_are_said() -> None:
    robot = case("delta").load()
    with pytest.raises(ValueError, match="method: expected 'symbolic' or 'numeric', but it is 'qr'"):
        dyn_core.parallel_base_parameters(robot, "platform", "qr")
    with pytest.raises(ValueError, match="mount: expected 'fixed' or 'tilted', but it is 'moving'"):
        dyn_core.parallel_base_parameters(robot, "platform", mount="moving")
