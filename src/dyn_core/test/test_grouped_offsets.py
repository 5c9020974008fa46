# SPDX-License-Identifier: Apache-2.0
"""Offset torques that no motion tells from weights, as of joints that lift, and what is said of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.offsets import grouped_offsets
from dyn_core.identification.output.report_tables import unseen_rows
from dyn_core.identification.pipeline import make_result
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.robot.robot_files import read_robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
OFFSET = 15.0
"""Of the joint that lifts (N)."""


def lift(tilt: float = 0.0) -> str:
    """A slide, so far from the vertical (rad), that carries an arm which swings in its plane."""
    body = '<inertia ixx=".1" iyy=".2" izz=".15" ixy="0" ixz="0" iyz="0"/>'
    return (
        '<robot name="lift"><link name="base"/>'
        f'<link name="car"><inertial><mass value="10"/>{body}</inertial></link>'
        f'<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="3"/>{body}</inertial></link>'
        '<joint name="up" type="prismatic"><parent link="base"/><child link="car"/>'
        f'<origin rpy="{tilt!r} 0 0"/><axis xyz="0 0 1"/>'
        '<limit lower="-.5" upper=".5" velocity="1" effort="500"/>'
        '<dynamics damping="20" friction="10" armature="4"/></joint>'
        '<joint name="turn" type="revolute"><parent link="car"/><child link="arm"/><axis xyz="1 0 0"/>'
        '<limit lower="-2" upper="2" velocity="2" effort="100"/>'
        '<dynamics damping="1" friction="1" armature="0.2"/></joint></robot>'
    )


def test_a_joint_that_lifts_has_its_offset_in_a_mass_and_not_in_the_rotor() -> None:
    robot = dyn_core.load_robot(lift())
    grouped = grouped_offsets(base_columns(robot), (FrictionModel(),) * 2)
    assert set(grouped) == {"Fo1"}
    assert grouped["Fo1"] == pytest.approx({"MR1": 1.0 / 9.81, "Ia1": -1.0 / 9.81}, rel=1e-9)


def test_a_slide_that_is_tilted_has_less_weight() -> None:
    robot = dyn_core.load_robot(lift(0.7))
    grouped = grouped_offsets(base_columns(robot), (FrictionModel(),) * 2)
    weight = 9.81 * math.cos(0.7)
    assert grouped["Fo1"] == pytest.approx({"MR1": 1.0 / weight, "Ia1": -1.0 / weight}, rel=1e-9)


@pytest.mark.parametrize("name", ["rx90", "rrp", "two_branch"])
def test_other_offsets_are_told(name: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    assert grouped_offsets(base_columns(robot), (FrictionModel(),) * robot.dof) == {}


def test_without_an_offset_nothing_is_grouped() -> None:
    robot = dyn_core.load_robot(lift())
    models = (FrictionModel(("viscous", "coulomb")), FrictionModel())
    assert grouped_offsets(base_columns(robot), models) == {}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    robot = dyn_core.load_robot(lift())
    found = dyn_core.excite(robot, dyn_core.ExcitationSettings(duration=15.0, tries=1, iterations=40))
    assert found.left_out == ("Fo1",)
    t = np.arange(15_000) / 1000.0
    q, qd, qdd = found.trajectory.at_many(t)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    tau[:, 0] += OFFSET
    tau += np.random.default_rng(0).normal(size=tau.shape) * [1.0, 0.3]
    path = tmp_path_factory.mktemp("lift") / "log.csv"
    names = [f"{what}.{joint}" for what in ("position", "effort") for joint in robot.joint_names]
    table = np.column_stack([t, q, tau])
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.9g")
    return path


def test_the_result_says_which_parameters_have_an_offset(log: Path) -> None:
    """Else the deviation of the mass, which is small, would say that 14.5 kg are 13."""
    result = make_result(read_robot(lift()), log, "a test")
    found = result.identified
    assert found.remarks[0].startswith(
        "no motion tells the offset torque Fo1 from a weight: it is taken as 0"
    )
    assert found.remarks[0].endswith("is MR1 + 0.1019 Fo1, Ia1 - 0.1019 Fo1")
    assert not any("Fo1" in remark for remark in found.remarks[1:])
    base = {parameter.name: parameter for parameter in found.base}
    for name, truth in (("MR1", 13.0), ("Ia1", 4.0)):
        there = truth + OFFSET * found.grouped_offsets["Fo1"][name]
        assert abs(base[name].value - there) < 3.0 * base[name].deviation
    assert base["MR1"].value - 13.0 > 50.0 * base["MR1"].deviation
    rows = dict(unseen_rows(result))
    assert rows["Fo1"] == "No motion tells it from a weight: it is taken as 0, and is a part of MR1, Ia1."
    assert not any("excite the joints more" in why for why in rows.values())
