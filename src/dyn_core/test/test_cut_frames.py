# SPDX-License-Identifier: Apache-2.0
"""The two frames of each cut joint, as SYMORO+ 2003, sec. 1.5, has them and tables 1.3 and 1.4 print them."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from emitted_programs import ROBOTS
from planar_chains import FIVE_BAR, FIVE_BAR_SIDE

import dyn_core as dyn
from dyn_core.cli.main import main
from dyn_core.geometry.forward import link_placements
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.model.loop import LoopType
from dyn_core.robot.mdh.frames import transform_from_mdh
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import rotation_from_rpy

SR400_PAR = """(* Robotname = 'SR400' *)
NL = 8 NJ = 9 NF = 10 Type = 2
ant = {0,1,2,3,4,5,1,7,8,3} sigma = {0,0,0,0,0,0,0,0,0,2} mu = {1,1,0,1,1,1,1,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,Pi/2} alpha = {0,-Pi/2,0,-Pi/2,Pi/2,-Pi/2,-Pi/2,0,0,0}
d = {0,0.4,0.95,0.18,0,0,0.4,0.38,0.95,-0.38}
theta = {t1,t2,t3,t4,t5,t6,t7,t8,t9,0} r = {0,0,0,1.05,0,0,0,0,0,0}
G = {0,0,-9.81}
"""
SR400_TABLE = """
1   0  joint_1            1  0  0     0  0      0      t1  0
2   1  joint_2            1  0  0     0  -Pi/2  0.4    t2  0
3   2  joint_3            0  0  0     0  0      0.95   t3  0
4   3  joint_4            1  0  0     0  -Pi/2  0.18   t4  1.05
5   4  joint_5            1  0  0     0  Pi/2   0      t5  0
6   5  joint_6            1  0  0     0  -Pi/2  0      t6  0
7   1  joint_7            1  0  0     0  -Pi/2  0.4    t7  0
8   7  joint_8            0  0  0     0  0      0.38   t8  0
9   8  loop_1 (revolute)  0  0  0     0  0      0.95   t9  0
10  3  loop_1 (revolute)  0  2  Pi/2  0  0      -0.38  0   0
"""
"""SYMORO+ 2003, table 1.3, with lengths of ours."""

AKR_PAR = """(* Robotname = 'AKR3000' *)
NL = 10 NJ = 12 NF = 14 Type = 2
ant = {0,1,1,1,3,4,2,7,8,9,5,6,7,2} sigma = {0,0,0,0,1,1,0,0,0,0,0,0,2,2}
mu = {1,0,0,0,1,1,0,1,1,1,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,0,0,0,1.2,-0.7}
alpha = {0,Pi/2,Pi/2,Pi/2,-Pi/2,-Pi/2,0,-Pi/2,Pi/2,-Pi/2,Pi/2,Pi/2,0,0}
d = {0,0,0.3,0.5,0,0,0.8,0,0,0,0,0,-0.3,0.4}
theta = {t1,t2,t3,t4,0,0,t7,t8,t9,t10,t11,t12,0,0} r = {0,0,0,0,r5,r6,0,0.9,0,0,0,0,0,0}
G = {0,0,-9.81}
"""
AKR_TABLE = """
1   0  joint_1            1  0  0    0  0      0     t1   0
2   1  joint_2            0  0  0    0  Pi/2   0     t2   0
3   1  joint_3            0  0  0    0  Pi/2   0.3   t3   0
4   1  joint_4            0  0  0    0  Pi/2   0.5   t4   0
5   3  joint_5            1  1  0    0  -Pi/2  0     0    R5
6   4  joint_6            1  1  0    0  -Pi/2  0     0    R6
7   2  joint_7            0  0  0    0  0      0.8   t7   0
8   7  joint_8            1  0  0    0  -Pi/2  0     t8   0.9
9   8  joint_9            1  0  0    0  Pi/2   0     t9   0
10  9  joint_10           1  0  0    0  -Pi/2  0     t10  0
11  5  loop_1 (revolute)  0  0  0    0  Pi/2   0     t11  0
12  6  loop_2 (revolute)  0  0  0    0  Pi/2   0     t12  0
13  7  loop_1 (revolute)  0  2  1.2  0  0      -0.3  0    0
14  2  loop_2 (revolute)  0  2  -0.7 0  0      0.4   0    0
"""
"""SYMORO+ 2003, table 1.4, with numbers of ours."""


def cells(table: str) -> list[list[str]]:
    """Answer the cells of a table, without its head; names of cut joints in one cell."""
    lines = [line for line in table.strip().splitlines() if not line.startswith("j ")]
    return [
        re.sub(r" \((\w+)\)", r"_(\1)", line).replace(" + ", "+").replace(" - ", "-").split()
        for line in lines
    ]


@pytest.mark.parametrize(
    ("text", "table"), [(SR400_PAR, SR400_TABLE), (AKR_PAR, AKR_TABLE)], ids=["SR400", "AKR-3000"]
)
def test_the_tables_of_the_book_are_printed(text: str, table: str) -> None:
    robot = dyn.load_robot(text)
    assert cells(robot.mdh_table()) == cells(table)
    written = dyn.write_par(robot)
    assert dyn.load_robot(written).mdh_table() == robot.mdh_table()


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mdh", SR400_PAR, "--json"]) == 0
    frames = json.loads(capsys.readouterr().out)["frames"]
    assert [frame["j"] for frame in frames] == list(range(1, 11))
    assert frames[8]["loop"] == frames[9]["loop"] == "loop_1"
    assert (frames[8]["sigma"], frames[9]["sigma"]) == (0, 2)
    assert (frames[9]["gamma"], frames[9]["d"]) == (math.pi / 2, -0.38)


def closed_at(kind: str, q: list[float], seed: int) -> Robot:
    """A robot of two branches with a cut joint anywhere, which is closed and at 0 at some positions."""
    random = np.random.default_rng(seed)
    tree = dyn.load_robot(ROBOTS / "two_branch.urdf")
    T = link_placements(tree, q)
    names = [frame.name for frame in tree.link_frames if frame.body == len(tree.joints)]
    first = [frame.name for frame in tree.link_frames if frame.body == 2]
    rpy = random.uniform(-1.5, 1.5, 3).tolist()
    xyz = random.uniform(-1.0, 1.0, 3).tolist()
    axis = random.normal(size=3)
    end = {"link": first[0], "xyz": xyz, "rpy": rpy}
    T_parent = compose(T[first[0]], Transform(rotation_from_rpy(*rpy), (xyz[0], xyz[1], xyz[2])))
    R, p = compose(inverse(T[names[0]]), T_parent)
    pitch = math.asin(-R[2][0])
    other = {
        "link": names[0],
        "xyz": list(p),
        "rpy": [math.atan2(R[2][1], R[2][2]), pitch, math.atan2(R[1][0], R[0][0])],
    }
    loop = {"name": "c", "type": kind, "parent": end, "child": other, "axis": axis.tolist()}
    if kind == "universal":
        loop["axis2"] = np.cross(axis, [0.3, 0.5, -0.2]).tolist()
    return dyn.load_robot(ROBOTS / "two_branch.urdf", loops={"loops": [loop]}, snap=0.0)


@pytest.mark.parametrize("kind", [kind.value for kind in LoopType])
@pytest.mark.parametrize("seed", range(4))
def test_both_frames_are_one_frame_where_the_loop_is_closed(kind: str, seed: int) -> None:
    """What the type of the joint fixes is the same in frames k and k+B, which are on the bodies they name."""
    tree = dyn.load_robot(ROBOTS / "two_branch.urdf")
    q = np.random.default_rng(100 + seed).uniform(-1.0, 1.0, tree.dof).tolist()
    robot = closed_at(kind, q, seed)
    (loop,) = robot.loops
    assert loop.frames is not None
    T = {
        frame.body: compose(link_placements(robot, q)[frame.name], inverse(frame.T_body_link))
        for frame in robot.link_frames
    }
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
            assert loop.frames[1].mdh.theta == 0.0
            assert loop.frames[1].mdh.r == 0.0
            assert -math.pi / 2 < loop.frames[1].mdh.gamma <= math.pi / 2
    if kind in ("prismatic", "fixed"):
        np.testing.assert_allclose(other.R, k.R, atol=1e-12)
    rows = cells(robot.mdh_table())[-2:]
    assert [row[2] for row in rows] == [f"c_({kind})"] * 2
    n = len(robot.joints)
    assert rows[0][0] == str(n + 1)
    assert rows[1][0] == str(n + 2)
    assert (f"t{n + 1}" == rows[0][9]) == (kind in ("revolute", "cylindrical", "planar", "universal"))
    assert (f"R{n + 1}" == rows[0][10]) == (kind in ("prismatic", "cylindrical"))


def test_the_axis_of_a_cut_joint_follows_the_last_joint_of_its_branch() -> None:
    """x of the last frame points to the cut joint, so that gamma of frames k and k+B is 0 there."""
    robot = dyn.load_robot(FIVE_BAR, FIVE_BAR_SIDE.replace("[0.5, 0, 0]", "[0.3, 0.4, 0]"))
    (loop,) = robot.loops
    assert loop.frames is not None
    for frame in loop.frames:
        assert (frame.mdh.gamma, frame.mdh.d) == (0.0, pytest.approx(0.5, abs=1e-15))


def test_a_par_file_that_cuts_an_actuated_joint() -> None:
    with pytest.raises(
        dyn.DynError, match=r"loop_1 \(line 3\) is cut at an actuated joint, mu\[9\] = 1: .* cut the loop"
    ):
        dyn.load_robot(SR400_PAR.replace("1,0,0,0}\ngamma", "1,0,1,0}\ngamma"))
    without = re.sub(r" mu = \{[^}]*\}", "", SR400_PAR)
    assert dyn.load_robot(without).passive_joint_names == ()
