# SPDX-License-Identifier: Apache-2.0
"""The commands on robots whose base moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Command
from refusals import refused_command
from robots import ROBOTS
from test_moving_base_model import ARM, STATE

import dyn_core
from dyn_core.cli.function_arguments import ON_BASE
from dyn_core.cli.main import COMMANDS, called_command, main
from dyn_core.codegen.languages.registry import LANGUAGES, emitted
from dyn_core.model.moving_base.dynamics_programs import base_kinds
from dyn_core.model.moving_base.link_kinematics import OF_BASE_LINK
from dyn_core.model.moving_base.named_entries import base_link_source, base_source

PLANAR = str(ROBOTS / "planar_base.urdf")
RRP = str(ROBOTS / "rrp.urdf")

SIDE = ("--side-file", "side.yaml")


@pytest.fixture
def dyn(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command ``dyn`` in a folder with robots and a side file of a free base."""
    monkeypatch.chdir(tmp_path)
    command = Command(tmp_path, capsys)
    light = '<robot name="light"><link name="a"/></robot>'
    for name, text in (("arm.urdf", ARM), ("light.urdf", light), ("side.yaml", "base: free\n")):
        command.write(name, text)
    return command


def words(names: tuple[str, ...], size: int = 7) -> list[str]:
    pairs = zip(names, taken(names, size), strict=True)
    return [word for name, value in pairs for word in (f"--{name}", *map(repr, value.tolist()))]


def taken(names: tuple[str, ...], size: int = 7) -> list[np.ndarray]:
    return [getattr(STATE, name)[:size] for name in names]


@pytest.mark.parametrize("kind", ["free", "planar", "given"])
def test_eval_of_every_function(kind: str, dyn: Command) -> None:
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), kind, backend="python")
    size = 3 if kind == "planar" else 7
    for function, names in (ON_BASE | OF_BASE_LINK).items():
        if function not in {*base_kinds(model.base), *OF_BASE_LINK}:
            continue
        link = ["slide"] if function in OF_BASE_LINK else []
        expected = getattr(model, function)(*taken(names, size), *link)
        command = ["eval", "arm.urdf", function, "--base", kind, *words(names, size)]
        command += ["--link", *link] if link else []
        found, lines = dyn.json(*command), dyn(*command).out.splitlines()
        np.testing.assert_array_equal(found["values"], expected)
        assert found["base"] == {"kind": kind, "link": "hull"}
        for line, name, row in zip(lines, found["row_names"], np.atleast_2d(expected.T).T, strict=True):
            assert line.startswith(name)
            numbers = line.removeprefix(name).split()[: len(row)]
            np.testing.assert_allclose(np.array(numbers, dtype=float), row, atol=1e-6)


def test_eval_names_and_units(dyn: Command) -> None:
    accelerations = [(f"base linear {axis}", "m/s^2") for axis in "xyz"]
    accelerations += [(f"base angular {axis}", "rad/s^2") for axis in "xyz"]
    momentum = [(f"linear {axis}", "kg m/s") for axis in "xyz"]
    momentum += [(f"angular {axis}", "kg m^2/s") for axis in "xyz"]
    forces = [("base force x", "N"), ("base force y", "N"), ("base moment", "N m")]
    for function, base, expected in (
        ("forward_dynamics", "free", [*accelerations, ("j1", "rad/s^2"), ("j2", "m/s^2")]),
        ("inverse_dynamics_given_base", "planar", [*forces, ("j1", "N m"), ("j2", "N")]),
        ("energy", "given", [("kinetic", "J"), ("potential", "J")]),
        ("centre_of_mass", "free", [("x", "m"), ("y", "m"), ("z", "m")]),
        ("momentum", "planar", momentum),
    ):
        found = dyn.json("eval", "arm.urdf", function, "--base", base)
        assert list(zip(found["row_names"], found["units"], strict=True)) == expected


def test_eval_with_forces_on_the_base(dyn: Command) -> None:
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", backend="python", friction=False)
    names = ("pose", "V", "q", "qd", "tau")
    command = ("eval", "arm.urdf", "forward_dynamics", "--base", "free", "--no-friction")
    expected = model.forward_dynamics(*taken(names), F=STATE.F)
    np.testing.assert_array_equal(dyn.json(*command, *words((*names, "F")))["values"], expected)


