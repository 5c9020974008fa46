# SPDX-License-Identifier: Apache-2.0
"""Base parameters of robots with loops: both methods, known counts and relations, torques by Pinocchio."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from base_agreement import assert_methods_agree, rank
from depth import some
from loop_oracle import LoopOracle
from planar_loop_cases import NAMES as PLANAR
from planar_loop_cases import planar_case
from random_loops import PASSIVE, random_loop
from robots import ROBOTS, loop_robot

import dyn_core
from dyn_core.algorithms.base_parameters.numeric_relations import random_regressor
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.cli.main import main
from dyn_core.robot.robot import Robot

COUNTS = {
    "five_bar": (11, 2),
    "sr400": (39, 4),
    "akr3000": (54, 6),
    "palletizer": (25, 2),
    "delta": (39, 4),
    "gough_stewart": (98, 8),
}
"""Numbers of base parameters of bodies and of rotors (also of passive joints), on a fixed base."""


def of_bodies(found: dyn_core.BaseParameters) -> int:
    return sum(not name.startswith("Ia") for name in found.kept)


NAMES = tuple(COUNTS)
MOUNTED = [(mount, name) for name in NAMES for mount in ("fixed", "tilted", "moving")]
LARGE = ("delta", "gough_stewart")


@pytest.mark.parametrize(
    ("mount", "name"), some(MOUNTED, *(one for one in MOUNTED if one[0] == "fixed" or one[1] not in LARGE))
)
def test_methods_agree(mount: str, name: str) -> None:
    found = assert_methods_agree(loop_robot(name), mount)
    if mount == "fixed":
        assert (of_bodies(found), len(found.kept) - of_bodies(found)) == COUNTS[name]


@pytest.mark.parametrize("name", PLANAR)
def test_counts_without_rotors_match_published_code(name: str) -> None:
    """Counts of independently generated code."""
    case = planar_case(name)
    with pytest.warns(dyn_core.ModelWarning):
        robot = dyn_core.load_robot(case.urdf, loops=case.side, gravity=case.gravity)
    assert_methods_agree(robot)
    found = dyn_core.base_parameters(robot, rotor_inertia=False)
    assert len(found.kept) == case.base_parameters


def test_bodies_of_the_gough_stewart_platform() -> None:
    """88 of 190: 13 for each leg and 10 for the platform (Khalil-Guegan 2004, sec. 4).

    The platform moves by six simple joints here. The bodies of these joints are not part of a platform.
    """
    robot = loop_robot("gough_stewart")
    names = dyn_core.base_parameters(robot).standard_names
    bodies = [j for j, joint in enumerate(robot.joints, start=1) if "platform" not in joint.name]
    wanted = {robot.child_links.index(robot.link_frame("platform")) + 1, *bodies}
    columns = [k for k, n in enumerate(names) if not n.startswith("Ia") and int(n.lstrip("XYZM")) in wanted]
    assert len(columns) == 190
    assert rank(random_regressor(robot, "fixed", 1)[:, columns]) == 88


def test_the_parallelogram_of_the_sr400() -> None:
    """50 and 55 with the loop open (SYMORO+ 2003); closing the loop only groups some of these.

    Opposite links share their inertia matrices (4.55), (4.56), and rotors of equal speed are grouped:
    link 3 does not turn relative to link 7, nor link 8 to link 2; joints 3 and 8 have opposite speeds.
    """
    robot = loop_robot("sr400")
    joints = tuple(replace(joint, mu=1) for joint in robot.joints)
    tree = dyn_core.base_parameters(replace(robot, loops=(), joints=joints))
    assert (of_bodies(tree), len(tree.kept)) == (50, 55)
    closed = dyn_core.base_parameters(robot)
    assert set(closed.kept) < set(tree.kept)
    assert closed.by_numbers == ()
    # Parameters without effect in the tree have none in the closed robot: its rows are combinations of the
    # tree's.
    part = np.linalg.lstsq(tree.matrix.T, closed.matrix.T, rcond=None)[0].T
    np.testing.assert_allclose(part @ tree.matrix, closed.matrix, rtol=0.0, atol=1e-13)
    row = dict(zip(closed.kept, closed.matrix, strict=True))
    for one, other in (("ZZ2", "ZZ8"), ("ZZ3", "ZZ7"), ("Ia3", "Ia8")):
        assert row[one][closed.standard_names.index(other)] == pytest.approx(1.0, abs=1e-13)
    of_inertia = ("XX", "XY", "XZ", "YY", "YZ", "ZZ")
    assert not any(name[:2] in of_inertia for name in closed.kept if name[-1] in "78")


@pytest.mark.parametrize("name", NAMES[:4])
def test_changes_without_effect_on_base_parameters_change_no_torque(name: str) -> None:
    """Torques by Pinocchio's tree and the independent loop closure of the tests."""
    robot = loop_robot(name)
    base = dyn_core.base_parameters(robot)
    side = yaml.safe_load((ROBOTS / f"{name}.yaml").read_text())
    random = np.random.default_rng(4)
    unseen = np.linalg.svd(base.matrix)[2][len(base.kept) :]
    places = [robot.parameter_names.index(parameter) for parameter in base.standard_names]
    model = dyn_core.compile_model(robot, parameters="runtime", backend="python")
    oracle = LoopOracle((ROBOTS / f"{name}.urdf").read_text(), side, model.joint_names)
    values = np.array(robot.parameters)
    for _ in range(3):
        q = oracle.assembly + 0.1 * random.uniform(-1, 1, robot.dof)
        state = (q, *random.uniform(-1, 1, (2, robot.dof)))
        expected = oracle.inverse_dynamics(*state)
        for _ in range(3):
            changed = values.copy()
            changed[places] += unseen.T @ random.normal(size=len(unseen))
            model.set_parameters(changed)
            atol = 1e-9 * max(np.abs(expected).max(), 1.0)
            np.testing.assert_allclose(model.inverse_dynamics(*state), expected, rtol=0.0, atol=atol)


