# SPDX-License-Identifier: Apache-2.0
"""The commands on robots whose base moves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from emitted_programs import ROBOTS
from test_moving_base_model import ARM, STATE

import dyn_core
from dyn_core.cli.commands import COMMANDS
from dyn_core.cli.function_arguments import ON_BASE
from dyn_core.cli.main import main
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.facade.moving_base_sources import base_link_source, base_source
from dyn_core.model.moving_base.dynamics_programs import base_kinds
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK

PLANAR = str(ROBOTS / "planar_base.urdf")
RRP = str(ROBOTS / "rrp.urdf")
MOVES = "the side file of robot 'arm' says that its base moves (base: free), and this command knows none that"


@pytest.fixture
def arm(tmp_path: Path) -> str:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return str(path)


@pytest.fixture
def side(tmp_path: Path) -> list[str]:
    """The option that says that the base is free."""
    path = tmp_path / "side.yaml"
    path.write_text("base: free\n")
    return ["--loops", str(path)]


def words(names: tuple[str, ...], size: int = 7) -> list[str]:
    """Options that give the state; a planar base has the first numbers of it."""
    chosen = [f"--{name}" for name in names]
    values = [np.asarray(getattr(STATE, name))[:size].tolist() for name in names]
    return [
        word for option, value in zip(chosen, values, strict=True) for word in (option, *map(repr, value))
    ]


def taken(names: tuple[str, ...], size: int = 7) -> list[np.ndarray]:
    return [np.asarray(getattr(STATE, name))[:size] for name in names]


@pytest.mark.parametrize("kind", ["free", "planar", "given"])
def test_eval_of_every_function(kind: str, arm: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), kind, backend="python")
    size = 3 if kind == "planar" else 7
    for function, names in (ON_BASE | OF_BASE_LINK).items():
        if function not in {*base_kinds(model.base), *OF_BASE_LINK}:
            continue
        link = ["slide"] if function in OF_BASE_LINK else []
        expected = getattr(model, function)(*taken(names, size), *link)
        command = ["eval", arm, function, "--base", kind, *words(names, size)]
        command += ["--link", *link] if link else []
        assert main([*command, "--json"]) == 0
        answered = json.loads(capsys.readouterr().out)
        np.testing.assert_array_equal(answered["values"], expected)
        assert answered["base"] == {"kind": kind, "link": "hull"}
        assert main(command) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(answered["row_names"]) == len(expected)
        rows = expected.reshape((len(expected), -1))
        for line, name, row in zip(lines, answered["row_names"], rows, strict=True):
            assert line.startswith(name)
            printed = [float(word) for word in line.removeprefix(name).split()[: len(row)]]
            np.testing.assert_allclose(printed, row, atol=1e-6)


def test_eval_names_and_units(arm: str, capsys: pytest.CaptureFixture[str]) -> None:
    def rows(*arguments: str) -> list[tuple[str, str]]:
        assert main(["eval", arm, *arguments, "--json"]) == 0
        answered = json.loads(capsys.readouterr().out)
        return list(zip(answered["row_names"], answered["units"], strict=True))

    assert rows("forward_dynamics", "--base", "free") == [
        *((f"base linear {axis}", "m/s^2") for axis in "xyz"),
        *((f"base angular {axis}", "rad/s^2") for axis in "xyz"),
        *(("j1", "rad/s^2"), ("j2", "m/s^2")),
    ]
    assert rows("inverse_dynamics_given_base", "--base", "planar") == [
        *(("base force x", "N"), ("base force y", "N"), ("base moment", "N m"), ("j1", "N m"), ("j2", "N")),
    ]
    assert rows("energy", "--base", "given") == [("kinetic", "J"), ("potential", "J")]
    assert rows("centre_of_mass", "--base", "free") == [("x", "m"), ("y", "m"), ("z", "m")]
    assert rows("momentum", "--base", "planar")[5] == ("angular z", "kg m^2/s")


def test_eval_with_forces_on_the_base(arm: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", backend="python", friction=False)
    names = ("pose", "V", "q", "qd", "tau")
    command = ["eval", arm, "forward_dynamics", "--base", "free", "--no-friction", *words((*names, "F"))]
    assert main([*command, "--json"]) == 0
    expected = model.forward_dynamics(*taken(names), F=STATE.F)
    np.testing.assert_array_equal(json.loads(capsys.readouterr().out)["values"], expected)


def test_what_the_side_file_says_counts(
    arm: str, side: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless the command line says otherwise."""
    assert main(["eval", arm, *side, "inertia_matrix", "--json"]) == 0
    assert np.shape(json.loads(capsys.readouterr().out)["values"]) == (8, 8)
    assert main(["eval", arm, *side, "inertia_matrix", "--base", "planar", "--json"]) == 0
    assert np.shape(json.loads(capsys.readouterr().out)["values"]) == (5, 5)
    assert main(["eval", arm, *side, "inertia_matrix", "--base", "fixed"]) == 0
    fixed = capsys.readouterr().out
    assert main(["eval", arm, "inertia_matrix"]) == 0
    assert fixed == capsys.readouterr().out


