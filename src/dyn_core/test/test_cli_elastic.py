# SPDX-License-Identifier: Apache-2.0
"""Commands for robots with springs: base parameters, counts, values for joints, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Command
from elastic_oracle import EXAMPLES, ROBOTS, ElasticOracle, example, random_elastic
from refusals import refused, refused_command

import dyn_core
from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.identification.output.parameter_set import ParameterSet
from dyn_core.robot.robot import Robot, always_zero

ARM = [str(ROBOTS / "rx90.urdf"), "--side-file", str(ROBOTS / "rx90_elastic.yaml")]
MACHINE = [str(ROBOTS / "high_speed_machine.urdf"), "--side-file", str(ROBOTS / "high_speed_machine.yaml")]
MOTORS = " ".join(f"joint_{k}_motor" for k in range(1, 7))
LINKS = MOTORS.replace("_motor", "")


@pytest.fixture
def dyn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys)


def loaded() -> Robot:
    return dyn_core.load_robot(ARM[0], loops=Path(ARM[2]))


def robots() -> dict[str, tuple[Robot, ElasticOracle]]:
    trees = {f"tree {seed}": random_elastic(seed, 3 + seed % 6) for seed in range(12)}
    return {name: example(name) for name in EXAMPLES} | trees


@pytest.mark.parametrize("method", ["symbolic", "numeric"])
@pytest.mark.parametrize("name", robots())
def test_base_parameters_are_those_of_random_motions(name: str, method: str) -> None:
    """By a QR decomposition of the regressor, and by Pinocchio's torques minus the spring torques."""
    robot, oracle = robots()[name]
    found = dyn_core.base_parameters(robot, method, without=always_zero(robot))
    q, qd, qdd = np.random.default_rng(7).uniform(-2.0, 2.0, (3, 60, robot.dof))
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    Y = model.regressor(q, qd, qdd).reshape(-1, len(model.parameter_names))
    present = [model.parameter_names.index(parameter) for parameter in found.standard_names]
    kept = Y[:, [model.parameter_names.index(parameter) for parameter in found.kept]]
    # The base parameters are independent, and all other parameters depend on them.
    diagonal = np.abs(np.diag(np.linalg.qr(kept / np.linalg.norm(kept, axis=0))[1]))
    assert diagonal.min() > 1e-7
    np.testing.assert_allclose(kept @ found.matrix, Y[:, present], rtol=0.0, atol=1e-9 * np.abs(Y).max())
    standard = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    assert not any(standard[parameter] for parameter in always_zero(robot))
    samples = zip(q, qd, qdd, strict=True)
    by_hand = [oracle.inverse_dynamics(*state, {}) - oracle.springs(*state[:2]) for state in samples]
    torques = (kept @ found.values(standard)).reshape(-1, robot.dof)
    np.testing.assert_allclose(torques, by_hand, rtol=0.0, atol=1e-9 * np.abs(by_hand).max())


def test_the_arm_has_36_parameters_of_links_and_6_of_rotors(dyn: Command) -> None:
    lines = dyn("base", *ARM).out.splitlines()
    assert lines[-4] == "42 base parameters of 66: 36 of bodies, 6 of rotors"
    said = "springs: stiffness, damping and rotors of elastic joints are not included"
    assert lines[-1] == f"{said}; motors behind springs have rotors, and no bodies"
    assert [line.split("  ")[-1] for line in lines[36:42]] == [f"Ia{k} = Ia{k}" for k in range(7, 13)]
    assert "XZR2 = XZ2 - d3*MZ3" in dyn("base", *ARM, "--symbols").out
    assert dyn.json("base", *ARM)["count"] == 42
    assert dyn("base", *MACHINE).out.splitlines()[-1] == said


def test_rotors_of_motors_are_grouped_where_the_joint_has_a_body() -> None:
    """A motor's rotor is grouped into the inertia of its body; without a body it is kept."""
    rigid = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    assert always_zero(rigid) == frozenset()
    whole = dyn_core.base_parameters(rigid)
    found = dyn_core.base_parameters(rigid, without={"ZZ1", "YY2", "M3"})
    assert whole.expressions[0] == "ZZR1 = ZZ1 + Ia1 + YY2 + ZZ3"
    assert found.expressions[0] == "IaR1 = Ia1 + ZZ3"
    assert len(found.standard_names) == 30
    standard = dict(zip(rigid.parameter_names, rigid.parameters, strict=True))
    standard |= {"M3": 0.0, "ZZ1": 0.0, "YY2": 0.0}
    lost = whole.kept.index("M3")
    np.testing.assert_allclose(found.values(standard), np.delete(whole.values(standard), lost), atol=1e-15)