@pytest.mark.parametrize("kind", PASSIVE)
@pytest.mark.parametrize("mount", ["fixed", "moving"])
def test_rules_find_all_groupings_for_every_cut_joint_in_general_position(kind: str, mount: str) -> None:
    """No parameter is left to the numeric method."""
    urdf, side = random_loop(kind, 1)
    found = assert_methods_agree(dyn_core.load_robot(urdf, loops=side, snap=0), mount)
    assert found.by_numbers == ()


def test_both_methods_agree_with_a_mimic_joint_beside_a_loop() -> None:
    text = (ROBOTS / "five_bar.urdf").read_text()
    hand = (
        '<link name="finger"><inertial><mass value="1"/><origin xyz="0.1 0.02 0"/>'
        '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="finger_joint" type="continuous"><parent link="left_distal"/><child link="finger"/>'
        '<origin xyz="0.1 0 0.2"/><axis xyz="0 1 0.3"/>'
        '<mimic joint="right_shoulder" multiplier="-0.5"/></joint>'
        "</robot>"
    )
    robot = dyn_core.load_robot(text.replace("</robot>", hand), loops=ROBOTS / "five_bar.yaml")
    assert robot.dof == 2
    assert_methods_agree(robot)


@pytest.mark.parametrize("name", some(NAMES, *(name for name in NAMES if name not in LARGE)))
def test_grouped_models_of_loops_need_fewer_operations(name: str) -> None:
    robot = loop_robot(name)
    part = np.random.default_rng(5).uniform(0.5, 1.5, len(robot.parameters))
    robot = robot.with_parameters((np.array(robot.parameters) * part).tolist())
    whole = dyn_core.compile_model(robot, backend="python")
    lighter = dyn_core.compile_model(robot, backend="python", base_parameters=True)
    random = np.random.default_rng(1)
    found = dict(zip(robot.independent, structure(robot).reference, strict=True))
    start = np.array([found[j] for j in robot.coordinates])
    q = start + 0.05 * random.uniform(-1.0, 1.0, (5, robot.dof))
    qd, qdd, tau = random.uniform(-1.0, 1.0, (3, 5, robot.dof))
    functions = {"inverse_dynamics": (q, qd, qdd), "forward_dynamics": (q, qd, tau)}
    functions |= {"inertia_matrix": (q,), "bias_torques": (q, qd), "gravity_torques": (q,)}
    for function, arguments in functions.items():
        found, expected = (getattr(model, function)(*arguments) for model in (lighter, whole))
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
        counts = [model.operation_counts(function) for model in (lighter, whole)]
        assert counts[0]["mul"] + counts[0]["add"] < counts[1]["mul"] + counts[1]["add"]


