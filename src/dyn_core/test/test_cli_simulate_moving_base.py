# SPDX-License-Identifier: Apache-2.0
"""`dyn simulate` of robots whose base moves."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from test_moving_base_model import ARM, STATE

import dyn_core
from dyn_core import MovingBaseSettings, MovingBaseSimulator
from dyn_core.cli.main import main

PUSHED = ARM.replace('velocity="9"', 'velocity="0.5"')
JOINTS = [
    f"{column}.{joint}"
    for column in ("position", "velocity", "acceleration", "effort")
    for joint in ("j1", "j2")
]


@pytest.fixture
def arm(tmp_path: Path) -> str:
    path = tmp_path / "arm.urdf"
    path.write_text(PUSHED)
    return str(path)


def words(values: np.ndarray) -> list[str]:
    return list(map(repr, values.tolist()))


def read(path: Path) -> tuple[list[str], np.ndarray]:
    with path.open() as file:
        names, *rows = csv.reader(file)
    return names, np.array(rows, dtype=float)


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_it_is_the_simulation_of_python(
    kind: str, arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """States, efforts that change, a force on the base, a payload, and what is written of them."""
    efforts = tmp_path / "efforts.csv"
    efforts.write_text("time,j2,j1\n2,0.5,1\n2.05,-0.5,0\n2.1,0,0\n")
    out = tmp_path / "out.csv"
    k, m = (6, 7) if kind == "free" else (3, 3)
    pose, V, F = STATE.pose[:m], STATE.V[:k], STATE.F[:k]
    command = ["simulate", arm, "--base", kind, "--effort", str(efforts), "-o", str(out), "--step", "0.01"]
    command += ["--pose", *words(pose), "--V", *words(V), "--F", *words(F), "--q", "0.3", "0.1"]
    command += ["--qd", "0.5", "-0.2", "--payload", "slide,1.5", "--json"]
    assert main(command) == 0
    summary = json.loads(capsys.readouterr().out)

    robot = dyn_core.load_robot(PUSHED).with_payload("slide", 1.5)
    simulator = MovingBaseSimulator(
        robot, kind, MovingBaseSettings(step=0.01), pose, V, [0.3, 0.1], [0.5, -0.2]
    )
    simulator.set_force(F)
    expected = []
    for step in range(11):
        if step % 5 == 0:
            simulator.set_effort({0: [1.0, 0.5], 5: [0.0, -0.5], 10: [0.0, 0.0]}[step])
        s = simulator.state
        vectors = (s.pose, s.V, s.q, s.qd, simulator.acceleration, simulator.effort)
        expected.append(np.concatenate([[2.0 + 0.01 * step], *vectors]))
        if step < 10:
            simulator.step()
    names, values = read(out)
    base = (
        [*(f"pose.{x}" for x in ("x", "y", "z", "qx", "qy", "qz", "qw"))]
        + [f"V.{part}_{x}" for part in ("linear", "angular") for x in "xyz"]
        if kind == "free"
        else ["pose.x", "pose.y", "pose.angle", "V.linear_x", "V.linear_y", "V.angular"]
    )
    assert names == ["time", *base, *JOINTS]
    np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-12)
    assert (summary["base"], summary["integrator"]) == ({"kind": kind, "link": "hull"}, "rk4")
    assert (summary["steps"], summary["joint_names"]) == (10, ["j1", "j2"])
    for key, vector in (("pose", s.pose), ("V", s.V), ("position", s.q), ("velocity", s.qd)):
        np.testing.assert_array_equal(summary[key], vector)


def test_forces_on_the_base_over_time(arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A push along y for 0.1 s, and then none: the momentum is that of the push."""
    efforts, out = tmp_path / "efforts.csv", tmp_path / "out.csv"
    efforts.write_text("F.force_y,time,j1,j2\n12,0,0,0\n0,0.1,0,0\n0,0.2,0,0\n")
    command = ["simulate", arm, "--base", "planar", "--effort", str(efforts), "-o", str(out)]
    assert main([*command, "--json"]) == 0
    end = json.loads(capsys.readouterr().out)
    model = dyn_core.compile_moving_base(dyn_core.load_robot(PUSHED), "planar", backend="python")
    momentum = model.momentum(end["pose"], end["V"], end["position"], end["velocity"])
    # The base turns a little, and the force with it.
    assert np.hypot(*momentum[:2]) == pytest.approx(1.2, rel=1e-3)
    assert main([*command, "--F", "1", "0", "0"]) == 1
    assert "both have forces on the base: leave one of them out" in capsys.readouterr().err
    efforts.write_text("F.force_z,time\n12,0\n")
    assert main([*command, "--duration", "0.1"]) == 1
    of_plane = "'F.force_x', 'F.force_y', 'F.moment'"
    assert f"'j1', 'j2', and the forces on its base {of_plane}\n" in capsys.readouterr().err
    efforts.write_text("F.moment,time\n12,0\n")
    command[command.index("planar")] = "free"
    assert main([*command, "--duration", "0.1"]) == 1
    of_space = ", ".join(f"'F.{part}_{axis}'" for part in ("force", "moment") for axis in "xyz")
    error = capsys.readouterr().err
    assert "line 1, column 'F.moment': this column is not one of the robot's: its joints are" in error
    assert f"and the forces on its base {of_space}\n" in error


