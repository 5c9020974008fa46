# SPDX-License-Identifier: Apache-2.0
"""The commands `counts` and `emit`, and `eval` of every function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emitted_programs import ROBOTS, load

import dyn_core
from dyn_core.cli.function_arguments import EVALUATED, OF_IDENTIFICATION, OF_LINK
from dyn_core.cli.link_options import link_program
from dyn_core.cli.main import main
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.identification.programs import identification_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced

RRP = str(ROBOTS / "rrp.urdf")
STATE = {"q": [0.1, -2e-3, 0.2], "qd": [1.0, -1.0, 0.5], "qdd": [3.0, 2.0, -1.0], "tau": [1.0, -2.0, 5.0]}


def state_of(function: str) -> list[str]:
    return [
        word for name in (EVALUATED | OF_LINK)[function] for word in (f"--{name}", *map(repr, STATE[name]))
    ]


@pytest.fixture(scope="module")
def model() -> dyn_core.Model:
    return dyn_core.compile_model(load("rrp"), backend="python")


@pytest.mark.parametrize("function", EVALUATED)
def test_eval_of_every_function(
    function: str, model: dyn_core.Model, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = getattr(model, function)(*(STATE[name] for name in EVALUATED[function]))
    options = state_of(function)
    assert main(["eval", RRP, function, *options, "--json"]) == 0
    answered = json.loads(capsys.readouterr().out)
    np.testing.assert_array_equal(answered["values"], expected)
    assert main(["eval", RRP, function, *options]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    if function == "regressor":
        parameters = model.robot.parameter_names
        printed_entries = np.zeros(expected.shape)
        for joint, parameter, number in rows:
            printed_entries[model.joint_names.index(joint), parameters.index(parameter)] = float(number)
        np.testing.assert_allclose(printed_entries, expected, atol=1e-6)
        assert all(float(number) != 0.0 for _, _, number in rows)
        return
    below = ["bias_torques"] if function == "inertia_and_bias" else []
    assert [row[0] for row in rows] == ["turn", "lift", "stretch", *below]
    width = 1 if expected.ndim == 1 else expected.shape[1]
    printed = [[float(word) for word in row[1 : 1 + width]] for row in rows]
    np.testing.assert_allclose(np.reshape(printed, expected.shape), expected, atol=1e-6)


@pytest.mark.parametrize("function", OF_LINK)
@pytest.mark.parametrize("axes", [[], ["--expressed-in", "arm"], ["--reference", "arm"]])
def test_eval_of_functions_of_links(
    function: str, axes: list[str], model: dyn_core.Model, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = [STATE[name] for name in OF_LINK[function]]
    expected = getattr(model, function)(*taken, "slider", *axes[1:])
    command = ["eval", RRP, function, "--link", "slider", *axes, *state_of(function)]
    assert main([*command, "--json"]) == 0
    answered = json.loads(capsys.readouterr().out)
    np.testing.assert_array_equal(answered["values"], expected)
    assert (answered["link"], answered["expressed_in"]) == ("slider", axes[1] if axes else "base")
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    if function == "forward_kinematics":
        labels, skipped = ["x", "y", "z"], 1
    else:
        labels, skipped = [f"{part} {axis}" for part in ("linear", "angular") for axis in "xyz"], 2
    assert [line[: len(label)] for line, label in zip(lines, labels, strict=False)] == labels
    width = 1 if expected.ndim == 1 else expected.shape[1]
    words = [
        line.split()[skipped if label else 0 :] for line, label in zip(lines, [*labels, ""], strict=False)
    ]
    printed = [[float(word) for word in row[:width]] for row in words]
    np.testing.assert_allclose(np.reshape(printed, expected.shape), expected, atol=1e-6)


def test_counts_and_sources_of_functions_of_links(
    model: dyn_core.Model, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["counts", RRP, "--link", "slider", "--reference", "arm", "--json"]) == 0
    operations = json.loads(capsys.readouterr().out)["operations"]
    robot = load("rrp")
    assert set(operations) == {*kinds(robot), *OF_LINK, *OF_IDENTIFICATION}
    for function in OF_LINK:
        program = link_program(robot, function, "slider", "arm")
        assert operations[function] == program.operation_counts
        command = ["emit", RRP, "--function", function, "--lang", "cpp", "--link", "slider"]
        assert main([*command, "--expressed-in", "arm"]) == 0
        assert capsys.readouterr().out == emitted(program, robot, "cpp")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["jacobian"],
            "jacobian is a function of a link: name it with --link; "
            "the links of robot 'rrp' are 'base', 'column', 'arm', 'slider'",
        ),
        (
            ["jacobian", "--link", "hand"],
            "robot 'rrp' has no link 'hand': its links are 'base', 'column', 'arm', 'slider'",
        ),
        (
            ["link_velocity", "--link", "arm", "--reference", "hand"],
            "robot 'rrp' has no link 'hand': its links are 'base', 'column', 'arm', 'slider'",
        ),
        (
            ["inertia_matrix", "--link", "arm"],
            "inertia_matrix is no function of a link: leave out --link 'arm', or choose one of "
            "forward_kinematics, jacobian, jacobian_dot_qd, link_velocity, link_acceleration",
        ),
    ],
)
def test_mistakes_with_links(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", RRP, *words]) == 1
    assert capsys.readouterr().err == f"dyn: error: {sentence}\n"
    assert main(["emit", RRP, "--lang", "c", "--function", *words]) == 1
    assert capsys.readouterr().err == f"dyn: error: {sentence}\n"


def test_counts_of_links_need_a_link(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["counts", RRP, "--reference", "arm"]) == 1
    assert "is a function of a link: name it with --link" in capsys.readouterr().err


MASSLESS = """
<robot name="light"><link name="a"/><link name="b"/><joint name="j" type="continuous">
<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""


