# SPDX-License-Identifier: Apache-2.0
"""Identification models: equations, operation counts, and parameters of motions by Pinocchio."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from commands import Command
from pinocchio_oracle import Oracle
from pinocchio_projected import ProjectedOracle
from refusals import refused
from robots import ROBOTS, example
from simulated_truth import SEVEN, SIX, arm, arm_urdf, excitation, with_drives

import dyn_core
from dyn_core.algorithms.dynamics.regressors import energy_row, filtered_model
from dyn_core.codegen.languages.registry import emitted
from dyn_core.codegen.traced_program import Program
from dyn_core.identification.estimators.identification_model import structure
from dyn_core.identification.regressor import momentum_energy
from dyn_core.identification.regressor.base_columns import MotorCoupling, base_columns
from dyn_core.identification.regressor.momentum_energy import energy_program, filtered_program
from dyn_core.model.tunable_parameters import runnables
from dyn_core.robot.dynamic_parameters import INERTIAL, PER_JOINT

EACH_ROBOT = pytest.mark.parametrize("path", sorted(ROBOTS.glob("*.urdf")), ids=lambda path: path.stem)
EACH_ARM = pytest.mark.parametrize("axes", [SIX, SEVEN], ids=["six", "seven"])

FRICTION = ("Fv", "Fs", "Fo")
ALL = ("dynamic", "filtered", "energy", "power")
TURNED = dyn_core.MotorCoupling("w", {"joint_5": 1.0, "joint_6": -0.5})
OF_MOTOR = {"Iamw": 0.05, "Fvmw": 0.6, "Fsmw": 0.9}


@cache
def moved(
    axes: Sequence, motor: bool = False, decimate: int = 10, coulomb: float = 2.0
) -> tuple[dyn_core.Robot, dyn_core.Signals, dict[str, float]]:
    """An arm, a motion with torques by Pinocchio (rotors and friction by hand), and its parameters."""
    robot = arm(axes)
    n = robot.dof
    t, q, qd, qdd = excitation(n, 12.0)
    oracle = Oracle(arm_urdf(axes), robot.joint_names, robot.gravity)
    rigid = np.array([oracle.inverse_dynamics(*state, {}) for state in zip(q, qd, qdd, strict=True)])
    size = np.linspace(1.0, 0.2, n)
    drives = {"Ia": 0.4 * size, "Fv": 3.0 * size, "Fs": coulomb * size, "Fo": 0.3 * size}
    tau = rigid + drives["Ia"] * qdd + drives["Fv"] * qd + drives["Fs"] * np.sign(qd) + drives["Fo"]
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    known |= {f"{name}{j}": x for name, values in drives.items() for j, x in enumerate(values.tolist(), 1)}
    if motor:
        a = np.array([0.0, 0.0, 0.0, 0.0, 1.0, -0.5])
        Ia, Fv, Fs = OF_MOTOR.values()
        tau += np.outer(Ia * (qdd @ a) + Fv * (qd @ a) + Fs * np.sign(qd @ a), a)
        known |= OF_MOTOR
    signals = dyn_core.signals_of_arrays(robot.joint_names, t, q, qd, qdd, tau, decimate=decimate)
    return robot, signals, known


def truth(model: dyn_core.IdentificationModel, known: dict[str, float]) -> np.ndarray:
    values = model.base.matrix @ np.array([known[name] for name in model.base.standard_names])
    return np.array([*values, *(known[name] for name in model.names[len(values) :])])


@EACH_ARM
@pytest.mark.parametrize(
    ("kind", "coulomb", "tolerance"),
    [
        *(("dynamic", 2.0, 1e-8), ("filtered", 2.0, 2e-3), ("filtered", 0.0, 2e-4)),
        *(("energy", 2.0, 2e-2), ("power", 2.0, 2e-2)),
    ],
)
def test_every_model_finds_the_parameters(
    kind: str, coulomb: float, tolerance: float, axes: Sequence
) -> None:
    """The dynamic model exactly.

    The others up to the effect of Coulomb steps on integrals and differences.
    """
    robot, signals, known = moved(axes, coulomb=coulomb, decimate=10 if coulomb else 20)
    model = dyn_core.identification_model(robot, signals, kind)
    base = dyn_core.base_parameters(robot)
    assert model.names == (*base.names, *(f"{f}{j}" for j in range(1, robot.dof + 1) for f in FRICTION))
    found, expected = model.estimate(), truth(model, known)
    atol = tolerance * np.abs(expected).max()
    np.testing.assert_allclose(found.values, expected, atol=atol)
    assert found.parameters == dict(zip(model.names, found.values, strict=True))
    assert np.isfinite(found.deviations).all()
    # Fewer independent samples: the variances grow in proportion.
    fewer = replace(model, memory=9.0 * model.memory).estimate()
    np.testing.assert_allclose(fewer.deviations, 3.0 * found.deviations)
    left = model.measured - model.columns @ expected
    assert np.linalg.norm(left) < 0.02 * np.linalg.norm(model.measured)
    again = np.linalg.lstsq(model.columns, model.measured, rcond=None)[0]
    np.testing.assert_allclose(again, expected, atol=2.0 * atol)
    assert len(model.units) == model.columns.shape[1] == len(model.names)
    joints = [-1] if kind in ("energy", "power") else [*range(robot.dof)]
    assert sorted(set(model.joints.tolist())) == joints
    for i in joints if joints != [-1] else []:
        assert not np.any(model.columns[model.joints == i][:, ~model.structure[i]])


@pytest.mark.parametrize(("kind", "tolerance"), [("dynamic", 1e-7), ("filtered", 2e-2)])
@EACH_ARM
def test_link_by_link(kind: str, tolerance: float, axes: Sequence) -> None:
    """The equations are triangular: those of the last joint have no parameters of earlier links."""
    robot, signals, known = moved(axes)
    model = dyn_core.identification_model(robot, signals, kind)
    counts = model.structure.sum(axis=1).tolist()
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 0.3 * len(model.names)
    found, expected = model.link_by_link(), truth(model, known)
    np.testing.assert_allclose(found.values, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("kind", ALL)
def test_motors_of_several_joints_are_in_every_model(kind: str) -> None:
    robot, signals, known = moved(SIX, motor=True)
    model = dyn_core.identification_model(robot, signals, kind, couplings=[TURNED])
    assert model.base.kept[-3:] == tuple(OF_MOTOR)
    found = model.estimate()
    values = {name: found.parameters[name] for name in OF_MOTOR}
    assert values == pytest.approx(OF_MOTOR, abs=1e-7 if kind == "dynamic" else 2e-2)
    without = dyn_core.identification_model(robot, signals, kind).estimate()
    assert np.max(without.sigma) > 3.0 * np.max(found.sigma)
    if kind == "dynamic":
        expected = truth(model, known)
        np.testing.assert_allclose(model.link_by_link().values, expected, atol=1e-6 * np.abs(expected).max())


def test_refused_models() -> None:
    robot, signals, _ = moved(SIX)
    with refused("argument-choice-unknown", known="one of dynamic, filtered, energy, power"):
        dyn_core.identification_model(robot, signals, "kinetic")  # type: ignore[arg-type]
    loaded, viscous = ((dyn_core.FrictionModel(terms),) * 6 for terms in (("viscous", "load"), ("viscous",)))
    for kind, friction in (("dynamic", loaded), ("energy", viscous)):
        with refused("model-friction-unsupported", model=kind):
            dyn_core.identification_model(robot, signals, kind, friction=friction)
    assert "Fs1" not in dyn_core.identification_model(robot, signals, friction=viscous).names
    for kind in ("energy", "power"):
        model = dyn_core.identification_model(robot, signals, kind)
        for use in (lambda model: model.structure, lambda model: model.link_by_link()):
            with refused("model-without-joint-equations", model=kind):
                use(model)
    with refused("motion-equations-too-few", count=5, model="energy"):
        dyn_core.identification_model(robot, signals, "energy", interval=2000)
    with refused("signals-joint-missing", missing=["joint_7"]):
        dyn_core.identification_model(arm(SEVEN), signals)
    _, whole, _ = moved(SIX, decimate=1)
    for kind in ("filtered", "power"):
        with refused("model-needs-decimation"):
            dyn_core.identification_model(robot, whole, kind)
    signals = replace(signals, tau=signals.tau * [1.0, 1.0, np.nan, 1.0, 1.0, 1.0])
    with refused("joint-effort-missing", joints=["joint_3"], model="power"):
        dyn_core.identification_model(robot, signals, "power")
    assert 2 not in dyn_core.identification_model(robot, signals).joints
    with refused("joint-unknown", joint="wrist"):
        base_columns(arm(SIX), [MotorCoupling("6", {"wrist": 1.0})])


def test_public_names_are_in_the_documentation() -> None:
    """Each name is in docs/api.md."""
    text = (ROBOTS.parents[1] / "docs" / "api.md").read_text()
    assert set(dyn_core.__all__) <= set(re.findall(r":: dyn_core\.(\w+)$", text, re.MULTILINE))


# Models without accelerations, against the regressor, the inertia matrix and Pinocchio

PUMA = {"Sigma": "0,0,0,0,0,0", "d": "0,0,0.4318,0.0203,0,0", "R": "0,0,0.15005,0.4318,0,0"}
PUMA |= {"Alpha": "0,-Pi/2,0,-Pi/2,Pi/2,-Pi/2", "Theta": "t1,t2,t3,t4,t5,t6"}
STANFORD = {"Sigma": "0,0,1,0,0,0", "d": "0,0,0,0,0,0", "R": "0,0.1524,r3,0,0,0"}
STANFORD |= {"Alpha": "0,-Pi/2,Pi/2,0,-Pi/2,Pi/2", "Theta": "t1,t2,0,t4,t5,t6"}
GENERAL = {
    "Ant": "0,1,2,3,4,5",
    "Mu": "1,1,1,1,1,1",
    "G": "0,0,9.81",
    "gamma": "0,0,0,0,0,0",
    "B": "0,0,0,0,0,0",
}


def from_par(table: dict[str, str], directory: Path) -> dyn_core.Robot:
    path = directory / "robot.par"
    rows = "\n".join(f"{name} = {{{values}}}" for name, values in (GENERAL | table).items())
    path.write_text(f"(* Robotname = 'robot' *)\nNF = 6\nNL = 6\nNJ = 6\nType = 0\n{rows}\n")
    return dyn_core.load_robot(path)


def evaluated(program: Program, *state: np.ndarray) -> np.ndarray:
    (runnable,) = runnables([program], "python")
    return runnable.run((), *state)


def slope(values: Sequence[np.ndarray], h: float) -> np.ndarray:
    """Return the derivative from values at -2 h, -h, h and 2 h."""
    return (8.0 * (values[2] - values[1]) - (values[3] - values[0])) / (12.0 * h)


def around(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, h: float = 1e-3) -> list[tuple]:
    """Return the states of a motion at the times -2 h, -h, h and 2 h."""
    return [(q + s * qd + 0.5 * s * s * qdd, qd + s * qdd) for s in (-2 * h, -h, h, 2 * h)]


@pytest.mark.parametrize(("table", "base", "mul", "add"), [(PUMA, 36, 720, 635), (STANFORD, 33, 612, 524)])
def test_models_take_fewer_operations_than_symoro(
    table: dict, base: int, mul: int, add: int, tmp_path: Path
) -> None:
    """SYMORO+ 2003, appendix 4.5, with base parameters."""
    robot = from_par(table, tmp_path)
    kept = [name for name in base_columns(robot).kept if not name.startswith("Ia")]
    assert len(kept) == base
    filtered, energy = (make(robot, kept).operation_counts for make in (filtered_program, energy_program))
    assert (filtered["mul"] <= mul, filtered["add"] <= add, filtered["div"]) == (True, True, 0)
    assert energy["mul"] + energy["add"] <= 160


@pytest.mark.parametrize(("table", "mul", "add"), [(PUMA, 498, 283), (STANFORD, 430, 234)])
def test_operation_counts_of_the_filtered_model_are_reported(
    table: dict, mul: int, add: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `dyn counts` for the rigid bodies alone, and in the head of the files of `dyn emit`."""
    from_par(table, tmp_path)
    words = str(tmp_path / "robot.par"), "--no-friction", "--no-rotor-inertia"
    counts = Command(tmp_path, capsys, "counts").json(*words)["operations"]["filtered_model"]
    assert (counts["mul"], counts["add"], counts["div"]) == (mul, add, 0)
    emit = Command(tmp_path, capsys, "emit", *words, "--function", "filtered_model", "--lang", "c")
    assert f"operations: {mul} mul, {add} add, 0 div" in emit().out


