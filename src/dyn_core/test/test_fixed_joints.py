# SPDX-License-Identifier: Apache-2.0
"""Joints that stand all the time are fixed: Pinocchio is the truth, with the same joints held."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import dyn_core
from dyn_core import DynError, Identified, Protocol
from dyn_core.cli.main import main
from dyn_core.core.arrays import Array
from dyn_core.identification.fixed_joints import with_fixed_joints
from dyn_core.identification.pseudo_inertia import is_possible

MOVING = ("a", "b", "c")
HELD = {"wheel": 0.3, "head": -0.7, "hand": 0.6, "finger": 0.02}
"""Where they stand (rad or m)."""
FOLLOWING = ("thumb", 0.5, 0.01)
"""Half as far as the finger, and 0.01 m more."""
LIMIT = '<limit lower="-3" upper="3" effort="100" velocity="5"/>'


def _joint(name: str, parent: str, kind: str, axis: str, origin: str, more: str = "") -> str:
    mass = 1.5 if name in MOVING else 0.4
    return (
        f'<link name="{name}_link"><inertial><origin xyz="0.05 -0.02 0.1"/><mass value="{mass}"/>'
        f'<inertia ixx="0.02" iyy="0.03" izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{name}_link"/>'
        f'<origin xyz="{origin}" rpy="0.2 -0.4 0.1"/><axis xyz="{axis}"/>{LIMIT}{more}</joint>'
    )


URDF = "".join(
    (
        '<robot name="mobile"><link name="base"/>',
        _joint("wheel", "base", "revolute", "0 1 0", "0 0.2 0"),
        _joint("a", "base", "revolute", "0 0 1", "0 0 0.3"),
        _joint("head", "a_link", "revolute", "1 0 0", "0 0 0.2"),
        _joint("b", "a_link", "revolute", "0 1 0", "0.1 0 0.2"),
        _joint("c", "b_link", "revolute", "0 1 0", "0 0 0.3"),
        _joint("hand", "c_link", "revolute", "1 0 0", "0 0 0.2"),
        _joint("finger", "hand_link", "prismatic", "1 0 0", "0 0 0.1"),
        _joint(
            "thumb",
            "hand_link",
            "prismatic",
            "0 1 0",
            "0 0 0.1",
            f'<mimic joint="finger" multiplier="{FOLLOWING[1]}" offset="{FOLLOWING[2]}"/>',
        ),
        "</robot>",
    )
)


def _truth() -> pin.Model:
    """Answer the robot with bodies that are up to a third heavier than the description says."""
    model = pin.buildModelFromXML(URDF)
    rng = np.random.default_rng(2)
    for j in range(1, model.njoints):
        factor = 1.0 + rng.uniform(-0.2, 0.35)
        body = model.inertias[j]
        model.inertias[j] = pin.Inertia(
            factor * body.mass, body.lever + rng.uniform(-0.02, 0.02, 3), factor * body.inertia
        )
    return model


def _motion(seed: int, duration: float, rate: float = 200.0) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / rate)
    w = 2 * np.pi * rng.uniform(0.1, 0.6, (3, 4))
    p = rng.uniform(0.0, 6.0, (3, 4))
    a = rng.uniform(0.2, 0.5, (3, 4))
    phase = t[:, None, None] * w + p
    return (
        t,
        (a * np.sin(phase)).sum(-1),
        (a * w * np.cos(phase)).sum(-1),
        (-a * w**2 * np.sin(phase)).sum(-1),
    )


def _torques(q: Array, qd: Array, qdd: Array) -> Array:
    """Torques of the joints that move, with friction, while the others are held."""
    model = _truth()
    data = model.createData()
    at = dict(HELD, thumb=FOLLOWING[1] * HELD["finger"] + FOLLOWING[2])
    whole = np.array([at.get(name, 0.0) for name in model.names[1:]])
    places = [list(model.names).index(name) - 1 for name in MOVING]
    found = []
    for position, rate, acceleration in zip(q, qd, qdd, strict=True):
        full = [whole.copy(), np.zeros(len(whole)), np.zeros(len(whole))]
        for values, moved in zip(full, (position, rate, acceleration), strict=True):
            values[places] = moved
        found.append(pin.rnea(model, data, *full)[places])
    return np.array(found) + 0.5 * qd + 0.3 * np.sign(qd)


def _csv(path: Path, *, with_held: bool) -> Path:
    t, q, qd, qdd = _motion(1, 20.0)
    rng = np.random.default_rng(0)
    tau = _torques(q, qd, qdd) + 0.01 * rng.normal(size=q.shape)
    columns = {"time": t}
    for i, name in enumerate(MOVING):
        columns |= {f"position.{name}": q[:, i] + 1e-5 * rng.normal(size=len(t)), f"effort.{name}": tau[:, i]}
    for name, position in HELD.items() if with_held else ():
        columns[f"position.{name}"] = position + 1e-5 * rng.normal(size=len(t))
        columns[f"effort.{name}"] = rng.normal(size=len(t)) + 3.0  # anything within stiction
    table = np.column_stack(list(columns.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.9g")
    return path


def _identified(path: Path, mapping: dict[str, object] | None = None) -> Identified:
    robot = dyn_core.load_robot(URDF)
    return dyn_core.identify(robot, dyn_core.condition(dyn_core.read_log(path, mapping, robot), Protocol()))


@pytest.mark.parametrize("with_held", [True, False], ids=["in the log", "held"])
def test_other_motions_are_as_pinocchio_says(tmp_path: Path, with_held: bool) -> None:
    mapping = None if with_held else {"held": HELD}
    found = _identified(_csv(tmp_path / "log.csv", with_held=with_held), mapping)
    robot = dyn_core.load_robot(URDF)
    identified = robot.with_parameters(found.parameters)
    _, q, qd, qdd = _motion(7, 5.0, 50.0)
    places = [robot.joint_names.index(name) for name in MOVING]
    full = np.tile([HELD.get(name, 0.0) for name in robot.joint_names], (len(q), 1))
    full[:, places] = q
    rates = np.zeros((2, *full.shape))
    rates[0][:, places], rates[1][:, places] = qd, qdd
    model = dyn_core.compile_model(identified, backend="python")
    tau = model.inverse_dynamics(full, rates[0], rates[1])[:, places]
    truth = _torques(q, qd, qdd)
    assert np.linalg.norm(tau - truth) < 0.01 * np.linalg.norm(truth)
    described = dyn_core.compile_model(robot, backend="python").inverse_dynamics(full, rates[0], rates[1])
    assert np.linalg.norm(described[:, places] - truth) > 0.1 * np.linalg.norm(truth)


def test_joints_that_stand_need_no_columns(tmp_path: Path) -> None:
    found = _identified(_csv(tmp_path / "log.csv", with_held=True))
    arm = with_fixed_joints(dyn_core.load_robot(URDF), HELD)
    assert arm.joint_names == MOVING
    assert [p.name for p in found.base] == list(dyn_core.base_parameters(arm).names)
    assert len(found.base) < 30
    assert found.joint_names == dyn_core.load_robot(URDF).joint_names
    assert dict(found.fixed) == pytest.approx(HELD, abs=1e-5)


def test_what_was_not_seen_is_said(tmp_path: Path) -> None:
    found = _identified(_csv(tmp_path / "log.csv", with_held=True))
    assert any("'wheel', 'head', 'hand', 'finger' did not move" in remark for remark in found.remarks)
    error = found.errors.fitted
    for i, name in enumerate(found.joint_names):
        assert np.isnan(error.by_joint[i]) == (name in HELD)
        assert not any(p.identifiable for p in found.friction[i].parameters) or name not in HELD
    robot = dyn_core.load_robot(URDF)
    prior = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    wheel = next(j for j, joint in enumerate(robot.joints, start=1) if joint.name == "wheel")
    for parameter in found.standard:
        if parameter.name.lstrip("XYZMIaFvso") == str(wheel):
            assert parameter.value == pytest.approx(prior[parameter.name], abs=1e-6), parameter.name
            assert not parameter.identifiable
    bodies = np.array([p.value for p in found.standard]).reshape(len(robot.joints), 14)[:, :10]
    assert all(is_possible(body) for body in bodies)


def test_files_are_those_of_the_whole_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = _csv(tmp_path / "log.csv", with_held=True)
    urdf = tmp_path / "mobile.urdf"
    urdf.write_text(URDF)
    out = tmp_path / "out"
    assert main(["identify", str(urdf), "--log", str(log), "--out", str(out), "--friction", "standard"]) == 0
    said = capsys.readouterr().out
    assert "wheel  " not in said
    assert json.loads((out / "result.json").read_text())["fixed"] == pytest.approx(HELD, abs=1e-5)
    predict = ["predict", "--parameters", str(out / "parameters.yaml"), "--log", str(log)]
    assert main([*predict, str(urdf), "--out", str(tmp_path / "tau.csv")]) == 0
    again = dyn_core.load_robot(out / "identified.urdf")
    parameters = dyn_core.load_parameters(out / "parameters.yaml")
    assert parameters.applied_to(again).parameters == pytest.approx(
        parameters.applied_to(dyn_core.load_robot(urdf)).parameters, abs=1e-9
    )


def test_a_robot_that_stands_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    t = np.arange(0.0, 5.0, 0.01)
    names = [*MOVING, *HELD]
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [t, *(0.1 + 1e-6 * rng.normal(size=len(t)) for _ in names), *([t + 1] * len(names))]
    )
    header = ["time", *(f"position.{n}" for n in names), *(f"effort.{n}" for n in names)]
    np.savetxt(path, table, delimiter=",", header=",".join(header), comments="")
    with pytest.raises(DynError, match="no joint moves"):
        _identified(path)
