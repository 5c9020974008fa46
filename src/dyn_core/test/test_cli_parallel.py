# SPDX-License-Identifier: Apache-2.0
"""The command `parallel`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Command
from refusals import refused_command
from robots import ROBOTS, loop_robot

import dyn_core
from dyn_core.symbolic.transform import rotation_from_rpy

MOTION = {"--xyz": (0.0, 0.16, 0.74), "--rpy": (0.1, -0.05, 0.2), "--V": (0.1, 0.0, -0.2, 0.0, 0.3, 0.0)}
MOTION |= {"--Vd": (1.0, 0.5, 0.0, 0.0, 2.0, -1.0), "--wrench": (0.0, 20.0, -100.0, 3.0, 0.0, -1.0)}


def files(name: str) -> list[str]:
    return [str(ROBOTS / f"{name}.urdf"), "--side-file", str(ROBOTS / f"{name}.yaml")]


@pytest.fixture
def parallel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys, "parallel")


def words(motion: dict[str, tuple[float, ...]]) -> list[str]:
    return [word for option, values in motion.items() for word in (option, *map(repr, values))]


def model(name: str, platform: str = "platform", **options: bool) -> dyn_core.ParallelModel:
    return dyn_core.compile_parallel(loop_robot(name), platform, backend="python", **options)


@pytest.mark.parametrize(("name", "freedom", "base"), [("gough_stewart", 6, 88), ("delta", 3, 37)])
def test_the_structure_of_the_robot(name: str, freedom: int, base: int, parallel: Command) -> None:
    text = parallel(*files(name), "--no-rotor-inertia").out
    said = parallel.json(*files(name), "--no-rotor-inertia")
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


def test_grouped_parameters_take_fewer_operations(parallel: Command) -> None:
    bare = *files("gough_stewart"), "--no-rotor-inertia", "--no-friction"
    plain, grouped = (
        parallel.json(*bare, *more)["operations"]["inverse_dynamics"] for more in ((), ("--base-parameters",))
    )
    assert grouped["mul"] < plain["mul"]
    assert grouped["add"] < plain["add"]


def test_efforts_of_a_motion_and_their_accelerations(parallel: Command) -> None:
    said = parallel.json(*files("gough_stewart"), *words(MOTION))
    compiled, T = model("gough_stewart"), np.eye(4)
    T[:3, :3], T[:3, 3] = rotation_from_rpy(*MOTION["--rpy"]), MOTION["--xyz"]
    V, Vd, wrench = (np.array(MOTION[option]) for option in ("--V", "--Vd", "--wrench"))
    tau = compiled.inverse_dynamics(T, V, Vd, wrenches={"platform": wrench})
    q, qd, qdd = compiled.inverse_kinematics(T, V, Vd)
    names = ("positions", "velocities", "accelerations", "efforts")
    np.testing.assert_allclose([said[name] for name in names], [q, qd, qdd, tau], rtol=1e-12)
    assert said["effort_units"] == ["N"] * 6
    assert len(said["leg_positions"]) == 18
    given = MOTION | {"--tau": tau.tolist()}
    del given["--Vd"]
    again = parallel.json(*files("gough_stewart"), *words(given))
    np.testing.assert_allclose(again["acceleration"], Vd, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again["accelerations"], qdd, rtol=1e-9, atol=1e-9)
    text = parallel(*files("gough_stewart"), *words(given)).out
    first, *lines = text.splitlines()
    assert first == "acceleration of 'platform': 1.000000 0.500000 0.000000 0.000000 2.000000 -1.000000"
    line = next(line for line in lines if line.startswith("length_3 "))
    np.testing.assert_allclose(float(line.split()[4]), tau[2], atol=1e-6)


def test_the_platform_is_in_the_assembly_by_default(parallel: Command) -> None:
    said = parallel.json(*files("delta"), "--tau=0,0,0")
    compiled = model("delta")
    home, T = compiled.structure.T_home, np.eye(4)
    T[:3, :3], T[:3, 3] = home.R, home.p
    still = compiled.forward_dynamics(T, np.zeros(6), np.zeros(3))
    np.testing.assert_allclose(said["acceleration"], still, rtol=1e-9, atol=1e-12)
    assert said["acceleration"][2] < -1.0  # the platform falls


@pytest.mark.parametrize(
    ("name", "more", "code", "values"),
    [
        ("delta", "--rpy 0.1 0 0", "platform-placement-impossible", {"argument": "T", "freedom": 3}),
        ("delta", "--V 0 0 0 1 0 0", "platform-motion-impossible", {"argument": "V", "freedom": 3}),
        ("delta", "--xyz 3 0 0", "leg-out-of-reach", {"leg": "leg_1", "position": "(3, 0, 0)", "gap": 1.89}),
        ("gough_stewart", "--xyz 0 0.16 0", "parallel-robot-singular", {}),
        ("gough_stewart", "--xyz 0 1", "option-count", {"option": "--xyz", "given": 2, "expected": "three"}),
        ("gough_stewart", "--tau 1 2", "option-numbers-count", {"option": "--tau", "given": 2}),
        ("gough_stewart", "--tau=1,1,1,1,1,1 --Vd=0,0,0,0,0,0", "acceleration-repeated", {}),
        ("five_bar", "", "platform-ambiguous", {"links": ["left_distal", "right_distal"]}),
        ("palletizer", "", "platform-undetermined", {"robot": "palletizer"}),
    ],
)
def test_refused_commands(name: str, more: str, code: str, values: dict[str, object]) -> None:
    refused_command(["parallel", *files(name), *more.split()], code, **values)


def test_robots_without_a_platform_are_refused() -> None:
    refused_command(
        ["parallel", str(ROBOTS / "rx90.urdf"), "--side-file", "none"], "platform-without-loops", robot="rx90"
    )
    with pytest.raises(dyn_core.DynError) as caught:
        model("gough_stewart", platform="base_link")
    assert caught.value.element == "link 'base_link'"