@EACH_ROBOT
def test_emitted_models_have_named_columns(path: Path) -> None:
    """Emitted Python, multiplied by the parameters that it names, gives torques and energies."""
    robot = with_drives(dyn_core.load_robot(path))
    base = dyn_core.base_parameters(robot)
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    known |= dict(zip(base.names, base.values(known), strict=True))
    functions, K = {}, {}
    for name in momentum_energy.MODELS:
        program = momentum_energy.identification_program(robot, name)
        text = emitted(program, robot, "python")
        head = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
        told = re.search(r"columns \((\d+)\): (.*) operations:", head)
        columns = told[2].split()
        assert len(columns) == int(told[1])
        namespace: dict = {}
        exec(text, namespace)
        functions[name], K[name] = namespace[name], np.array([known[column] for column in columns])
    model = dyn_core.compile_model(robot, backend="python")
    smooth = dyn_core.compile_model(robot, backend="python", friction=False)
    n, random = robot.dof, np.random.default_rng(6)
    for q, qd, qdd in random.uniform(-1.5, 1.5, (5, 3, n)):
        expected = model.inverse_dynamics(q, qd, qdd)
        found = functions["base_regressor"](q, qd, qdd) @ K["base_regressor"]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        steps = around(q, qd, qdd)
        at = [functions["filtered_model"](*state)[:n] @ K["filtered_model"] for state in steps]
        found = slope(at, 1e-3) + functions["filtered_model"](q, qd)[n:] @ K["filtered_model"]
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
        energies = [functions["energy_model"](*state) @ K["energy_model"] for state in steps]
        power = smooth.inverse_dynamics(q, qd, qdd) @ qd
        assert slope(energies, 1e-3) == pytest.approx(power, rel=1e-7, abs=1e-6)