def test_what_moves_no_mass_ends_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "light.urdf"
    path.write_text(MASSLESS)
    sentence = (
        "dyn: error: robot 'light' has no forward dynamics: no inertia resists joint 'j': "
        "give its link mass and inertia, or the joint a rotor inertia\n"
    )
    assert main(["eval", str(path), "forward_dynamics", "--tau", "1"]) == 1
    assert capsys.readouterr().err == sentence
    assert main(["emit", str(path), "--function", "forward_dynamics", "--lang", "c"]) == 1
    assert capsys.readouterr().err == sentence
    assert main(["emit", str(path), "--function", "inverse_dynamics", "--lang", "c"]) == 0


def test_rows_below_the_inertia_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", RRP, "inertia_and_bias", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["row_names"] == ["turn", "lift", "stretch", "bias_torques"]
    assert "units" not in answer
    assert main(["eval", RRP, "inertia_and_bias", "--qd", "1e200", "1e200", "0"]) == 1
    assert "the torque of joint 'stretch' is" in capsys.readouterr().err
    assert main(["eval", RRP, "inertia_and_bias", "--q", "0", "0", "1e200"]) == 1
    assert "the inertia of joint 'turn' is inf" in capsys.readouterr().err


def test_units_of_accelerations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", RRP, "forward_dynamics", *state_of("forward_dynamics")]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == [
        *("rad/s^2", "rad/s^2", "m/s^2"),
    ]


def test_counts(capsys: pytest.CaptureFixture[str], model: dyn_core.Model) -> None:
    assert main(["counts", RRP, "--json"]) == 0
    operations = json.loads(capsys.readouterr().out)["operations"]
    models = {name: operations.pop(name) for name in OF_IDENTIFICATION}
    assert models == {
        name: identification_program(load("rrp"), name).operation_counts for name in OF_IDENTIFICATION
    }
    assert operations == {name: model.operation_counts(name) for name in kinds(load("rrp"))}
    assert main(["counts", RRP]) == 0
    head, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head == ["mul", "add", "div", "trig", "sqrt"]
    assert {row[0]: dict(zip(head, map(int, row[1:]), strict=True)) for row in rows} == operations | models


@pytest.mark.parametrize("language", LANGUAGES)
def test_emit(language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["emit", RRP, "--function", "inverse_dynamics", "--lang", language]
    robot = load("rrp")
    expected = emitted(traced(robot, "inverse_dynamics"), robot, language)
    assert main(command) == 0
    assert capsys.readouterr().out == expected
    path = tmp_path / "file"
    path.write_text("what was there before")
    path.chmod(0o640)
    assert main([*command, "-o", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert path.read_text() == expected
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_emit_through_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    assert main(["emit", RRP, "--function", "friction_torques", "--lang", "c", "-o", str(link)]) == 0
    assert link.is_symlink()
    assert "friction_torques" in path.read_text()


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("nowhere/file.c", "No such file or directory"),
        ("", "this is no regular file"),
        (f"{'n' * 300}", "File name too long"),
    ],
)
def test_files_that_cannot_be_written(
    file: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / file)
    assert main(["emit", RRP, "--function", "friction_torques", "--lang", "c", "-o", path]) == 1
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == f"dyn: error: cannot write '{path}': {sentence}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["--function", "mass", "--lang", "c"], ["--function", "regressor"]])
def test_mistakes_in_the_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["emit", RRP, *words])
    assert "dyn emit: error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("function", "option", "sentence"),
    [
        ("gravity_torques", "--tau", "gravity_torques does not take --tau: give --q"),
        ("inverse_dynamics", "--tau", "inverse_dynamics does not take --tau: give --q, --qd, --qdd"),
        ("forward_dynamics", "--qdd", "forward_dynamics does not take --qdd: give --q, --qd, --tau"),
    ],
)
def test_torques_are_not_ignored(
    function: str, option: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", RRP, function, option, "1", "2", "3"]) == 1
    assert capsys.readouterr() == ("", f"dyn: error: {sentence}\n")


DRIVES = "friction: {turn: {coulomb: 3, viscous: 7}}\nrotor_inertia: {turn: 5}"


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ([], {}),
        (["--no-friction"], {"friction": False}),
        (["--no-rotor-inertia"], {"rotor_inertia": False}),
        (["--no-friction", "--no-rotor-inertia"], {"friction": False, "rotor_inertia": False}),
    ],
)
def test_terms_can_be_left_out(
    options: list[str], terms: dict[str, bool], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side = tmp_path / "side.yaml"
    side.write_text(DRIVES)
    robot = dyn_core.load_robot(RRP, loops=side)
    model = dyn_core.compile_model(robot, backend="python", **terms)  # type: ignore[arg-type]
    expected = model.inverse_dynamics(STATE["q"], STATE["qd"], STATE["qdd"])
    common = ["--loops", str(side), *options]
    assert main(["eval", RRP, "inverse_dynamics", *common, *state_of("inverse_dynamics"), "--json"]) == 0
    np.testing.assert_array_equal(json.loads(capsys.readouterr().out)["values"], expected)
    assert main(["emit", RRP, "--function", "inverse_dynamics", "--lang", "python", *common]) == 0
    module: dict[str, Any] = {}
    exec(capsys.readouterr().out, module)
    written = module["inverse_dynamics"](STATE["q"], STATE["qd"], STATE["qdd"])
    np.testing.assert_allclose(written, expected, rtol=1e-12)
    assert main(["counts", RRP, "--json", *common]) == 0
    operations = json.loads(capsys.readouterr().out)["operations"]
    assert operations["inverse_dynamics"] == model.operation_counts("inverse_dynamics")
