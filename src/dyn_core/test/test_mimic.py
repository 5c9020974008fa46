# SPDX-License-Identifier: Apache-2.0
"""What mimic joints follow, and the coordinates that are left."""

from __future__ import annotations

import pytest

import dyn_core
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import Mimic


def arm(**mimics: str) -> str:
    """Joints j1 to j4 in a row, the third fixed, each with the given attributes of <mimic>."""
    links = "".join(f'<link name="l{j}"/>' for j in range(5))
    joints = "".join(
        f'<joint name="j{j}" type="{"fixed" if j == 3 else "revolute"}"><parent link="l{j - 1}"/>'
        f'<child link="l{j}"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>{_mimic(mimics.get(f"j{j}"))}</joint>'
        for j in range(1, 5)
    )
    return f'<robot name="arm">{links}{joints}</robot>'


def _mimic(attributes: str | None) -> str:
    return f"<mimic {attributes}/>" if attributes else ""


def test_mimic_joints_are_no_coordinates() -> None:
    robot = dyn_core.load_robot(arm(j2='joint="j1" multiplier="-2" offset="0.5"'))
    assert robot.joint_names == robot.actuated_joint_names == ("j1", "j4")
    assert (robot.dof, robot.coordinates, len(robot.joints)) == (2, (1, 3), 3)
    assert robot.joint("j2").mimic == Mimic(1, -2.0, 0.5)
    assert set(robot.limits) == {"j1", "j2", "j4"}
    assert joint_positions(robot, [0.1, 0.2]) == [0.1, pytest.approx(0.3), 0.2]
    assert robot.mdh_table().splitlines()[2].split("  ")[-2].strip() == "-2*t1 + 0.5"


def test_mimic_joints_can_move_freely() -> None:
    robot = dyn_core.load_robot(arm(j2='joint="j1"'), mimic=False)
    assert robot.joint_names == ("j1", "j2", "j4")
    assert robot.coordinates == (1, 2, 3)


@pytest.mark.parametrize(
    ("mimics", "name", "expected"),
    [
        ({"j1": 'joint="j2"'}, "j1", Mimic(2, 1.0, 0.0)),
        (
            {"j4": 'joint="j2" multiplier="2" offset="1"', "j2": 'joint="j1" multiplier="3" offset="0.5"'},
            "j4",
            Mimic(1, 6.0, 2.0),
        ),
        ({"j2": 'joint="j1" multiplier="0" offset="0.7"'}, "j2", Mimic(0, 0.0, 0.7)),
        ({"j2": 'joint="j3" offset="0.7"'}, "j2", Mimic(0, 0.0, 0.7)),
        (
            {"j2": 'joint="j1" multiplier="0" offset="0.7"', "j4": 'joint="j2" multiplier="2"'},
            "j4",
            Mimic(0, 0.0, 1.4),
        ),
    ],
    ids=["backwards", "chain", "multiplier 0", "of a fixed joint", "of a joint that stands still"],
)
def test_what_is_followed(mimics: dict[str, str], name: str, expected: Mimic) -> None:
    assert dyn_core.load_robot(arm(**mimics)).joint(name).mimic == expected


def chain(n: int, multiplier: str) -> str:
    """A joint, and n that each mimic the one before, in reverse order in the text."""
    links = "".join(f'<link name="l{j}"/>' for j in range(n + 2))
    joints = "".join(
        f'<joint name="j{j}" type="prismatic"><parent link="l0"/><child link="l{j + 1}"/>'
        f'<mimic joint="j{j - 1}" multiplier="{multiplier}"/></joint>'
        for j in range(n, 0, -1)
    )
    first = '<joint name="j0" type="prismatic"><parent link="l0"/><child link="l1"/></joint>'
    return f'<robot name="r">{links}{joints}{first}</robot>'


def test_long_chains() -> None:
    robot = dyn_core.load_robot(chain(3000, "-1"))
    assert robot.joint("j3000").mimic == Mimic(3001, 1.0, 0.0)
    with pytest.raises(
        dyn_core.DynError, match=r"joint 'j4', <mimic> .*: multiplier or offset exceeds 1e\+09"
    ):
        dyn_core.load_robot(chain(3000, "1e3"))