def test_a_joint_at_the_root_is_a_chain_unless_the_base_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["eval", PLANAR, "inertia_matrix", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["joint_names"][0] == "base/x"
    assert main(["eval", PLANAR, "inertia_matrix", "--base", "planar", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["base"] == {"kind": "planar", "link": "body"}


@pytest.mark.parametrize("kind", ["free", "planar", "given"])
def test_counts(kind: str, arm: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), kind, backend="python")
    assert main(["counts", arm, "--base", kind, "--json"]) == 0
    answered = json.loads(capsys.readouterr().out)
    assert answered["base"] == {"kind": kind, "link": "hull"}
    known = base_kinds(model.base)
    assert answered["operations"] == {name: model.operation_counts(name) for name in known}
    assert main(["counts", arm, "--base", kind, "--link", "slide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"on a {kind} base")
    assert [line.split()[0] for line in lines[1:]] == [*known, *OF_BASE_LINK]


@pytest.mark.parametrize("language", LANGUAGES)
def test_emit(language: str, arm: str, side: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    base = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", backend="python").base
    for function in base_kinds(base):
        assert main(["emit", arm, *side, "--function", function, "--lang", language]) == 0
        assert capsys.readouterr().out == emitted(base_source(base, function), base.robot, language)
    command = ["emit", arm, *side, "--function", "jacobian", "--link", "slide", "--lang", language]
    assert main(command) == 0
    text = emitted(base_link_source(base, "jacobian", "slide"), base.robot, language)
    assert capsys.readouterr().out == text


EVAL = "eval {arm} "
FREE = " --base free"
MISTAKES = {
    f"{EVAL}energy{FREE} --pose 0 0 0 0 0 0 2": "--pose: the quaternion (x, y, z, w) has the length 2",
    f"{EVAL}energy{FREE} --pose 1 2": "--pose has 2 numbers, but a pose of a free base has 7: x y z qx",
    f"{EVAL}energy --base planar --V 1": "--V has 1 number, but a velocity of a planar base has 3: "
    "linear-x linear-y angular",
    f"{EVAL}energy{FREE} --V 1 2 3 4 5 nan": "--V holds 'nan': give finite numbers",
    f"{EVAL}energy{FREE} --q 1": "--q has 1 number, but the robot has 2 joints",
    f"{EVAL}energy{FREE} --tau 1 1": "energy of a robot on a moving base does not take --tau: give"
    " --pose, --V, --q, --qd",
    f"{EVAL}inverse_dynamics{FREE} --Vd 1 1 1 1 1 1": "does not take --Vd: give --pose, --V, --q, --qd, "
    "--qdd, --F, or take inverse_dynamics_given_base, which does",
    f"{EVAL}energy{FREE} --q 1e200 0 --qd 1e200 1e200": "is not finite: the values given are too large",
    f"{EVAL}energy": "energy is a function of robots on a moving base, and this one stands still",
    f"{EVAL}inertia_matrix --pose 1 2 3": "--pose is of a base that moves, and this one stands",
    f"{EVAL}gravity_torques{FREE}": "gravity_torques is a function of robots whose base stands still, and "
    "this one is free: give --base fixed, or one of inverse_dynamics, forward_dynamics,",
    f"{EVAL}inverse_dynamics --base given": "the motion of the base 'hull' of 'arm' is given: use "
    "inverse_dynamics_given_base",
    f"{EVAL}inverse_dynamics --base given --Vd 1 1 1 1 1 1": "of 'arm' is given: use "
    "inverse_dynamics_given_base",
    f"{EVAL}inertia_matrix{FREE} --base-parameters": "--base-parameters keeps the torques of the joints, and",
    f"{EVAL}jacobian{FREE}": "jacobian is a function of a link: name it with --link; the links of",
    f"{EVAL}jacobian{FREE} --link tip": "robot 'arm' has no link 'tip'",
    f"{EVAL}jacobian{FREE} --link hull --expressed-in hull": "axes of the world: leave out --expressed-in",
    f"{EVAL}energy{FREE} --link hull": "energy is no function of a link: leave out --link 'hull'",
    "emit {arm} --function energy --lang c": "energy is a function of robots on a moving base",
    "emit {arm} --function regressor --lang c --base free": "regressor is a function of robots whose base",
    "emit {arm} --function inverse_dynamics --lang c --base given": "is given: use inverse_dynamics",
    "emit {arm} --function pushed_forward_dynamics --lang c --base given": "use forward_dynamics_given_base",
    "emit {light} --function pushed_inverse_dynamics --lang c --base free": "robot 'light' has no "
    "inverse_dynamics: no inertia resists the base 'a'",
    "counts {arm} --base free --forms": "--forms counts formulations for a base that stands still: give",
    "counts {arm} --base free --link tip": "robot 'arm' has no link 'tip'",
    "mdh {arm} --loops {{base:planar}}": "no such file: '{base:planar}': give the path of a YAML file",
    "log {arm} --robot {arm} --loops {{base:planar}}": "'{base:planar}': give the path of a YAML file",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_mistakes(command: str, arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    light = tmp_path / "light.urdf"
    light.write_text('<robot name="light"><link name="a"/></robot>')
    assert main([word.format(arm=arm, light=light) for word in command.split()]) == 1
    error = capsys.readouterr().err
    assert error.startswith("dyn: error: ")
    assert MISTAKES[command] in error
    assert error.count("\n") == 1


def test_which_commands_take_a_base() -> None:
    """Those that know no moving base can be told that one is held, and the others how it moves."""
    kinds = {command.name: command.base for command in COMMANDS if command.robot}
    moving = {name for name, kind in kinds.items() if kind == "moving"}
    assert moving == {"eval", "counts", "emit", "simulate"}
    assert {name for name, kind in kinds.items() if kind is None} == {"mdh", "check"}


@pytest.mark.parametrize("command", ["lagrange", "base", "loops", "excite", "parallel"])
def test_commands_that_know_no_moving_base(
    command: str, arm: str, side: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, arm, *side]) == 1
    assert MOVES in capsys.readouterr().err


def test_other_commands_that_know_no_moving_base(
    arm: str, side: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    motion = tmp_path / "motion.csv"
    motion.write_text("time,j1,j2\n0,0,0\n1,0.1,0.1\n2,0.1,0.1\n")
    out = str(tmp_path / "out")
    for command in (
        ["feasible", arm, "--trajectory", str(motion)],
        ["identify", arm, "--log", str(motion), "-o", out],
        ["payload", arm, "--log", str(motion), "--link", "slide", "--unloaded", out],
    ):
        assert main([*command, *side]) == 1, command
        assert MOVES in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["lagrange", arm, "--base", "free"])
    assert "invalid choice: 'free'" in capsys.readouterr().err


def test_a_base_that_is_held(arm: str, side: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["lagrange", "--json"], ["base", "--json"], ["counts", "--json"]):
        name, *options = command
        assert main([name, arm, *side, "--base", "fixed", *options]) == 0
        held = capsys.readouterr().out
        assert main([name, arm, *options]) == 0
        assert held == capsys.readouterr().out


def test_mdh_tells_of_the_base(arm: str, side: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mdh", arm, *side]) == 0
    assert capsys.readouterr().out.endswith("\n\nlink 'hull' is a free base, by the side file\n")
    assert main(["mdh", PLANAR]) == 0
    assert capsys.readouterr().out.endswith("\n\nlink 'body' is a planar base, by the planar joint 'base'\n")
    assert main(["mdh", PLANAR, "--json"]) == 0
    told = {"kind": "planar", "link": "body", "source": "planar joint 'base'"}
    assert json.loads(capsys.readouterr().out)["base"] == told
    assert main(["mdh", arm]) == 0
    assert "base" not in capsys.readouterr().out


def test_check_tells_of_the_base(
    arm: str, side: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", arm, *side]) == 0
    assert "note: link 'hull' (line 1): a free base, by the side file\n" in capsys.readouterr().out
    assert main(["check", PLANAR]) == 0
    told = (
        "note: link 'body' (line 23): a planar base, by the planar joint 'base'; "
        "it is a chain of simple joints unless --base planar is given\n"
    )
    assert told in capsys.readouterr().out
    light = tmp_path / "light.urdf"
    light.write_text('<robot name="light"><link name="a"/></robot>')
    assert main(["check", str(light), *side]) == 1
    assert "error: robot: robot 'light' has no forward_dynamics: no inertia resists the base 'a'" in (
        capsys.readouterr().out
    )
    held = tmp_path / "held.yaml"
    held.write_text("base: planar\nfriction: {base/x: {viscous: 1}}\n")
    assert main(["check", PLANAR, "--loops", str(held)]) == 1
    assert "joint 'base/x' of the planar joint 'base' has friction, which a base" in capsys.readouterr().out
