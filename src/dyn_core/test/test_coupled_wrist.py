# SPDX-License-Identifier: Apache-2.0
"""A wrist whose motors move two joints: from drive signals to all result files with one command.

Pinocchio makes the log, with rotors and friction on the motor side; dyn_core is not used for it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from identification_log import write_table
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core.cli.main import main

JOINTS = ("shoulder", "wrist_1", "wrist_2")
RATIO = np.array([80.0, 50.0, -40.0])
C = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, -0.5]])
"""q = C q_a: the wrist motors turn in the same direction to bend it, in opposite directions to turn it."""
ROTOR = np.array([4e-5, 2e-5, 3e-5])  # Inertias of the motors (kg m^2), motor side
VISCOUS, COULOMB = np.array([5e-4, 3e-4, 4e-4]), np.array([0.04, 0.02, 0.03])
"""Friction of the motors (N m s/rad, N m), motor side."""

MAP = """
time: {column: time, unit: s}
joints:
  shoulder: {position: p1, effort: m1, ratio: 80}
  wrist_1: {position: p2, effort: m2, ratio: 50}
  wrist_2: {position: p3, effort: m3, ratio: 40, sign: -1}
coupling:
  - {joints: [wrist_1, wrist_2], matrix: [[0.5, 0.5], [0.5, -0.5]]}
