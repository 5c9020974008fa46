# SPDX-License-Identifier: Apache-2.0
"""`dyn simulate` of robots on a moving base."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from test_cli_simulate import table
from test_moving_base_model import ARM, STATE

import dyn_core
from dyn_core import MovingBaseSettings, MovingBaseSimulator

PUSHED = ARM.replace('velocity="9"', 'velocity="0.5"')
JOINTS = [f"{kind}.j{j}" for kind in ("position", "velocity", "acceleration", "effort") for j in (1, 2)]


@pytest.fixture
def simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "arm.urdf").write_text(PUSHED)
    return Command(tmp_path, capsys, "simulate", str(tmp_path / "arm.urdf"), "-o", str(tmp_path / "out.csv"))


def words(values: np.ndarray) -> list[str]:
    return list(map(repr, values.tolist()))


def read(simulate: Command) -> tuple[list[str], np.ndarray]:
    states = table(simulate.folder / "out.csv")
    return list(states), np.array(list(states.values())).T


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_the_command_gives_the_states_of_the_python_simulator(kind: str, simulate: Command) -> None:
    """With efforts that change, a force on the base, a payload, and the columns of the file."""
    efforts = simulate.write("efforts.csv", "time,j2,j1\n2,0.5,1\n2.05,-0.5,0\n2.1,0,0\n")
    k, m = (6, 7) if kind == "free" else (3, 3)
    pose, V, F = STATE.pose[:m], STATE.V[:k], STATE.F[:k]
    options = ["--base", kind, "--effort", efforts, "--step=0.01", "--q=0.3,0.1", "--qd", "0.5", "-0.2"]
    options += ["--pose", *words(pose), "--V", *words(V), "--F", *words(F), "--payload", "slide,1.5"]
    summary = simulate.json(*options)

    robot = dyn_core.load_robot(PUSHED).with_payload("slide", 1.5)
    settings = MovingBaseSettings(step=0.01)
    simulator = MovingBaseSimulator(robot, kind, settings, pose, V, [0.3, 0.1], [0.5, -0.2])
    simulator.set_force(F)
    expected = []
    for step in range(11):
        s = simulator.step() if step else simulator.state
        if step % 5 == 0:
            simulator.set_effort({0: [1.0, 0.5], 5: [0.0, -0.5], 10: [0.0, 0.0]}[step])
        expected.append([2.0 + 0.01 * step, *s.pose, *s.V, *s.q, *s.qd])
        expected[-1] += [*simulator.acceleration, *simulator.effort]
    names, values = read(simulate)
    axes = [f"V.{part}_{x}" for part in ("linear", "angular") for x in "xyz"]
    base = [*(f"pose.{x}" for x in ("x", "y", "z", "qx", "qy", "qz", "qw")), *axes]
    if kind == "planar":
        base = ["pose.x", "pose.y", "pose.angle", "V.linear_x", "V.linear_y", "V.angular"]
    assert names == ["time", *base, *JOINTS]
    np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-12)
    found = [summary[key] for key in ("base", "integrator", "steps", "joint_names")]
    assert found == [{"kind": kind, "link": "hull"}, "rk4", 10, ["j1", "j2"]]
    for key, vector in (("pose", s.pose), ("V", s.V), ("position", s.q), ("velocity", s.qd)):
        np.testing.assert_array_equal(summary[key], vector)


def test_forces_on_the_base_over_time(simulate: Command) -> None:
    """A push along y for 0.1 s: afterwards the momentum is the impulse of the push."""
    efforts = simulate.write("efforts.csv", "F.force_y,time,j1,j2\n12,0,0,0\n0,0.1,0,0\n0,0.2,0,0\n")
    planar, of_file = ("--base", "planar"), ("--effort", efforts)
    end = simulate.json(*planar, *of_file)
    model = dyn_core.compile_moving_base(dyn_core.load_robot(PUSHED), "planar", backend="python")
    momentum = model.momentum(end["pose"], end["V"], end["position"], end["velocity"])
    assert np.hypot(*momentum[:2]) == pytest.approx(1.2, rel=1e-3)  # the force turns slightly with the base
    simulate.refused(*planar, *of_file, "--F", "1", "0", "0", code="base-forces-repeated", path=efforts)
    of_plane = ["F.force_x", "F.force_y", "F.moment"]
    of_space = [f"F.{part}_{axis}" for part in ("force", "moment") for axis in "xyz"]
    for base, column, forces in (("planar", "F.force_z", of_plane), ("free", "F.moment", of_space)):
        simulate.write("efforts.csv", f"{column},time\n12,0\n")
        options = ("--base", base, *of_file, "--duration", "0.1")
        expected = {"joints": ["j1", "j2"], "forces": forces, "element": f"column '{column}'", "line": 1}
        simulate.refused(*options, code="effort-or-force-column-unknown", **expected)


def test_the_base_of_the_side_file_is_the_default(simulate: Command) -> None:
    """This base falls; a fixed one does not."""
    options = (
        "--side-file",
        simulate.write("side.yaml", "base: free\n"),
        "--duration",
        "0.1",
        "--every",
        "100",
    )
    simulate(*options)
    heights = table(simulate.folder / "out.csv")["pose.z"]
    assert heights == pytest.approx([0.0, -0.5 * 9.81 * 0.1**2], abs=1e-9)
    simulate(*options, "--base", "fixed")
    assert read(simulate)[0] == ["time", *JOINTS]


def test_joints_beyond_their_limits_are_reported(simulate: Command) -> None:
    efforts = simulate.write("efforts.csv", "time,j1,j2\n0,0,50\n")
    options = ("--base", "free", "--effort", efforts, "--duration", "1", "--q", "0", "0.9")
    warnings = [line for line in simulate(*options).err.splitlines() if line.startswith("dyn: warning: ")]
    assert all("'j2'" in line for line in warnings)
    times = [re.search(r"([\d.]+) s$", line.rstrip(".")) for line in warnings]
    assert [float(time[1]) for time in times if time] == [0.0, 0.069, 0.166]  # effort, speed and position


def test_sensor_noise_and_model_errors_have_an_effect(simulate: Command) -> None:
    """Noise and resolution apply to joints; the mass of the base has an error, too."""
    options = ["--base", "free", "--duration", "0.01", "--gravity=0,0,0", "--F=1,0,0,0,0,0"]
    (names, exact), (_, noisy), (_, other) = (
        (simulate(*options, *more.split()), read(simulate))[1]
        for more in ("", "--noise 0.1,0,0 --resolution 0.01,0,0", "--model-error 0.3 --seed 2")
    )
    j = names.index("position.j1")
    assert np.abs(noisy[:, j] - exact[:, j]).max() > 0.05
    np.testing.assert_allclose(noisy[:, j] * 100, np.rint(noisy[:, j] * 100), atol=1e-9)
    others = [k for k, name in enumerate(names) if not name.startswith("position")]
    np.testing.assert_array_equal(noisy[:, others], exact[:, others])
    robot = dyn_core.load_robot(PUSHED)
    bodies = zip(robot.bodies, dyn_core.with_model_error(robot, 0.3, 2).bodies, strict=True)
    assert all(a.M != b.M for a, b in bodies)
    assert np.abs(other - exact).max() > 1e-6


MISTAKES = [
    ("--base given", "base-given-not-simulated", {"robot": "arm"}),
    ("--base free --integrator semi_implicit_euler", "integrator-of-fixed-base", {}),
    ("--base free --position-limits", "position-limits-on-moving-base", {}),
    ("--base free --pose 0 0 0 0 0 0 0", "option-unusable", {}),
    ("--base free --F 1", "option-numbers-count", {"option": "--F", "given": 1}),
    ("--base free --qd 1", "option-numbers-count", {"option": "--qd", "given": 1}),
    ("--pose 0 0 0", "option-of-moving-base", {"option": "pose"}),
    ("--base free --every 0", "option-below-one", {"given": 0}),
    ("--base free --step -1", "simulation-setting-invalid", {"setting": "step", "given": -1.0}),
    ("--base free --noise 1", "option-count", {"option": "--noise", "given": 1, "expected": "three"}),
]


@pytest.mark.parametrize(("options", "code", "values"), MISTAKES)
def test_mistakes(options: str, code: str, values: dict, simulate: Command) -> None:
    simulate.refused("--duration", "0.01", *options.split(), code=code, **values)
    assert not (simulate.folder / "out.csv").exists()
