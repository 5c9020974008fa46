# SPDX-License-Identifier: Apache-2.0
"""The two frames of each cut joint, as in SYMORO+ 2003, sec. 1.5 and tables 1.3 and 1.4."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from par_robots import AKR3000
from par_robots import SR400 as SR400_PAR
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE
from refusals import refused
from robots import example

import dyn_core as dyn
from dyn_core.cli.main import main
from dyn_core.robot.joints import LoopType
from dyn_core.robot.mdh.direct_geometry import link_placements
from dyn_core.robot.mdh.frames import transform_from_mdh
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import Transform, compose, inverse, rotation_from_rpy

TREE = example("two_branch")

SR400_TABLE = """
1   0  joint_1            1  0  0     0  0      0      t1  0
2   1  joint_2            1  0  0     0  -Pi/2  0.4    t2  0
3   2  joint_3            0  0  0     0  0      0.95   t3  0
4   3  joint_4            1  0  0     0  -Pi/2  0.18   t4  1.05
5   4  joint_5            1  0  0     0  Pi/2   0      t5  0
6   5  joint_6            1  0  0     0  -Pi/2  0      t6  0
7   1  joint_7            1  0  0     0  -Pi/2  0.4    t7  0
8   7  joint_8            0  0  0     0  0      0.4    t8  0
9   8  loop_1 (revolute)  0  0  0     0  0      0.95   t9  0
10  3  loop_1 (revolute)  0  2  Pi/2  0  0      -0.4   0   0
"""
"""SYMORO+ 2003, table 1.3, with our own lengths."""

AKR_TABLE = """
1   0  joint_1            1  0  0    0  0      0     t1   0
2   1  joint_2            0  0  0    0  Pi/2   0     t2   0
3   1  joint_3            0  0  0    0  Pi/2   -0.58 t3   0
4   1  joint_4            0  0  0    0  Pi/2   0.42  t4   0
5   3  joint_5            1  1  0    0  -Pi/2  0     0    R5
6   4  joint_6            1  1  0    0  -Pi/2  0     0    R6
7   2  joint_7            0  0  0    0  0      1     t7   0
8   7  joint_8            1  0  0    0  -Pi/2  0     t8   1.15
9   8  joint_9            1  0  0    0  Pi/2   0     t9   0
10  9  joint_10           1  0  0    0  -Pi/2  0     t10  0
11  5  loop_1 (revolute)  0  0  0    0  Pi/2   0     t11  0
12  6  loop_2 (revolute)  0  0  0    0  Pi/2   0     t12  0
13  7  loop_1 (revolute)  0  2  -1.43824   0  0  0.302655  0  0
14  2  loop_2 (revolute)  0  2  -0.291457  0  0  0.417612  0  0
"""
"""SYMORO+ 2003, table 1.4, with our own numbers."""


def cells(table: str) -> list[list[str]]:
    """Return the cells of a table without its head; the name of a cut joint is one cell."""
    text = re.sub(r" \((\w+)\)", r"_(\1)", table).replace(" + ", "+").replace(" - ", "-")
    return [line.split() for line in text.strip().splitlines() if not line.startswith("j ")]


TABLES = [(SR400_PAR, SR400_TABLE), (AKR3000, AKR_TABLE)]


@pytest.mark.parametrize(("text", "table"), TABLES, ids=["SR400", "AKR-3000"])
def test_the_printed_tables_are_those_of_the_book(text: str, table: str) -> None:
    robot = dyn.load_robot(text)
    assert cells(robot.mdh_table()) == cells(table)
    assert dyn.load_robot(dyn.write_par(robot)).mdh_table() == robot.mdh_table()


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mdh", SR400_PAR, "--json"]) == 0
    frames = json.loads(capsys.readouterr().out)["frames"]
    assert [frame["j"] for frame in frames] == list(range(1, 11))
    assert frames[8]["loop"] == frames[9]["loop"] == "loop_1"
    assert (frames[8]["sigma"], frames[9]["sigma"]) == (0, 2)
    assert (frames[9]["gamma"], frames[9]["d"]) == (math.pi / 2, -0.4)


def closed_at(kind: str, q: list[float], seed: int) -> Robot:
    """A robot of two branches with a cut joint anywhere, closed with variable 0 at the given positions."""
    random = np.random.default_rng(seed)
    T = link_placements(TREE, q)
    bodies = (2, len(TREE.joints))
    parent, child = (next(link.name for link in TREE.link_frames if link.body == body) for body in bodies)
    rpy, xyz = random.uniform(-1.5, 1.5, 3).tolist(), random.uniform(-1.0, 1.0, 3).tolist()
    axis = random.normal(size=3)
    T_parent = compose(T[parent], Transform(rotation_from_rpy(*rpy), (xyz[0], xyz[1], xyz[2])))
    R, p = compose(inverse(T[child]), T_parent)
    rpy_child = [math.atan2(R[2][1], R[2][2]), math.asin(-R[2][0]), math.atan2(R[1][0], R[0][0])]
    loop = {"name": "c", "type": kind, "axis": axis.tolist()}
    loop["parent"] = {"link": parent, "xyz": xyz, "rpy": rpy}
    loop["child"] = {"link": child, "xyz": list(p), "rpy": rpy_child}
    if kind == "universal":
        loop["axis2"] = np.cross(axis, [0.3, 0.5, -0.2]).tolist()
    return example("two_branch", loops={"loops": [loop]}, snap=0.0)


@pytest.mark.parametrize("kind", [kind.value for kind in LoopType])
@pytest.mark.parametrize("seed", range(4))
def test_both_cut_frames_coincide_where_the_loop_is_closed(kind: str, seed: int) -> None:
    """They agree in what the joint type constrains, and are on the bodies that they name."""
    q = np.random.default_rng(100 + seed).uniform(-1.0, 1.0, TREE.dof).tolist()
    robot = closed_at(kind, q, seed)
    (loop,) = robot.loops
    assert loop.frames is not None
    placed = link_placements(robot, q)
    T = {link.body: compose(placed[link.name], inverse(link.T_body_link)) for link in robot.link_frames}
    k, other = (compose(T[frame.antecedent], transform_from_mdh(frame.mdh)) for frame in loop.frames)
    assert loop.frames[0].antecedent == robot.link_frame(loop.parent.link).body
    assert loop.frames[1].antecedent == robot.link_frame(loop.child.link).body
    apart = vec3.sub(other.p, k.p)
    z = mat3.column(k.R, 2)
    if kind in ("prismatic", "cylindrical"):  # the variable r of the joint
        apart = vec3.sub(apart, vec3.scale(vec3.dot(apart, z), z))
    np.testing.assert_allclose(apart, 0.0, atol=1e-12)
    if kind in ("revolute", "prismatic", "cylindrical", "planar", "fixed"):
        np.testing.assert_allclose(mat3.column(other.R, 2), z, atol=1e-12)
        if kind != "fixed":
            mdh = loop.frames[1].mdh
            assert (mdh.theta, mdh.r) == (0.0, 0.0)
            assert -math.pi / 2 < mdh.gamma <= math.pi / 2
    if kind in ("prismatic", "fixed"):
        np.testing.assert_allclose(other.R, k.R, atol=1e-12)
    rows = cells(robot.mdh_table())[-2:]
    n = len(robot.joints)
    assert [(row[0], row[2]) for row in rows] == [(str(n + k), f"c_({kind})") for k in (1, 2)]
    assert (f"t{n + 1}" == rows[0][9]) == (kind in ("revolute", "cylindrical", "planar", "universal"))
    assert (f"R{n + 1}" == rows[0][10]) == (kind in ("prismatic", "cylindrical"))


def test_gamma_of_a_cut_frame_is_zero_where_the_axes_are_parallel() -> None:
    """x of the last frame points to the cut joint."""
    robot = dyn.load_robot(FIVE_BAR, FIVE_BAR_SIDE.replace("[0.5, 0, 0]", "[0.3, 0.4, 0]"))
    (loop,) = robot.loops
    assert loop.frames is not None
    for frame in loop.frames:
        assert (frame.mdh.gamma, frame.mdh.d) == (0.0, pytest.approx(0.5, abs=1e-15))


def test_a_par_file_that_cuts_an_actuated_joint_is_refused() -> None:
    with refused("loop-cut-at-actuator", loop=1, line_number=2, frame=9):
        dyn.load_robot(SR400_PAR.replace("1,0,0,0}\nTheta", "1,0,1,0}\nTheta"))
    without = re.sub(r"Mu = \{[^}]*\}", "", SR400_PAR)
    assert dyn.load_robot(without).passive_joint_names == ()
