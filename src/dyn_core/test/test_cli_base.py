# SPDX-License-Identifier: Apache-2.0
"""The command `base`."""

from __future__ import annotations

import pytest
from commands import Command
from robots import ROBOTS

import dyn_core

RRP = str(ROBOTS / "rrp.urdf")


def test_text(dyn: Command) -> None:
    lines = dyn("base", RRP).out.splitlines()
    assert lines[:2] == [
        "        0.02 kg m^2  ZZR1 = ZZ1 + Ia1 + YY2 + ZZ3",
        "        1.02 kg m^2  XXR2 = XX2 - YY2 + XX3 - ZZ3",
    ]
    assert lines[-4:] == [
        *("", "13 base parameters of 33: 12 of bodies, 1 of rotors"),
        "grouped: Ia1 YY2 Ia2 XX3 XY3 XZ3 YY3 YZ3 ZZ3",
        "no effect: XX1 XY1 XZ1 YY1 YZ1 MX1 MY1 MZ1 M1 MZ2 M2",
    ]
    stone = dyn.write("stone.urdf", '<robot name="r"><link name="a"/></robot>')
    none = ["0 base parameters of 0: 0 of bodies, 0 of rotors", "grouped: none", "no effect: none"]
    assert dyn("base", stone).out.splitlines()[1:] == none


@pytest.mark.parametrize("mount", ["fixed", "tilted", "moving"])
@pytest.mark.parametrize("method", ["symbolic", "numeric"])
def test_json(method: str, mount: str, dyn: Command) -> None:
    printed = dyn.json("base", RRP, "--method", method, "--mount", mount)
    robot = dyn_core.load_robot(RRP)
    found = dyn_core.base_parameters(robot, method, mount)
    assert (printed["robot"], printed["method"], printed["count"]) == ("rrp", method, len(found.kept))
    listed = printed["base_parameters"]
    assert [entry["expression"] for entry in listed] == list(found.expressions)
    assert [entry["name"] for entry in listed] == list(found.names)
    standard = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    for entry, value in zip(listed, found.values(standard), strict=True):
        assert entry["value"] == pytest.approx(value, abs=1e-15)
        letters = entry["kept"].rstrip("123")
        first_moment = letters in ("MX", "MY", "MZ")
        plain_mass = entry["kept"] == "Ia3" or letters == "M"  # joint 3 is prismatic
        assert entry["unit"] == ("kg" if plain_mass else "kg m" if first_moment else "kg m^2")
        total = sum(x * standard[name] for name, x in entry["terms"].items())
        assert total == pytest.approx(value, abs=1e-12)
    assert set(printed["grouped"]) == set(found.grouped)
    assert printed["no_effect"] == list(found.no_effect)


def test_loops_that_do_not_close_are_refused(dyn: Command) -> None:
    links = dyn_core.load_robot(RRP).link_names
    rod = f"name: rod, type: spherical, parent: {{link: {links[0]}}}, child: {{link: {links[-1]}}}"
    side = dyn.write("loop.yaml", f"loops: [{{{rod}}}]")
    dyn.refused("base", RRP, "--side-file", side, code="loops-open-at-zero", robot="rrp")


def test_other_commands_use_base_parameters(dyn: Command) -> None:
    """`eval` gives the same values; `counts` and `emit` have fewer operations."""
    state = ["--q", "0.1", "0.2", "0.3", "--qd", "1", "2", "3", "--qdd", "3", "2", "1"]
    (torques, counted, written), (same_torques, counted_less, written_less) = (
        (
            dyn.json("eval", RRP, "inverse_dynamics", *state, *option)["values"],
            dyn.json("counts", RRP, *option)["operations"]["inverse_dynamics"]["mul"],
            dyn("emit", RRP, "--function", "inverse_dynamics", "--lang", "c", *option).out.count("*"),
        )
        for option in ([], ["--base-parameters"])
    )
    assert same_torques == pytest.approx(torques, rel=1e-12)
    assert counted_less < counted
    assert written_less < written


def test_symbols(dyn: Command) -> None:
    command = ["base", str(ROBOTS / "rx90.urdf"), "--side-file", "none", "--symbols"]
    assert "MXR2 = MX2 + d3*M3 + d3*M4 + d3*M5 + d3*M6\n" in dyn(*command).out
    assert dyn.json(*command)["lengths"] == {"d3": 0.45, "r4": 0.45}
    dyn.refused(*command, "--method", "numeric", code="option-needs-symbolic-method")
