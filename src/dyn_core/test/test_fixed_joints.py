# SPDX-License-Identifier: Apache-2.0
"""Joints that never move in a log are treated as fixed.

The reference is Pinocchio with the same joints held.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from identification_log import write_table
from refusals import refused

import dyn_core
from dyn_core import Identified, Protocol
from dyn_core.cli.main import main
from dyn_core.core.arrays import Array
from dyn_core.core.messages import Message
from dyn_core.identification.estimators.physical_consistency import is_possible
from dyn_core.identification.fixed_joints import with_fixed_joints

MOVING = ("a", "b", "c")
HELD = {"wheel": 0.3, "head": -0.7, "hand": 0.6, "finger": 0.02}
"""Their constant positions (rad or m)."""
MIMIC = '<mimic joint="finger" multiplier="0.5" offset="0.01"/>'
LIMIT = '<limit lower="-3" upper="3" effort="100" velocity="5"/>'


def _joint(name: str, parent: str, kind: str, axis: str, origin: str, more: str = "") -> str:
    mass = 1.5 if name in MOVING else 0.4
    return (
        f'<link name="{name}_link"><inertial><origin xyz="0.05 -0.02 0.1"/><mass value="{mass}"/>'
        f'<inertia ixx="0.02" iyy="0.03" izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{name}_link"/>'
        f'<origin xyz="{origin}" rpy="0.2 -0.4 0.1"/><axis xyz="{axis}"/>{LIMIT}{more}</joint>'
    )


JOINTS = (
    _joint("wheel", "base", "revolute", "0 1 0", "0 0.2 0"),
    _joint("a", "base", "revolute", "0 0 1", "0 0 0.3"),
    _joint("head", "a_link", "revolute", "1 0 0", "0 0 0.2"),
    _joint("b", "a_link", "revolute", "0 1 0", "0.1 0 0.2"),
    _joint("c", "b_link", "revolute", "0 1 0", "0 0 0.3"),
    _joint("hand", "c_link", "revolute", "1 0 0", "0 0 0.2"),
    _joint("finger", "hand_link", "prismatic", "1 0 0", "0 0 0.1"),
    _joint("thumb", "hand_link", "prismatic", "0 1 0", "0 0 0.1", MIMIC),
)
URDF = f'<robot name="mobile"><link name="base"/>{"".join(JOINTS)}</robot>'
ROBOT = dyn_core.load_robot(URDF)


def _truth() -> pin.Model:
    """Return the true robot; its bodies are up to a third heavier than in the description."""
    model = pin.buildModelFromXML(URDF)
    rng = np.random.default_rng(2)
    for j in range(1, model.njoints):
        body, factor = model.inertias[j], 1.0 + rng.uniform(-0.2, 0.35)
        lever = body.lever + rng.uniform(-0.02, 0.02, 3)
        model.inertias[j] = pin.Inertia(factor * body.mass, lever, factor * body.inertia)
    return model


def _motion(seed: int, duration: float, rate: float = 200.0) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / rate)
    w = 2 * np.pi * rng.uniform(0.1, 0.6, (3, 4))
    p, a = rng.uniform(0.0, 6.0, (3, 4)), rng.uniform(0.2, 0.5, (3, 4))
    phase = t[:, None, None] * w + p
    motion = a * np.sin(phase), a * w * np.cos(phase), -a * w**2 * np.sin(phase)
    return (t, *(values.sum(-1) for values in motion))


def _torques(q: Array, qd: Array, qdd: Array) -> Array:
    """Torques of the moving joints, with friction, while the other joints are held."""
    model = _truth()
    data = model.createData()
    at = dict(HELD, thumb=0.5 * HELD["finger"] + 0.01)
    places = [list(model.names).index(name) - 1 for name in MOVING]
    full = np.zeros((len(q), 3, model.nv))
    full[:, 0] = [at.get(name, 0.0) for name in model.names[1:]]
    full[..., places] = np.stack((q, qd, qdd), axis=1)
    found = [pin.rnea(model, data, *sample)[places] for sample in full]
    return np.array(found) + 0.5 * qd + 0.3 * np.sign(qd)


def _csv(path: Path, *, with_held: bool) -> Path:
    t, q, qd, qdd = _motion(1, 20.0)
    rng = np.random.default_rng(0)
    tau = _torques(q, qd, qdd) + 0.01 * rng.normal(size=q.shape)
    names = MOVING
    if with_held:
        names = (*MOVING, *HELD)
        q = np.hstack([q, np.tile(list(HELD.values()), (len(t), 1))])
        tau = np.hstack([tau, rng.normal(size=(len(t), len(HELD))) + 3.0])  # any torque within stiction
    return write_table(path, names, t, q + 1e-5 * rng.normal(size=q.shape), tau)


def _identified(path: Path, mapping: dict[str, object] | None = None) -> Identified:
    return dyn_core.identify(ROBOT, dyn_core.condition(dyn_core.read_log(path, mapping, ROBOT), Protocol()))


@pytest.fixture(scope="module", params=[True, False], ids=["in the log", "held"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Identified:
    """Results of a log with the fixed joints, and of a log without them whose map gives their positions."""
    path = _csv(tmp_path_factory.mktemp("fixed") / "log.csv", with_held=request.param)
    return _identified(path, None if request.param else {"held": HELD})


def test_other_motions_agree_with_pinocchio(found: Identified) -> None:
    _, q, qd, qdd = _motion(7, 5.0, 50.0)
    places = [ROBOT.joint_names.index(name) for name in MOVING]
    full = np.zeros((3, len(q), ROBOT.dof))
    full[0] = [HELD.get(name, 0.0) for name in ROBOT.joint_names]
    full[..., places] = q, qd, qdd
    truth = _torques(q, qd, qdd)
    identified, described = (
        dyn_core.compile_model(one, backend="python").inverse_dynamics(*full)[:, places] - truth
        for one in (ROBOT.with_parameters(found.parameters), ROBOT)
    )
    assert np.linalg.norm(identified) < 0.01 * np.linalg.norm(truth)
    assert np.linalg.norm(described) > 0.1 * np.linalg.norm(truth)


def test_fixed_joints_need_no_columns_and_are_named(found: Identified) -> None:
    robot, arm = ROBOT, with_fixed_joints(ROBOT, HELD)
    assert arm.joint_names == MOVING
    assert [p.name for p in found.base] == list(dyn_core.base_parameters(arm).names)
    assert len(found.base) < 30
    assert found.joint_names == robot.joint_names
    assert dict(found.fixed) == pytest.approx(HELD, abs=1e-5)
    assert Message("joints-taken-as-fixed", joints=("wheel", "head", "hand", "finger")) in found.remarks
    for i, name in enumerate(found.joint_names):
        assert np.isnan(found.errors.fitted.by_joint[i]) == (name in HELD)
        assert not any(p.identifiable for p in found.friction[i].parameters) or name not in HELD
    wheel = [joint.name for joint in robot.joints].index("wheel")
    of_wheel = slice(14 * wheel, 14 * (wheel + 1))
    for parameter, prior in zip(found.standard[of_wheel], robot.parameters[of_wheel], strict=True):
        assert parameter.value == pytest.approx(prior, abs=1e-6), parameter.name
        assert not parameter.identifiable
    bodies = np.array([p.value for p in found.standard]).reshape(len(robot.joints), 14)[:, :10]
    assert all(is_possible(body) for body in bodies)


def test_files_describe_the_whole_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = _csv(tmp_path / "log.csv", with_held=True)
    urdf, out = tmp_path / "mobile.urdf", tmp_path / "out"
    urdf.write_text(URDF)
    assert main(["identify", str(urdf), "--log", str(log), "--out", str(out), "--friction", "standard"]) == 0
    assert "wheel  " not in capsys.readouterr().out
    assert json.loads((out / "result.json").read_text())["fixed"] == pytest.approx(HELD, abs=1e-5)
    predict = ["predict", "--parameters", str(out / "parameters.yaml"), "--log", str(log)]
    assert main([*predict, str(urdf), "--out", str(tmp_path / "tau.csv")]) == 0
    again = dyn_core.load_robot(out / "identified.urdf")
    parameters = dyn_core.load_parameters(out / "parameters.yaml")
    ours, theirs = (parameters.applied_to(robot).parameters for robot in (again, ROBOT))
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_a_robot_that_never_moves_is_refused(tmp_path: Path) -> None:
    t, names = np.arange(0.0, 5.0, 0.01), [*MOVING, *HELD]
    q = 0.1 + 1e-6 * np.random.default_rng(0).normal(size=(len(t), len(names)))
    path = write_table(tmp_path / "log.csv", names, t, q, np.tile(t[:, None] + 1, len(names)))
    with refused("signals-without-motion"):
        _identified(path)