@EACH_ROBOT
def test_filtered_and_energy_models_agree_with_regressor_and_inertia_matrix(path: Path) -> None:
    """d/dt D1 along a motion plus D2, in every column; momenta ``A qd`` and kinetic energy."""
    robot = dyn_core.load_robot(path)
    whole = dyn_core.compile_model(robot, backend="python")
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    known = dict(zip(robot.parameter_names, model.parameters, strict=True))
    names = [name for name in robot.parameter_names if name[:2] not in FRICTION]
    filtered, energy = filtered_program(robot, robot.parameter_names), energy_program(robot, names)
    for q, qd, qdd in np.random.default_rng(0).uniform(-1.5, 1.5, (5, 3, robot.dof)):
        D1, D2 = evaluated(filtered, q, qd)
        at = [evaluated(filtered, *state)[0] for state in around(q, qd, qdd)]
        expected = whole.regressor(q, qd, qdd)
        np.testing.assert_allclose(slope(at, 1e-3) + D2, expected, atol=1e-8 * np.abs(expected).max())
        A = model.inertia_matrix(q)
        np.testing.assert_allclose(D1 @ np.array(model.parameters), A @ qd, rtol=1e-10, atol=1e-12)
        moving = evaluated(energy, q, qd) - evaluated(energy, q, 0.0 * qd)
        assert moving @ [known[name] for name in names] == pytest.approx(0.5 * qd @ A @ qd)