def test_parameters_that_only_the_numeric_method_groups_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The wrist of the palletiser stays level; no rule finds that only ZZ of the flange has an effect."""
    by_numbers = ("MY4", "XX5", "XY5", "XZ5", "YZ5", "MY6")
    assert dyn_core.base_parameters(loop_robot("palletizer")).by_numbers == by_numbers
    palletizer, five_bar = (
        ["base", str(ROBOTS / f"{name}.urdf"), "--side-file", str(ROBOTS / f"{name}.yaml")]
        for name in ("palletizer", "five_bar")
    )
    assert main(palletizer) == 0
    text = capsys.readouterr().out
    assert "27 base parameters of 110: 25 of bodies, 2 of rotors" in text
    assert f"by numbers only, not by a rule: {' '.join(by_numbers)}" in text
    assert main([*five_bar, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["count"], found["by_numbers"]) == (13, [])


def test_expressions_with_lengths_as_symbols_have_the_same_values() -> None:
    robot = loop_robot("sr400")
    base = dyn_core.base_parameters(robot, symbols=True)
    standard = dict(zip(robot.parameter_names, robot.parameters, strict=True)) | base.lengths
    for expression, value in zip(base.expressions, base.values(standard), strict=True):
        assert eval(expression.split(" = ")[1], {}, standard) == pytest.approx(value, rel=1e-10, abs=1e-10)


def test_the_rank_does_not_depend_on_a_tolerance() -> None:
    """The gap between significant singular values and rounding is wide."""
    for name in NAMES[:4]:
        W = random_regressor(loop_robot(name), "fixed", seed=11)
        lengths = np.linalg.norm(W, axis=0)
        W = W[:, lengths > 1e-11 * lengths.max()]
        values = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
        count = rank(W)
        assert values[count - 1] > 1e-5 * values[0]
        assert values[count] < 1e-12 * values[0]


def scissor(stages: int) -> Robot:
    """A scissor lift of crossed bars, 0.5 m from the middle to each end, pulled at its lower slider."""
    bar = '<inertial><mass value="2"/><origin xyz="0.1 0.02 0"/><inertia ixx="0.01" iyy="0.02" izz="0.03" '
    bar += 'ixy="0" ixz="0" iyz="0"/></inertial></link>'
    links = ['<link name="base"/>', f'<link name="slider">{bar}']
    joint = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>'
    limit = '<axis xyz="1 0 0"/><limit lower="0" upper="1" effort="9" velocity="9"/></joint>'
    joints = [joint.format("slide", "prismatic", "base", "slider") + limit]
    loops, below = [], ("base", "slider")
    for k in range(stages):
        for side, foot in zip("ab", below, strict=True):
            links.append(f'<link name="{side}{k}">{bar}')
            at = f'<origin xyz="{int(k > 0)} 0 0"/><axis xyz="0 0 1"/></joint>'
            joints.append(joint.format(f"{side}{k}_foot", "continuous", foot, f"{side}{k}") + at)
        parent, child = ({"link": f"{side}{k}", "xyz": [0.5, 0, 0]} for side in "ab")
        loops.append({"name": f"middle{k}", "type": "revolute", "parent": parent, "child": child})
        below = (f"b{k}", f"a{k}")
    text = f'<robot name="scissor">{"".join(links + joints)}</robot>'
    assembly = {"slide": 0.8}
    up = math.acos(0.8)
    for k in range(stages):  # each further bar stands on the end of a bar that leans the other way
        assembly[f"a{k}_foot"] = 2.0 * up - math.pi if k else up
        assembly[f"b{k}_foot"] = math.pi - 2.0 * up if k else math.pi - up
    passive = [f"{side}{k}_foot" for k in range(stages) for side in "ab"]
    return dyn_core.load_robot(text, loops={"loops": loops, "passive": passive, "assembly": assembly})


@pytest.mark.parametrize("method", ["symbolic", "numeric"])
def test_numeric_groupings_are_written_without_rounding_errors(method: str) -> None:
    found = dyn_core.base_parameters(scissor(3), method)  # type: ignore[arg-type]
    text = " ".join(found.expressions)
    assert re.search(r"\d9999999|\d0000000|e-", text) is None, text
    assert not np.any((found.matrix != 0.0) & (np.abs(found.matrix) < 1e-9))
