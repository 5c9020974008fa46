# SPDX-License-Identifier: Apache-2.0
"""Models without accelerations are what regressor, inertia matrix and Pinocchio say; few operations."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pinocchio_projected import ProjectedOracle
from simulated_truth import SEVEN, SIX, arm, exact_motion, true_values, with_drives

import dyn_core
from dyn_core.algorithms.dynamics.regressors import filtered_model
from dyn_core.cli.main import main
from dyn_core.codegen.languages.registry import emitted
from dyn_core.dynamics.energy_model import energy_row
from dyn_core.identification.energy_equations import energy_factors, power_factors, scalar_names
from dyn_core.identification.estimators.least_squares import weighted
from dyn_core.identification.factors import factors
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.link_by_link import link_by_link, structure
from dyn_core.identification.motor_coupling import MotorCoupling
from dyn_core.identification.programs import MODELS, identification_program
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.momentum_energy import energy_program, filtered_program, momenta
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.rows import Rows
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT

pin = pytest.importorskip("pinocchio")

CONFIG = Path(__file__).resolve().parents[3] / "config" / "robots"
URDFS = sorted(CONFIG.glob("*.urdf"))

GENERAL = "NF = 6\nNL = 6\nNJ = 6\nType = 0\nAnt = {0,1,2,3,4,5}\nMu = {1,1,1,1,1,1}\nG = {0,0,9.81}\n"
PUMA = f"""(* File puma.par *)
(* Robotname = 'puma' *)
{GENERAL}Sigma = {{0,0,0,0,0,0}}
d = {{0,0,0.4318,0.0203,0,0}}
R = {{0,0,0.15005,0.4318,0,0}}
Alpha = {{0,-Pi/2,0,-Pi/2,Pi/2,-Pi/2}}
Theta = {{t1,t2,t3,t4,t5,t6}}
gamma = {{0,0,0,0,0,0}}
B = {{0,0,0,0,0,0}}
"""
STANFORD = f"""(* File stanford.par *)
(* Robotname = 'stanford' *)
{GENERAL}Sigma = {{0,0,1,0,0,0}}
d = {{0,0,0,0,0,0}}
R = {{0,0.1524,r3,0,0,0}}
Alpha = {{0,-Pi/2,Pi/2,0,-Pi/2,Pi/2}}
Theta = {{t1,t2,0,t4,t5,t6}}
gamma = {{0,0,0,0,0,0}}
B = {{0,0,0,0,0,0}}
"""


def from_par(text: str, directory: Path) -> dyn_core.Robot:
    path = directory / "robot.par"
    path.write_text(text)
    return dyn_core.load_robot(path)


def inertial(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not name.startswith("Ia")]


@pytest.mark.parametrize(("text", "base", "mul", "add"), [(PUMA, 36, 720, 635), (STANFORD, 33, 612, 524)])
def test_filtered_model_takes_fewer_operations_than_symoro(
    text: str, base: int, mul: int, add: int, tmp_path: Path
) -> None:
    """SYMORO+ 2003, appendix 4.5, with base parameters."""
    robot = from_par(text, tmp_path)
    kept = inertial(base_columns(robot).kept)
    assert len(kept) == base
    counts = filtered_program(robot, kept).operation_counts
    assert counts["mul"] <= mul
    assert counts["add"] <= add
    assert counts["div"] == 0


@pytest.mark.parametrize(("text", "mul", "add"), [(PUMA, 498, 283), (STANFORD, 430, 234)])
def test_operations_of_the_filtered_model_are_told(
    text: str, mul: int, add: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `dyn counts`, of the rigid bodies alone, and in the head of what `dyn emit` writes."""
    from_par(text, tmp_path)
    rigid = ["--no-friction", "--no-rotor-inertia"]
    assert main(["counts", str(tmp_path / "robot.par"), *rigid, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["operations"]["filtered_model"]
    assert (counts["mul"], counts["add"], counts["div"]) == (mul, add, 0)
    options = ["--function", "filtered_model", "--lang", "c", *rigid]
    assert main(["emit", str(tmp_path / "robot.par"), *options]) == 0
    assert f"operations: {mul} mul, {add} add, 0 div" in capsys.readouterr().out


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_emitted_models_have_named_columns(path: Path) -> None:
    """What the emitted Python computes, times the parameters that it names: torques and energies."""
    robot = with_drives(dyn_core.load_robot(path))
    base = dyn_core.base_parameters(robot)
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    known |= dict(zip(base.names, base.values(known), strict=True))
    functions, K = {}, {}
    for name in MODELS:
        program = identification_program(robot, name)
        text = emitted(program, robot, "python")
        head = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
        told = re.search(r"columns \((\d+)\): (.*) operations:", head)
        assert told is not None
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
        h = 1e-3
        steps = [(q + s * qd + 0.5 * s * s * qdd, qd + s * qdd) for s in (-2 * h, -h, h, 2 * h)]
        at = [functions["filtered_model"](*state)[:n] @ K["filtered_model"] for state in steps]
        slope = (8.0 * (at[2] - at[1]) - (at[3] - at[0])) / (12.0 * h)
        found = slope + functions["filtered_model"](q, qd)[n:] @ K["filtered_model"]
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
        energies = [functions["energy_model"](*state) @ K["energy_model"] for state in steps]
        power = (8.0 * (energies[2] - energies[1]) - (energies[3] - energies[0])) / (12.0 * h)
        assert power == pytest.approx(smooth.inverse_dynamics(q, qd, qdd) @ qd, rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("text", [PUMA, STANFORD])
def test_energy_takes_few_operations(text: str, tmp_path: Path) -> None:
    robot = from_par(text, tmp_path)
    counts = energy_program(robot, inertial(base_columns(robot).kept)).operation_counts
    assert counts["mul"] + counts["add"] <= 160


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_filtered_model_is_the_regressor(path: Path) -> None:
    """d/dt D1 along a motion, plus D2, in every column."""
    robot = dyn_core.load_robot(path)
    model = dyn_core.compile_model(robot, backend="python")
    run = momenta_of_all(robot)
    random = np.random.default_rng(0)
    for q, qd, qdd in random.uniform(-1.5, 1.5, (5, 3, robot.dof)):
        h = 1e-3
        at = [run(q + s * qd + 0.5 * s * s * qdd, qd + s * qdd)[0] for s in (-2 * h, -h, h, 2 * h)]
        slope = (8.0 * (at[2] - at[1]) - (at[3] - at[0])) / (12.0 * h)
        expected = model.regressor(q, qd, qdd)
        np.testing.assert_allclose(slope + run(q, qd)[1], expected, atol=1e-8 * np.abs(expected).max())


def momenta_of_all(robot: dyn_core.Robot):
    from dyn_core.codegen.traced_program import Program
    from dyn_core.facade.runnable import runnables

    program: Program = filtered_program(robot, robot.parameter_names)
    (runnable,) = runnables([program], "python")
    return lambda q, qd: runnable.run((), q, qd)


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_momenta_and_energy_are_those_of_the_inertia_matrix(path: Path) -> None:
    robot = dyn_core.load_robot(path)
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    K = np.array(model.parameters)
    random = np.random.default_rng(1)
    for q, qd in random.uniform(-1.5, 1.5, (5, 2, robot.dof)):
        D1, _ = momenta_of_all(robot)(q, qd)
        A = model.inertia_matrix(q)
        np.testing.assert_allclose(D1 @ K, A @ qd, rtol=1e-10, atol=1e-12)
        names = [name for name in robot.parameter_names if name[:2] not in ("Fv", "Fs", "Fo")]
        moving = energy(robot, names, q, qd) - energy(robot, names, q, 0.0 * qd)
        known = dict(zip(robot.parameter_names, K, strict=True))
        assert moving @ [known[name] for name in names] == pytest.approx(0.5 * qd @ A @ qd)


def energy(robot: dyn_core.Robot, names: list[str], q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    from dyn_core.facade.runnable import runnables

    (runnable,) = runnables([energy_program(robot, names)], "python")
    return runnable.run((), q, qd)


@pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)
def test_energy_is_pinocchios(path: Path) -> None:
    """The columns by Pinocchio's energy regressors, in its own parameters."""
    robot = dyn_core.load_robot(path, snap=0)
    full = pin.buildModelFromXML(path.read_text())
    if not all(map(full.existJointName, robot.joint_names)):
        pytest.skip("Pinocchio has one joint where a floating one is a chain of six here")
    oracle = ProjectedOracle(path.read_text(), robot)
    full.gravity.linear = np.array(robot.gravity)
    if full.nv != robot.dof:
        pytest.skip("Pinocchio has a coordinate more for joints that mimic")
    data = full.createData()
    order = [full.getJointId(name) for name in robot.joint_names]
    random = np.random.default_rng(2)
    rows = []
    states = random.uniform(-1.5, 1.5, (6, 2, robot.dof))
    names = list(robot.parameter_names)
    rigid = [k for k in range(len(names)) if k % PER_JOINT < len(INERTIAL)]
    for q, qd in states:
        own = np.array(energy_row(robot, q.tolist(), qd.tolist(), robot.gravity_0))
        own = own.reshape(robot.dof, 11)[:, :10].ravel() @ oracle.parameter_map()
        theirs_q, theirs_v = np.zeros(full.nq), np.zeros(full.nv)
        for joint, position, speed in zip(order, q, qd, strict=True):
            one = full.joints[joint]
            theirs_v[one.idx_v] = speed
            values = [position] if one.nq == 1 else [np.cos(position), np.sin(position)]
            theirs_q[one.idx_q : one.idx_q + one.nq] = values
        kinetic = pin.computeKineticEnergyRegressor(full, data, theirs_q, theirs_v)
        potential = pin.computePotentialEnergyRegressor(full, data, theirs_q)
        by_joint = (np.array(kinetic) + np.array(potential)).reshape(-1, 10)
        rows.append(own - by_joint[[joint - 1 for joint in order]].ravel())
    # The potential energy of a mass counts from the origin of frame 0 here, from the root link there.
    differences = np.array(rows)
    assert len(rigid) == differences.shape[1]
    np.testing.assert_allclose(differences - differences[0], 0.0, atol=1e-9)


def exact(robot: dyn_core.Robot, factor: int, friction: float = 1.0):
    values = np.array(robot.parameters).reshape(-1, PER_JOINT).copy()
    values[:, 12] *= friction
    robot = robot.with_parameters(values.ravel())
    base = base_columns(robot)
    return robot, base, replace(exact_motion(robot, 12.0), decimate=factor)


def test_filtered_equations_give_the_parameters_without_accelerations() -> None:
    robot, base, moved = exact(with_drives(arm(SIX)), 20, friction=0.0)
    equations = Equations(moved, base, momenta(base))
    found = weighted(factors(Rows(equations, ((FrictionModel(),),) * 6)))
    expected = true_values(robot, base)
    np.testing.assert_allclose(found.x, expected, atol=2e-4 * np.abs(expected).max())
    assert found.identifiable.all()


@pytest.mark.parametrize("what", ["energy", "power"])
def test_energy_and_power_give_the_parameters(what: str) -> None:
    robot, base, moved = exact(with_drives(arm(SIX)), 20, friction=0.0)
    data = energy_factors(moved, base, 40) if what == "energy" else power_factors(moved, base)
    found = weighted(data)
    expected = true_values(robot, base)
    assert len(scalar_names(base)) == len(expected)
    np.testing.assert_allclose(found.x, expected, atol=2e-2 * np.abs(expected).max())


@pytest.mark.parametrize("axes", [SIX, SEVEN], ids=["six", "seven"])
def test_link_by_link_gives_the_parameters(axes: tuple) -> None:
    robot, base, moved = exact(with_drives(arm(axes)), 10)
    data = factors(Rows(Equations(moved, base), ((FrictionModel(),),) * robot.dof))
    found = link_by_link(base, data)
    assert found.order == tuple(range(robot.dof - 1, -1, -1))
    expected = true_values(robot, base)
    np.testing.assert_allclose(found.x, expected, atol=1e-7 * np.abs(expected).max())


def test_structure_is_triangular() -> None:
    """SYMORO+ 2003, eq. (3.108): what a joint does not carry has no part in its torque."""
    for path in URDFS:
        robot = dyn_core.load_robot(path)
        base = base_columns(robot)
        random = np.random.default_rng(3)
        columns = base.columns(*random.uniform(-1.0, 1.0, (3, 40, robot.dof)))
        assert not np.any(columns[:, ~structure(base)])
    seven = structure(base_columns(arm(SEVEN)))
    assert seven.sum(axis=1).tolist() == sorted(seven.sum(axis=1).tolist(), reverse=True)


def test_motor_of_two_joints_is_found() -> None:
    robot = with_drives(arm(SIX))
    coupling = MotorCoupling("6", {"joint_5": 1.0, "joint_6": -0.5})
    base = base_columns(robot, [coupling])
    assert base.kept[-3:] == ("Iam6", "Fvm6", "Fsm6")
    moved = exact_motion(robot, 12.0)
    a = np.array([0.0, 0.0, 0.0, 0.0, 1.0, -0.5])
    speed = moved.qd @ a
    torque = 0.02 * (moved.qdd @ a) + 0.3 * speed + 0.4 * np.sign(speed)
    moved.tau[...] += np.outer(torque, a)
    found = weighted(factors(Rows(Equations(moved, base), ((FrictionModel(),),) * 6)))
    np.testing.assert_allclose(found.x[len(base.kept) - 3 : len(base.kept)], [0.02, 0.3, 0.4], rtol=1e-6)


def test_motor_of_an_unknown_joint_is_refused() -> None:
    with pytest.raises(dyn_core.DynError, match="has no joint 'wrist'"):
        base_columns(arm(SIX), [MotorCoupling("6", {"wrist": 1.0})])


def test_filtered_matrices_are_those_of_floats() -> None:
    """The traced program and the algorithm on floats are one text."""
    robot = dyn_core.load_robot(CONFIG / "rx90.urdf")
    q, qd = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 6))
    on_floats = filtered_model(robot, q.tolist(), qd.tolist(), robot.gravity_0)
    np.testing.assert_allclose(momenta_of_all(robot)(q, qd), np.array(on_floats), atol=1e-13)
