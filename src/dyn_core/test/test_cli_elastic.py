# SPDX-License-Identifier: Apache-2.0
"""Commands for robots with springs: base parameters, counts, numbers for joints, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from elastic_oracle import EXAMPLES, ROBOTS, ElasticOracle, example, random_elastic

import dyn_core
from dyn_core.cli.main import main
from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms
from dyn_core.control.motion import Motion
from dyn_core.identification.output.parameter_set import ParameterSet
from dyn_core.model.always_zero import always_zero
from dyn_core.robot.robot import Robot

ARM = [str(ROBOTS / "rx90.urdf"), "--loops", str(ROBOTS / "rx90_elastic.yaml")]
MACHINE = [str(ROBOTS / "high_speed_machine.urdf"), "--loops", str(ROBOTS / "high_speed_machine.yaml")]
MOTORS = ", ".join(f"'joint_{k}_motor'" for k in range(1, 7))
LINKS = MOTORS.replace("_motor", "")


def robots() -> dict[str, tuple[Robot, ElasticOracle]]:
    """Examples, and random trees with springs of both kinds."""
    trees = {f"tree {seed}": random_elastic(seed, 3 + seed % 6) for seed in range(12)}
    return {name: example(name) for name in EXAMPLES} | trees


@pytest.mark.parametrize("method", ["symbolic", "numeric"])
@pytest.mark.parametrize("name", robots())
def test_base_parameters_are_those_of_random_motions(name: str, method: str) -> None:
    """By a QR decomposition of the regressor, and by torques of Pinocchio less those of the springs."""
    robot, oracle = robots()[name]
    found = dyn_core.base_parameters(robot, method, without=always_zero(robot))
    q, qd, qdd = np.random.default_rng(7).uniform(-2.0, 2.0, (3, 60, robot.dof))
    model = dyn_core.compile_model(robot, backend="python", friction=False)
    Y = model.regressor(q, qd, qdd).reshape(-1, len(model.parameter_names))
    present = [model.parameter_names.index(parameter) for parameter in found.standard_names]
    kept = Y[:, [model.parameter_names.index(parameter) for parameter in found.kept]]
    # They are independent, and all others depend on them: no fewer would do, and no more are needed.
    diagonal = np.abs(np.diag(np.linalg.qr(kept / np.linalg.norm(kept, axis=0))[1]))
    assert diagonal.min() > 1e-7
    np.testing.assert_allclose(kept @ found.matrix, Y[:, present], rtol=0.0, atol=1e-9 * np.abs(Y).max())
    standard = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    assert not any(standard[parameter] for parameter in always_zero(robot))
    by_hand = [
        oracle.inverse_dynamics(*state, {}) - oracle.springs(*state[:2])
        for state in zip(q, qd, qdd, strict=True)
    ]
    torques = (kept @ found.values(standard)).reshape(-1, robot.dof)
    np.testing.assert_allclose(torques, by_hand, rtol=0.0, atol=1e-9 * np.abs(by_hand).max())


def test_the_arm_has_the_36_of_its_links_and_its_6_rotors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["base", *ARM]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4] == "42 base parameters of 66: 36 of bodies, 6 of rotors"
    assert lines[-1] == (
        "springs: stiffness and damping are no part of them, and elastic joints have no rotors; motors "
        "behind "
        "springs have rotors, and no bodies"
    )
    assert [line.split("  ")[-1] for line in lines[36:42]] == [f"Ia{k} = Ia{k}" for k in range(7, 13)]
    assert main(["base", *ARM, "--symbols"]) == 0
    assert "XZR2 = XZ2 - d3*MZ3" in capsys.readouterr().out
    assert main(["base", *ARM, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] == 42
    assert main(["base", *MACHINE]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "springs: stiffness and damping are no part of them, and elastic joints have no rotors"
    )


def test_what_stays_where_other_parameters_are_0() -> None:
    """The rotor of a motor is grouped in the inertia of its body, and stands alone where there is no body."""
    rigid = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    assert always_zero(rigid) == frozenset()
    whole = dyn_core.base_parameters(rigid)
    found = dyn_core.base_parameters(rigid, without={"ZZ1", "YY2", "M3"})
    assert whole.expressions[0] == "ZZR1 = ZZ1 + Ia1 + YY2 + ZZ3"
    assert found.expressions[0] == "IaR1 = Ia1 + ZZ3"
    assert len(found.standard_names) == 30
    standard = dict(zip(rigid.parameter_names, rigid.parameters, strict=True)) | {"M3": 0.0}
    standard |= {"ZZ1": 0.0, "YY2": 0.0}
    lost = whole.kept.index("M3")
    np.testing.assert_allclose(found.values(standard), np.delete(whole.values(standard), lost), atol=1e-15)


def test_counts_have_the_functions_that_users_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["counts", *ARM, "--json"]) == 0
    names = list(json.loads(capsys.readouterr().out)["operations"])
    assert names[-3:] == ["elastic_inverse_dynamics", "spring_torques", "motor_motion"]
    assert not [name for name in names if "loaded" in name or "base_regressor" in name]
    model = dyn_core.compile_model(dyn_core.load_robot(ARM[0], loops=Path(ARM[2])), backend="python")
    with pytest.raises(ValueError, match="there is no function 'dynamics'") as caught:
        model.operation_counts("dynamics")
    assert "loaded" not in str(caught.value)
    assert "elastic_inverse_dynamics" in str(caught.value)


@pytest.mark.parametrize(
    ("robot", "words", "sentence"),
    [
        (
            MACHINE,
            ["--qdd", "1", "2", "3", "4"],
            "--qdd has 4 numbers, but elastic_inverse_dynamics takes those of the 2 rigid joints 'axis_x', "
            "'axis_y', and answers those of the others",
        ),
        (ARM, ["--q", "1", "2"], f"--q has 2 numbers, but the robot has 12 joints: {LINKS}, {MOTORS}"),
        (MACHINE, ["--q", "1"], "--q has 1 number, but the robot has 12 joints"),
    ],
)
def test_numbers_for_joints(
    robot: list[str], words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *robot, "elastic_inverse_dynamics", *words]) == 1
    assert capsys.readouterr().err == f"dyn: error: {sentence}\n"


def test_shapes_in_python() -> None:
    model = dyn_core.compile_model(dyn_core.load_robot(ARM[0], loops=Path(ARM[2])))
    six, twelve = np.zeros(6), np.zeros(12)
    of_all = f"expected the shape (12,) or (N, 12), but it has (6,): of the joints {LINKS}, {MOTORS}"
    of_links = f"expected the shape (6,) or (N, 6), but it has (12,): of the joints {LINKS}"
    rigid = (
        f"expected the shape (6,) of the rigid joints, but it has (12,): these are {MOTORS}, the "
        "accelerations of the others are answered"
    )
    for call, sentence in (
        (lambda: model.elastic_inverse_dynamics(twelve, twelve, twelve), f"qdd: {rigid}"),
        (lambda: model.elastic_inverse_dynamics(six, six, six), f"q: {of_all}"),
        (lambda: model.inverse_dynamics(six, six, six), f"q: {of_all}"),
        (lambda: model.forward_dynamics(twelve, twelve, six), f"tau: {of_all}"),
        (lambda: model.bias_torques(twelve, six), f"qd: {of_all}"),
        (lambda: model.spring_torques(six, six), f"q: {of_all}"),
        (lambda: model.motor_motion(*[twelve] * 5), f"q: {of_links}"),
        (lambda: ElasticTerms(model).of(Motion.at_rest(twelve)), f"q: {of_links}"),
    ):
        with pytest.raises(ValueError, match="expected the shape") as caught:
            call()
        assert str(caught.value) == sentence


def test_identified_parameters_are_of_rigid_joints() -> None:
    robot = dyn_core.load_robot(ARM[0], loops=Path(ARM[2]))
    found = ParameterSet(robot.name, (robot.description_hash,), "", ())
    with pytest.raises(dyn_core.DynError) as caught:
        found.applied_to(robot)
    assert str(caught.value) == (
        "a file of identified parameters knows no springs, but joint 'joint_1' of robot 'rx90' is elastic: "
        "load the robot without 'elastic' in its side file"
    )


LOG = "time,a,b\n0,1,2\n1,1,2\n"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("a motion that is given", ["feasible", *ARM, "--trajectory", "log.csv"]),
        ("identification", ["identify", *ARM, "--log", "log.csv", "-o", "out"]),
        ("identification", ["payload", *ARM, "--log", "log.csv", "--unloaded", "u.csv", "--link", "tool0"]),
        ("identification", ["payload", *ARM, "--log", "log.csv", "--parameters", "p.yaml", "--link", "x"]),
        (
            "a prediction along a log",
            ["predict", *ARM, "--log", "log.csv", "--parameters", "p.yaml", "-o", "out.csv"],
        ),
        ("excitation", ["excite", *ARM, "-o", "out.csv", "--duration", "-3", "--start", "1"]),
    ],
)
def test_springs_are_refused_before_anything_else(
    what: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("log.csv", "u.csv", "p.yaml"):
        Path(name).write_text(LOG)
    assert main([*words, *(["--quiet"] if words[0] not in ("feasible",) else [])]) == 1
    assert capsys.readouterr().err == (
        f"dyn: error: {what} knows no springs, but joint 'joint_1' of robot 'rx90' is elastic: load the "
        "robot "
        "without 'elastic' in its side file\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "p.yaml", "u.csv"]