def test_what_the_side_file_says(arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default its base counts, and falls; one that is held does not."""
    side, out = tmp_path / "side.yaml", tmp_path / "out.csv"
    side.write_text("base: free\n")
    command = ["simulate", arm, "--loops", str(side), "--duration", "0.1", "--every", "100", "-o", str(out)]
    assert main(command) == 0
    names, values = read(out)
    assert values.shape[0] == 2
    mass = [body.M for body in dyn_core.load_robot(PUSHED).bodies]
    assert len(mass) == 3
    assert values[-1, names.index("pose.z")] == pytest.approx(-0.5 * 9.81 * 0.1**2, abs=1e-9)
    assert main([*command, "--base", "fixed"]) == 0
    assert read(out)[0] == ["time", *JOINTS]


def test_joints_beyond_their_limits_are_told_of(
    arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    efforts = tmp_path / "efforts.csv"
    efforts.write_text("time,j1,j2\n0,0,50\n")
    command = ["simulate", arm, "--base", "free", "--effort", str(efforts), "--duration", "1"]
    assert main([*command, "-o", str(tmp_path / "out.csv"), "--q", "0", "0.9"]) == 0
    error = capsys.readouterr().err
    assert (
        "joint 'j2' is given its largest effort, which is less than what was asked for, first after 0"
        in error
    )
    assert "joint 'j2' is faster than its limit, which nothing enforces, first after" in error
    assert "joint 'j2' is beyond a limit of its positions, at which nothing stops it, first after" in error
    assert "x real time" in error


def test_sensors_and_errors_of_the_model(arm: str, tmp_path: Path) -> None:
    """Noise and resolution are of the joints; the mass of the base is off, too."""
    out = tmp_path / "out.csv"
    command = [
        "simulate",
        arm,
        "--base",
        "free",
        "--duration",
        "0.01",
        "-o",
        str(out),
        "--gravity",
        "0",
        "0",
        "0",
    ]
    force = ["--F", "1", "0", "0", "0", "0", "0"]
    assert main([*command, *force]) == 0
    _, exact = read(out)
    assert main([*command, *force, "--noise", "0.1,0,0", "--resolution", "0.01,0,0"]) == 0
    names, noisy = read(out)
    j = names.index("position.j1")
    assert np.abs(noisy[:, j] - exact[:, j]).max() > 0.05
    np.testing.assert_allclose(noisy[:, j] * 100, np.rint(noisy[:, j] * 100), atol=1e-9)
    others = [k for k in range(len(names)) if not names[k].startswith("position")]
    np.testing.assert_array_equal(noisy[:, others], exact[:, others])
    assert main([*command, *force, "--model-error", "0.3", "--seed", "2"]) == 0
    _, other = read(out)
    robot = dyn_core.with_model_error(dyn_core.load_robot(PUSHED), 0.3, 2)
    assert all(a.M != b.M for a, b in zip(robot.bodies, dyn_core.load_robot(PUSHED).bodies, strict=True))
    assert np.abs(other - exact).max() > 1e-6


MISTAKES = {
    "--base given": "robot 'arm': a base whose motion is given is not simulated: give --base free or planar",
    "--base free --integrator semi_implicit_euler": "--integrator semi_implicit_euler is for a base",
    "--base free --position-limits": "--position-limits is for a base that stands still: on a moving base",
    "--base free --pose 0 0 0 0 0 0 0": "--pose: the quaternion (x, y, z, w) has the length 0: give one",
    "--base free --F 1": "--F has 1 number, but a force of a free base has 6: force-x force-y force-z",
    "--base free --qd 1": "--qd has 1 number, but the robot has 2 joints",
    "--pose 0 0 0": "--pose is of a base that moves, and this one stands still: leave it out, or give "
    "--base free or planar",
    "--base free --every 0": "--every is 0: give a number >= 1",
    "--base free --step -1": "the setting step is -1.0: give a finite number > 0 (s)",
    "--base free --noise 1": "--noise has 1 numbers: give three",
}


@pytest.mark.parametrize("options", MISTAKES)
def test_mistakes(options: str, arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    assert main(["simulate", arm, "--duration", "0.01", "-o", str(out), *options.split()]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"dyn: error: {MISTAKES[options]}")
    assert not out.exists()
