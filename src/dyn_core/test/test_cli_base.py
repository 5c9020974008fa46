# SPDX-License-Identifier: Apache-2.0
"""The command `base`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dyn_core
from dyn_core.cli.main import main

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
RRP = str(ROBOTS / "rrp.urdf")


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["base", RRP]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "        0.02 kg m^2  ZZR1 = ZZ1 + Ia1 + YY2 + ZZ3",
        "        1.02 kg m^2  XXR2 = XX2 - YY2 + XX3 - ZZ3",
    ]
    assert lines[-4:] == [
        "",
        "13 base parameters of 33: 12 of bodies, 1 of rotors",
        "grouped: Ia1 YY2 Ia2 XX3 XY3 XZ3 YY3 YZ3 ZZ3",
        "no effect: XX1 XY1 XZ1 YY1 YZ1 MX1 MY1 MZ1 M1 MZ2 M2",
    ]


@pytest.mark.parametrize("mount", ["fixed", "tilted", "moving"])
@pytest.mark.parametrize("method", ["symbolic", "numeric"])
def test_json(method: str, mount: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["base", RRP, "--json", "--method", method, "--mount", mount]) == 0
    answer = json.loads(capsys.readouterr().out)
    robot = dyn_core.load_robot(RRP)
    found = dyn_core.base_parameters(robot, method, mount)
    assert (answer["robot"], answer["method"], answer["count"]) == ("rrp", method, len(found.kept))
    listed = answer["base_parameters"]
    assert [entry["expression"] for entry in listed] == list(found.expressions)
    assert [entry["name"] for entry in listed] == list(found.names)
    standard = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    for entry, value in zip(listed, found.values(standard), strict=True):
        assert entry["value"] == pytest.approx(value, abs=1e-15)
        letters = entry["kept"].rstrip("123")
        first_moment = letters in ("MX", "MY", "MZ")
        plain_mass = entry["kept"] == "Ia3" or letters == "M"  # joint 3 is prismatic
        assert entry["unit"] == ("kg" if plain_mass else "kg m" if first_moment else "kg m^2")
        assert sum(x * standard[name] for name, x in entry["terms"].items()) == pytest.approx(
            value, abs=1e-12
        )
    assert set(answer["grouped"]) == set(found.grouped)
    assert answer["no_effect"] == list(found.no_effect)


def test_nothing_to_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stone.urdf"
    path.write_text('<robot name="r"><link name="a"/></robot>')
    assert main(["base", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "0 base parameters of 0: 0 of bodies, 0 of rotors",
        "grouped: none",
        "no effect: none",
    ]


def test_loops_that_do_not_close_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    side = tmp_path / "loop.yaml"
    robot = dyn_core.load_robot(RRP)
    first, last = robot.link_names[0], robot.link_names[-1]
    side.write_text(
        f"loops: [{{name: rod, type: spherical, parent: {{link: {first}}}, child: {{link: {last}}}}}]"
    )
    assert main(["base", RRP, "--loops", str(side)]) == 1
    assert "the loops of robot 'rrp' cannot be closed" in capsys.readouterr().err


def test_other_commands_group_too(capsys: pytest.CaptureFixture[str]) -> None:
    """The same values from fewer operations, counted and in source code."""
    state = ["--q", "0.1", "0.2", "0.3", "--qd", "1", "2", "3", "--qdd", "3", "2", "1", "--json"]
    commands = {
        "eval": ["eval", RRP, "inverse_dynamics", *state],
        "counts": ["counts", RRP, "--json"],
        "emit": ["emit", RRP, "--function", "inverse_dynamics", "--lang", "c"],
    }
    outputs = {}
    for name, words in commands.items():
        for option in ([], ["--base-parameters"]):
            assert main([*words, *option]) == 0
            outputs[name, bool(option)] = capsys.readouterr().out
    values = [json.loads(outputs["eval", grouped])["values"] for grouped in (False, True)]
    assert values[1] == pytest.approx(values[0], rel=1e-12)
    counts = [json.loads(outputs["counts", grouped])["operations"] for grouped in (False, True)]
    assert counts[1]["inverse_dynamics"]["mul"] < counts[0]["inverse_dynamics"]["mul"]
    assert outputs["emit", True].count("*") < outputs["emit", False].count("*")


def test_symbols(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROBOTS / "rx90.urdf")
    assert main(["base", path, "--symbols"]) == 0
    assert "MXR2 = MX2 + d3*M3 + d3*M4 + d3*M5 + d3*M6\n" in capsys.readouterr().out
    assert main(["base", path, "--symbols", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lengths"] == {"d3": 0.45, "r4": 0.45}
    assert main(["base", path, "--symbols", "--method", "numeric"]) == 1
    assert "dyn: error: --symbols goes with --method symbolic" in capsys.readouterr().err