@EACH_ROBOT
def test_energy_columns_agree_with_pinocchio(path: Path) -> None:
    """With Pinocchio's energy regressors in its own parameters."""
    robot = dyn_core.load_robot(path, snap=0)
    full = pin.buildModelFromXML(path.read_text())
    if not all(map(full.existJointName, robot.joint_names)):
        pytest.skip("Pinocchio has one joint where a floating one is a chain of six here")
    if full.nv != robot.dof:
        pytest.skip("Pinocchio has a coordinate more for joints that mimic")
    oracle = ProjectedOracle(path.read_text(), robot)
    full.gravity.linear = np.array(robot.gravity)
    data = full.createData()
    order = [full.getJointId(name) for name in robot.joint_names]
    random = np.random.default_rng(2)
    rows = []
    for q, qd in random.uniform(-1.5, 1.5, (6, 2, robot.dof)):
        own = np.array(energy_row(robot, q.tolist(), qd.tolist(), robot.gravity_0))
        own = own.reshape(robot.dof, 11)[:, :10].ravel() @ oracle.parameter_map()
        theirs_q, theirs_v = np.zeros(full.nq), np.zeros(full.nv)
        for joint, position, speed in zip(order, q, qd, strict=True):
            one = full.joints[joint]
            theirs_v[one.idx_v] = speed
            values = [position] if one.nq == 1 else [np.cos(position), np.sin(position)]
            theirs_q[one.idx_q : one.idx_q + one.nq] = values
        kinetic = np.array(pin.computeKineticEnergyRegressor(full, data, theirs_q, theirs_v))
        by_joint = (kinetic + pin.computePotentialEnergyRegressor(full, data, theirs_q)).reshape(-1, 10)
        rows.append(own - by_joint[[joint - 1 for joint in order]].ravel())
    # Potential energy counts from the origin of frame 0 here, from the root link in Pinocchio.
    differences = np.array(rows)
    assert differences.shape[1] == len(robot.parameter_names) // PER_JOINT * len(INERTIAL)
    np.testing.assert_allclose(differences - differences[0], 0.0, atol=1e-9)


def test_structure_is_triangular() -> None:
    """SYMORO+ 2003, eq. (3.108): bodies that a joint does not carry have no effect on its torque."""
    for path in ROBOTS.glob("*.urdf"):
        base = base_columns(dyn_core.load_robot(path))
        motion = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 40, base.robot.dof))
        assert not np.any(base.columns(*motion)[:, ~structure(base)])


def test_filtered_matrices_agree_with_the_algorithm_on_floats() -> None:
    """The traced program and the algorithm on floats share their code."""
    robot = example("rx90")
    q, qd = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 6))
    on_floats = filtered_model(robot, q.tolist(), qd.tolist(), robot.gravity_0)
    found = evaluated(filtered_program(robot, robot.parameter_names), q, qd)
    np.testing.assert_allclose(found, np.array(on_floats), atol=1e-13)