def test_the_option_base_overrides_the_side_file(dyn: Command) -> None:
    """A planar joint at the root is a chain of joints unless the option makes it the base."""
    command = ("eval", "arm.urdf", *SIDE, "inertia_matrix")
    assert np.shape(dyn.json(*command)["values"]) == (8, 8)
    assert np.shape(dyn.json(*command, "--base", "planar")["values"]) == (5, 5)
    assert dyn(*command, "--base", "fixed").out == dyn("eval", "arm.urdf", "inertia_matrix").out
    for name in ("lagrange", "base", "counts"):
        assert dyn.json(name, "arm.urdf", *SIDE, "--base", "fixed") == dyn.json(name, "arm.urdf")
    command = ("eval", PLANAR, "inertia_matrix")
    assert dyn.json(*command)["joint_names"][0] == "base/x"
    assert dyn.json(*command, "--base", "planar")["base"] == {"kind": "planar", "link": "body"}


@pytest.mark.parametrize("kind", ["free", "planar", "given"])
def test_counts(kind: str, dyn: Command) -> None:
    model = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), kind, backend="python")
    command, known = ("counts", "arm.urdf", "--base", kind), base_kinds(model.base)
    found = dyn.json(*command)
    assert found["base"] == {"kind": kind, "link": "hull"}
    assert found["operations"] == {name: model.operation_counts(name) for name in known}
    head, *lines = dyn(*command, "--link", "slide").out.splitlines()
    assert head.startswith(f"on a {kind} base")
    assert [line.split()[0] for line in lines] == [*known, *OF_BASE_LINK]


@pytest.mark.parametrize("language", LANGUAGES)
def test_emit(language: str, dyn: Command) -> None:
    base = dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "free", backend="python").base
    command = ("emit", "arm.urdf", *SIDE, "--lang", language, "--function")
    for function in base_kinds(base):
        assert dyn(*command, function).out == emitted(base_source(base, function), base.robot, language)
    expected = emitted(base_link_source(base, "jacobian", "slide"), base.robot, language)
    assert dyn(*command, "jacobian", "--link", "slide").out == expected


FREE, PUSHED = "--base free", "emit --lang c --function pushed_"
LIGHT = {"robot": "light", "function": "inverse_dynamics", "base": "a"}
MISTAKES = [
    (f"eval energy {FREE} --pose 0 0 0 0 0 0 2", "option-unusable", {}),
    (f"eval energy {FREE} --pose 1 2", "option-numbers-count", {"option": "--pose", "given": 2}),
    ("eval energy --base planar --V 1", "option-numbers-count", {"option": "--V", "given": 1}),
    (f"eval energy {FREE} --V 1 2 3 4 5 nan", "option-not-finite", {"option": "--V", "given": "nan"}),
    (f"eval energy {FREE} --q 1", "option-numbers-count", {"option": "--q", "given": 1}),
    (f"eval energy {FREE} --tau 1 1", "option-not-on-moving-base", {"expected": "--pose, --V, --q, --qd"}),
    (f"eval inverse_dynamics {FREE} --Vd 1 1 1 1 1 1", "option-of-given-base", {"option": "Vd"}),
    (f"eval energy {FREE} --q 1e200 0 --qd 1e200 1e200", "entry-not-finite", {"entry": "kinetic"}),
    ("eval energy", "function-of-moving-base", {"function": "energy"}),
    ("eval inertia_matrix --pose 1 2 3", "option-of-moving-base", {"option": "pose"}),
    (f"eval gravity_torques {FREE}", "function-of-fixed-base", {"function": "gravity_torques"}),
    ("eval inverse_dynamics --base given", "base-motion-given", {"base": "hull", "robot": "arm"}),
    ("eval inverse_dynamics --base given --Vd 1 1 1 1 1 1", "base-motion-given", {"robot": "arm"}),
    (f"eval inertia_matrix {FREE} --base-parameters", "base-parameters-on-moving-base", {}),
    (f"eval jacobian {FREE}", "option-link-missing", {"known": ["hull", "upper", "slide"]}),
    (f"eval jacobian {FREE} --link tip", "link-unknown", {"robot": "arm", "link": "tip"}),
    (f"eval jacobian {FREE} --link hull --expressed-in hull", "axes-of-world", {"function": "jacobian"}),
    (f"eval energy {FREE} --link hull", "function-without-link", {"option": "--link", "given": "hull"}),
    ("emit --function energy --lang c", "function-of-moving-base", {"function": "energy"}),
    (f"emit --function regressor --lang c {FREE}", "function-of-fixed-base", {"function": "regressor"}),
    ("emit --function inverse_dynamics --lang c --base given", "base-motion-given", {"base": "hull"}),
    (f"{PUSHED}forward_dynamics --base given", "base-motion-given", {"function": "forward_dynamics"}),
    (f"{PUSHED}inverse_dynamics light.urdf {FREE}", "moving-base-without-inertia", LIGHT),
    (f"eval light.urdf centre_of_mass {FREE}", "moving-base-without-inertia", {"function": "centre_of_mass"}),
    (f"counts {FREE} --forms", "forms-of-moving-base", {}),
    (f"counts {FREE} --link tip", "link-unknown", {"robot": "arm", "link": "tip"}),
    ("mdh --side-file {base:planar}", "path-missing", {"path": "{base:planar}", "form": "YAML"}),
    ("log --robot rrp.urdf --side-file {base:planar}", "path-missing", {"path": "{base:planar}"}),
]