"""


def urdf(mass: float) -> str:
    """An arm whose tool has a mass (kg)."""
    axes, places = ("0 1 0", "0 1 0", "1 0 0"), ("0 0 0.3", "0.4 0 0", "0.1 0 0")
    text, before = '<robot name="bent"><link name="base"/>', "base"
    for name, axis, xyz, m in zip(JOINTS, axes, places, (5.0, 1.0, mass), strict=True):
        text += (
            f'<link name="{name}_link"><inertial><origin xyz="0.15 0.02 0.03"/><mass value="{m}"/>'
            f'<inertia ixx="{0.01 * m}" iyy="{0.02 * m}" izz="{0.02 * m}" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="{name}" type="revolute"><parent link="{before}"/>'
            f'<child link="{name}_link"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="300" velocity="5"/></joint>'
        )
        before = f"{name}_link"
    return f"{text}</robot>"


def write_log(path: Path, mass: float = 1.5, seed: int = 0) -> None:
    """Write noisy signals of motor encoders and motor torque sensors."""
    random = np.random.default_rng(seed)
    t = np.arange(12_000) * 1e-3
    w = 2.0 * np.pi * 0.12 * np.arange(1, 6)
    a, b = random.normal(size=(2, 5, 3)) / np.arange(1, 6)[:, None]
    sines, cosines = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = sines @ a + cosines @ b
    qd = cosines @ (a * w[:, None]) - sines @ (b * w[:, None])
    qdd = -sines @ (a * w[:, None] ** 2) - cosines @ (b * w[:, None] ** 2)
    oracle = Oracle(urdf(mass), JOINTS, (0.0, 0.0, -9.81))
    rigid = np.array([oracle.inverse_dynamics(*state, {}) for state in zip(q, qd, qdd, strict=True)])
    # q = C theta / N with the motor angles theta; the power is the same on both sides.
    to_motor = RATIO[:, None] * np.linalg.inv(C)
    theta, omega, alpha = (x @ to_motor.T for x in (q, qd, qdd))
    motor = rigid @ np.linalg.inv(to_motor) + ROTOR * alpha + VISCOUS * omega + COULOMB * np.sign(omega)
    theta += 1e-4 * random.normal(size=theta.shape)
    motor += 0.005 * np.abs(motor).max(axis=0) * random.normal(size=motor.shape)
    head = "time,p1,p2,p3,m1,m2,m3"
    np.savetxt(path, np.column_stack([t, theta, motor]), "%.12g", ",", header=head, comments="")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wrist")
    write_log(directory / "log.csv")
    (directory / "arm.urdf").write_text(urdf(1.2))
    (directory / "map.yaml").write_text(MAP)
    return directory


def run(place: Path, command: str, log: str, *more: str) -> int:
    given = ["--log", str(place / log), "--map", str(place / "map.yaml")]
    return main([command, str(place / "arm.urdf"), *given, *more])


@pytest.fixture(scope="module")
def identified(place: Path) -> Path:
    out = ("--out", str(place / "out"), "--quiet", "--friction", "standard")
    assert run(place, "identify", "log.csv", *out) == 0
    return place / "out"


def test_rotors_and_friction_of_the_motors_are_found(place: Path, identified: Path, capsys) -> None:
    result = json.loads((identified / "result.json").read_text())
    for k, number in ((1, "2"), (2, "3")):
        # On the joint side: the motor angle divided by the ratio.
        expected = [ROTOR[k] * RATIO[k] ** 2, VISCOUS[k] * RATIO[k] ** 2, COULOMB[k] * abs(RATIO[k])]
        motor = result["motors"][number]
        assert set(motor["joints"]) == {"wrist_1", "wrist_2"}
        np.testing.assert_allclose([p["value"] for p in motor["parameters"]], expected, rtol=0.1)
    assert result["held_out"]["relative_torque_error"] < 0.01
    report = (identified / "report.html").read_text()
    assert "1 of wrist_1, -1 of wrist_2" in report
    assert "no motors that move several joints" in report
    assert "1 shoulder, 2 wrist_1, 3 wrist_2" in report
    assert "XX (kg m^2)" in report
    # The file has everything. Predictions are as good; those of nodes, which have no such motors, almost as
    # good.
    capsys.readouterr()
    out = ["--parameters", str(identified / "parameters.yaml"), "--out", str(place / "tau.csv")]
    assert run(place, "predict", "log.csv", "--json", *out) == 0
    predicted = json.loads(capsys.readouterr().out)
    assert predicted["identified"]["relative_torque_error"] < 0.01
    assert predicted["standard_friction"]["relative_torque_error"] < 0.1


def test_without_the_coupling_the_friction_is_not_explained(place: Path) -> None:
    """The same joint-side signals, with the coupling and without."""
    log = dyn_core.read_log(place / "log.csv", place / "map.yaml")
    write_table(place / "joints.csv", JOINTS, log.time, log.q, log.tau, "%.12g")
    robot = dyn_core.load_robot(place / "arm.urdf")
    coupling = {"joints": ["wrist_1", "wrist_2"], "matrix": [[0.5, 0.5], [0.5, -0.5]], "side": "joint"}
    errors = {}
    for name, mapping in (("with", {"coupling": [coupling]}), ("without", {})):
        signals = dyn_core.condition(dyn_core.read_log(place / "joints.csv", mapping, robot))
        settings = dyn_core.IdentificationSettings((dyn_core.FrictionModel(),) * 3, diagnose=False)
        found = dyn_core.identify(robot, signals, settings)
        assert found.consistent_errors.held_out is not None
        errors[name] = found.consistent_errors.held_out.by_joint[2]
        assert len(found.motors) == (2 if name == "with" else 0)
    assert errors["with"] < 0.4 * errors["without"]


@pytest.mark.parametrize("known", [False, True], ids=["pair", "parameters"])
def test_payload_of_a_coupled_wrist(place: Path, identified: Path, known: bool, capsys) -> None:
    """Replacing a tool of 1.5 kg by one of 2.1 kg is a payload of 0.6 kg, without rotors and friction."""
    write_log(place / "full.csv", mass=2.1, seed=1)
    beside = ["--unloaded", str(place / "log.csv"), "--friction", "standard"]
    beside = ["--parameters", str(identified / "parameters.yaml")] if known else beside
    capsys.readouterr()
    assert run(place, "payload", "full.csv", "--link", "wrist_2_link", *beside, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    values = {value["name"]: value for value in found["values"]}
    for name, expected in {"mass": 0.6, "centre x": 0.15, "centre y": 0.02, "centre z": 0.03}.items():
        assert values[name]["value"] == pytest.approx(expected, abs=4.0 * values[name]["deviation"]), name
        assert values[name]["deviation"] < 0.01
    errors = [found["errors"][which]["held_out"] for which in ("with_payload", "without_payload")]
    assert errors[0]["relative_torque_error"] < 0.01 < 0.1 < errors[1]["relative_torque_error"]