def test_counts_list_the_documented_functions(dyn: Command) -> None:
    names = list(dyn.json("counts", *ARM)["operations"])
    assert names[-3:] == ["elastic_inverse_dynamics", "spring_torques", "motor_motion"]
    assert not [name for name in names if "loaded" in name or "base_regressor" in name]
    model = dyn_core.compile_model(loaded(), backend="python")
    with refused("function-unknown", function="dynamics") as caught:
        model.operation_counts("dynamics")
    assert "loaded" not in str(caught.value)
    assert "elastic_inverse_dynamics" in str(caught.value)


@pytest.mark.parametrize(
    ("robot", "option", "given", "known"),
    [
        (MACHINE, "--qdd", "1 2 3 4", "axis_x axis_y"),
        (ARM, "--q", "1 2", f"{LINKS} {MOTORS}"),
        (MACHINE, "--q", "1", "12 joints"),
    ],
)
def test_numbers_for_joints(robot: list[str], option: str, given: str, known: str) -> None:
    numbers = given.split()
    command = ["eval", *robot, "elastic_inverse_dynamics", option, *numbers]
    error = refused_command(command, "option-numbers-count", option=option, given=len(numbers))
    assert known in str(error.values["expected"]).replace("'", "").replace(",", "")


def test_shapes_in_python() -> None:
    model = dyn_core.compile_model(loaded())
    six, twelve = np.zeros(6), np.zeros(12)
    links, motors = LINKS.split(), MOTORS.split()
    of_all = {"count": 12, "given": (6,), "joints": [*links, *motors]}
    of_links = {"argument": "q", "count": 6, "given": (12,), "joints": links}
    for call, values in (
        (lambda: model.elastic_inverse_dynamics(six, six, six), {"argument": "q", **of_all}),
        (lambda: model.inverse_dynamics(six, six, six), {"argument": "q", **of_all}),
        (lambda: model.forward_dynamics(twelve, twelve, six), {"argument": "tau", **of_all}),
        (lambda: model.bias_torques(twelve, six), {"argument": "qd", **of_all}),
        (lambda: model.spring_torques(six, six), {"argument": "q", **of_all}),
        (lambda: model.motor_motion(*[twelve] * 5), of_links),
        (lambda: ElasticTerms(model).of(Motion.at_rest(twelve)), of_links),
    ):
        with refused("joint-vector-shape", **values):
            call()
    with refused("rigid-accelerations-shape", expected=(6,), given=(12,), joints=motors):
        model.elastic_inverse_dynamics(twelve, twelve, twelve)


def test_identified_parameters_are_of_rigid_joints() -> None:
    found = ParameterSet("rx90", (loaded().description_hash,), "", ())
    with refused("elastic-joint-unsupported", joint="joint_1", robot="rx90"):
        found.applied_to(loaded())


LOG = "time,a,b\n0,1,2\n1,1,2\n"
LOADED = ("--log", "log.csv", "--parameters", "p.yaml")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("a motion that is given", ["feasible", *ARM, "--trajectory", "log.csv"]),
        ("identification", ["identify", *ARM, "--log", "log.csv", "-o", "out"]),
        ("identification", ["payload", *ARM, "--log", "log.csv", "--unloaded", "u.csv", "--link", "tool0"]),
        ("identification", ["payload", *ARM, *LOADED, "--link", "x"]),
        ("a prediction along a log", ["predict", *ARM, *LOADED, "-o", "out.csv"]),
        ("excitation", ["excite", *ARM, "-o", "out.csv", "--duration", "-3", "--start", "1"]),
    ],
)
def test_springs_are_refused_before_other_checks(
    what: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("log.csv", "u.csv", "p.yaml"):
        Path(name).write_text(LOG)
    words = words if words[0] == "feasible" else [*words, "--quiet"]
    values = {"operation": what, "joint": "joint_1", "robot": "rx90"}
    refused_command(words, "elastic-joint-unsupported", **values)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "p.yaml", "u.csv"]