def test_counts_of_a_robot_without_masses(dyn: Command) -> None:
    counts = dyn.json("counts", "light.urdf", "--base", "free")
    assert {"inverse_dynamics", "momentum", "centre_of_mass", "energy"} <= counts["operations"].keys()


@pytest.mark.parametrize(("words", "code", "values"), MISTAKES)
def test_mistakes(words: str, code: str, values: dict[str, object], dyn: Command) -> None:
    command, *options = words.replace("rrp.urdf", RRP).split()
    refused_command([command, *([] if "light.urdf" in options else ["arm.urdf"]), *options], code, **values)


def test_which_commands_have_the_option_base() -> None:
    """Commands for fixed bases only accept `--base fixed`; the others accept all kinds."""
    commands = {name: called_command([name])[1] for name in COMMANDS}
    kinds = {name: command.base for name, command in commands.items() if command.robot}
    moving = {name for name, kind in kinds.items() if kind == "moving"}
    assert moving == {"eval", "counts", "emit", "simulate"}
    assert {name for name, kind in kinds.items() if kind is None} == {"info", "mdh", "check"}


def test_commands_for_fixed_bases_refuse_a_moving_base(
    dyn: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    motion = dyn.write("motion.csv", "time,j1,j2\n0,0,0\n1,0.1,0.1\n2,0.1,0.1\n")
    for name, *words in (
        *(["lagrange"], ["base"], ["loops"], ["excite"], ["parallel"]),
        ["feasible", "--trajectory", motion],
        ["identify", "--log", motion, "-o", "out"],
        ["payload", "--log", motion, "--link", "slide", "--unloaded", "out"],
    ):
        command = [name, "arm.urdf", *words, *SIDE]
        refused_command(command, "base-moves-in-side-file", robot="arm", given="free")
    with pytest.raises(SystemExit):
        main(["lagrange", "arm.urdf", "--base", "free"])
    assert "invalid choice: 'free'" in capsys.readouterr().err


def test_mdh_names_the_base(dyn: Command) -> None:
    for command, kind, link, source in (
        (("arm.urdf", *SIDE), "free", "hull", "side file"),
        ((PLANAR,), "planar", "body", "planar joint 'base'"),
    ):
        assert dyn.json("mdh", *command)["base"] == {"kind": kind, "link": link, "source": source}
        assert dyn("mdh", *command).out.splitlines()[-1] == f"link '{link}' is a {kind} base, by the {source}"
    assert "base" not in dyn("mdh", "arm.urdf").out


def test_check_reports_the_base(dyn: Command) -> None:
    def of_side_file(link: str, line: int = 1) -> tuple[str, str, int]:
        return "base-declared-by-side-file", f"link '{link}'", line

    held = ("--side-file", dyn.write("held.yaml", "base: planar\nfriction: {base/x: {viscous: 1}}\n"))
    for words, code, *expected in (
        (("arm.urdf", *SIDE), 0, of_side_file("hull")),
        ((PLANAR,), 0, ("base-declared-by-joint", "link 'body'", 23)),
        (("light.urdf", *SIDE), 1, ("moving-base-without-inertia", "robot", None), of_side_file("a")),
        ((PLANAR, *held), 1, ("base-joint-property", "robot", None), of_side_file("body", 23)),
    ):
        found = dyn.json("check", *words, code=code)["findings"]
        assert [(x["code"], x["element"], x["line"]) for x in found if "base" in x["code"]] == expected
