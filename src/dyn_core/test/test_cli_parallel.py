# SPDX-License-Identifier: Apache-2.0
"""The command `parallel`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from parallel_cases import ROBOTS

import dyn_core
from dyn_core.cli.main import main
from dyn_core.symbolic.transform import rotation_from_rpy

MOTION = {
    "--xyz": (0.0, 0.16, 0.74),
    "--rpy": (0.1, -0.05, 0.2),
    "--V": (0.1, 0.0, -0.2, 0.0, 0.3, 0.0),
    "--Vd": (1.0, 0.5, 0.0, 0.0, 2.0, -1.0),
    "--wrench": (0.0, 20.0, -100.0, 3.0, 0.0, -1.0),
}


def files(name: str) -> list[str]:
    return [str(ROBOTS / f"{name}.urdf"), "--loops", str(ROBOTS / f"{name}.yaml")]


def answer(capsys: pytest.CaptureFixture[str], name: str, *words: str) -> str:
    assert main(["parallel", *files(name), *words]) == 0
    return capsys.readouterr().out


def words(motion: dict[str, tuple[float, ...]]) -> list[str]:
    return [word for option, values in motion.items() for word in (option, *map(repr, values))]


def model(name: str, **options: bool) -> dyn_core.ParallelModel:
    urdf, _, side = files(name)
    return dyn_core.compile_parallel(
        dyn_core.load_robot(urdf, loops=side), "platform", backend="python", **options
    )


@pytest.mark.parametrize(("name", "freedom", "base"), [("gough_stewart", 6, 88), ("delta", 3, 37)])
def test_what_a_robot_is_made_of(
    name: str, freedom: int, base: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = answer(capsys, name, "--no-rotor-inertia")
    said = json.loads(answer(capsys, name, "--no-rotor-inertia", "--json"))
    compiled = model(name, rotor_inertia=False)
    assert said["degrees_of_freedom"] == freedom
    assert tuple(leg["name"] for leg in said["legs"]) == compiled.leg_names
    assert tuple(joint for leg in said["legs"] for joint in leg["actuated"]) == compiled.joint_names
    assert tuple(joint for leg in said["legs"] for joint in leg["joints"]) == compiled.leg_joint_names
    assert said["operations"]["inverse_dynamics"] == compiled.operation_counts("inverse_dynamics")
    assert said["critical_path"]["forward_dynamics"] == compiled.critical_path("forward_dynamics")
    assert said["base_parameters"]["count"] == base == len(said["base_parameters"]["expressions"])
    assert f"{name}: platform 'platform' on {len(said['legs'])} legs, {freedom} degrees of freedom" in text
    assert f"{base} base parameters of {said['base_parameters']['of']}: " in text
    for leg in said["legs"]:
        starred = [f"{joint}*" if joint in leg["actuated"] else joint for joint in leg["joints"]]
        assert f"leg '{leg['name']}'  {' '.join(starred)}  {leg['cut_joint']}  closed form" in text
    assert ("mobility" in text) == (freedom < 6)


def test_grouped_parameters_take_fewer_operations(capsys: pytest.CaptureFixture[str]) -> None:
    bare = ("--no-rotor-inertia", "--no-friction", "--json")
    plain, grouped = (
        json.loads(answer(capsys, "gough_stewart", *more, *bare))["operations"]["inverse_dynamics"]
        for more in ((), ("--base-parameters",))
    )
    assert grouped["mul"] < plain["mul"]
    assert grouped["add"] < plain["add"]


def test_efforts_of_a_motion_and_the_motion_of_efforts(capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads(answer(capsys, "gough_stewart", *words(MOTION), "--json"))
    compiled, T = model("gough_stewart"), np.eye(4)
    T[:3, :3], T[:3, 3] = rotation_from_rpy(*MOTION["--rpy"]), MOTION["--xyz"]
    V, Vd, wrench = (np.array(MOTION[option]) for option in ("--V", "--Vd", "--wrench"))
    tau = compiled.inverse_dynamics(T, V, Vd, wrenches={"platform": wrench})
    q, qd, qdd = compiled.inverse_kinematics(T, V, Vd)
    for name, expected in (("positions", q), ("velocities", qd), ("accelerations", qdd), ("efforts", tau)):
        np.testing.assert_allclose(said[name], expected, rtol=1e-12)
    assert said["effort_units"] == ["N"] * 6
    assert len(said["leg_positions"]) == 18
    without = {option: values for option, values in MOTION.items() if option != "--Vd"}
    efforts = ["--tau", *map(repr, tau.tolist())]
    again = json.loads(answer(capsys, "gough_stewart", *words(without), *efforts, "--json"))
    np.testing.assert_allclose(again["acceleration"], Vd, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again["accelerations"], qdd, rtol=1e-9, atol=1e-9)
    text = answer(capsys, "gough_stewart", *words(without), *efforts)
    assert text.startswith(
        "acceleration of 'platform': 1.000000 0.500000 0.000000 0.000000 2.000000 -1.000000"
    )
    line = next(line for line in text.splitlines() if line.startswith("length_3 "))
    np.testing.assert_allclose(float(line.split()[4]), tau[2], atol=1e-6)


def test_by_itself_the_platform_is_near_the_assembly(capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads(answer(capsys, "delta", "--tau=0,0,0", "--json"))
    compiled = model("delta")
    home, T = compiled.structure.T_home, np.eye(4)
    T[:3, :3], T[:3, 3] = home.R, home.p
    still = compiled.forward_dynamics(T, np.zeros(6), np.zeros(3))
    np.testing.assert_allclose(said["acceleration"], still, rtol=1e-9, atol=1e-12)
    assert said["acceleration"][2] < -1.0  # it falls


@pytest.mark.parametrize(
    ("name", "more", "sentence"),
    [
        (
            "delta",
            ("--rpy", "0.1", "0", "0"),
            "T: the platform 'platform' has 3 degrees of freedom",
        ),
        (
            "delta",
            ("--V", "0", "0", "0", "1", "0", "0"),
            "V: the platform 'platform' has 3 degrees of freedom",
        ),
        ("delta", ("--xyz", "3", "0", "0"), "leg 'leg_1' does not reach the platform at (3, 0, 0) m: 1.89"),
        ("gough_stewart", ("--xyz", "0", "0.16", "0"), "a leg or the platform is singular there"),
        ("gough_stewart", ("--xyz", "0", "1"), "--xyz has 2 numbers: give three"),
        ("gough_stewart", ("--tau", "1", "2"), "--tau has 2 numbers"),
        ("gough_stewart", ("--tau=1,1,1,1,1,1", "--Vd=0,0,0,0,0,0"), "leave out --Vd, or --tau"),
        ("gough_stewart", ("--platform", "base_link"), "platform 'base_link': it is fixed to the base"),
        ("five_bar", (), "all loops end on 'left_distal', 'right_distal': say which link is the platform"),
        ("palletizer", (), "all loops end on no link"),
    ],
)
def test_what_is_refused(
    name: str, more: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parallel", *files(name), *more]) == 1
    assert sentence in capsys.readouterr().err


def test_a_tree_has_no_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parallel", str(ROBOTS / "rx90.urdf")]) == 1
    assert "robot 'rx90' has no loops, so no platform: give a side file" in capsys.readouterr().err
