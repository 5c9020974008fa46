# SPDX-License-Identifier: Apache-2.0
"""From a log to a report: `dyn identify` for 30 s of seven joints at 1 kHz, in three forms of files."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from bars import IDENTIFY_S, Bars

import dyn_core

DURATION_S, RATE_HZ = 30.0, 1000.0
AXES = (
    (0, 0, 0.33),
    (-90, 0, 0),
    (90, 0, 0.32),
    (90, 0.08, 0),
    (-90, -0.08, 0.38),
    (90, 0, 0),
    (90, 0.09, 0),
)
"""By joint: angle between its axis and that before (deg), distance of the axes, offset along the axis (m)."""
ROUNDS = 3


def arm() -> str:
    """URDF of an arm like the Panda."""
    random = np.random.default_rng(0)
    parts = ['<link name="base"/>']
    for j, (alpha, d, r) in enumerate(AXES, start=1):
        a, mass = math.radians(alpha), 8.0 / j
        x, y, z = random.uniform(-0.1, 0.1, 3)
        parts.append(
            f'<link name="link_{j}"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>'
            f'<inertia ixx="{0.008 * mass}" iyy="{0.009 * mass}" izz="{0.007 * mass}" ixy="0" ixz="0" '
            'iyz="0"/>'
            f'</inertial></link><joint name="joint_{j}" type="revolute"><parent link="'
            f'{"base" if j == 1 else f"link_{j - 1}"}"/><child link="link_{j}"/><origin '
            f'xyz="{d} {-r * math.sin(a)} {r * math.cos(a)}" rpy="{a} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" effort="300" velocity="3"/></joint>'
        )
    return f'<robot name="arm_7">{"".join(parts)}</robot>'


def measured(robot: dyn_core.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, positions and efforts of a Fourier series, with noise and steps of sensors."""
    random = np.random.default_rng(1)
    n = robot.dof
    values = np.array(robot.parameters).reshape(n, 14)
    size = np.linspace(1.0, 0.1, n)[:, None]
    values[:, :10] *= random.uniform(0.8, 1.25, (n, 1))
    values[:, 10:] = size * random.uniform([0.2, 2.0, 3.0, -0.5], [0.6, 6.0, 8.0, 0.5], (n, 4))
    t = np.arange(int(DURATION_S * RATE_HZ)) / RATE_HZ
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    a, b = random.normal(size=(2, 5, n)) / np.arange(1, 6)[:, None]
    sines, cosines = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    scale = 1.5 / np.abs(cosines @ (a * w[:, None]) - sines @ (b * w[:, None])).max(axis=0)
    a, b = scale * a, scale * b
    q = sines @ a + cosines @ b
    qd = cosines @ (a * w[:, None]) - sines @ (b * w[:, None])
    qdd = -sines @ (a * w[:, None] ** 2) - cosines @ (b * w[:, None] ** 2)
    model = dyn_core.compile_model(robot.with_parameters(values.ravel()), backend="python")
    tau = model.inverse_dynamics(q, qd, qdd)
    tau += 0.01 * np.abs(tau).max(axis=0) * random.normal(size=tau.shape)
    return t, np.round(q * 2**19 / (2 * np.pi)) * 2 * np.pi / 2**19, tau


def print_identify(bars: Bars) -> None:
    """Print a line for each form of file: wall time of the whole command, the least of some rounds."""
    print(f"dyn identify: {DURATION_S:g} s of an arm of seven joints at {RATE_HZ:g} Hz, from log to report.")
    print(f"{'log':8}{'wall time':>11}{'of the CPU':>12}{'held out':>10}  bar")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "arm.urdf").write_text(arm())
        robot = dyn_core.load_robot(place / "arm.urdf")
        motion = measured(robot)
        for form, write in FORMS.items():
            log = place / f"log.{form}"
            try:
                write(log, robot.joint_names, *motion)
            except ImportError as problem:
                print(f"{form:8}{problem.name} is not installed")
                continue
            wall, cpu, error = min(_timed(place, log) for _ in range(ROUNDS))
            mark = bars.mark(f"dyn identify from {form}", wall, IDENTIFY_S)
            print(f"{form:8}{wall:>9.2f} s{cpu:>10.2f} s{100 * error:>8.2f} %  {mark}", flush=True)


def _timed(place: Path, log: Path) -> tuple[float, float, float]:
    """Wall time and CPU time (s) of the command in a new interpreter, and the error that it found."""
    import json

    out = place / "out"
    command = [sys.executable, "-m", "dyn_core", "identify", str(place / "arm.urdf")]
    before = os.times()
    start = time.perf_counter()
    subprocess.run([*command, "--log", str(log), "--out", str(out), "--quiet"], check=True)
    wall = time.perf_counter() - start
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    result = json.loads((out / "result.json").read_text())
    return wall, cpu, result["held_out"]["relative_torque_error"]


def _csv(path: Path, joints: tuple[str, ...], t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    names = [f"{what}.{joint}" for what in ("position", "effort") for joint in joints]
    table = np.column_stack([t, q, tau])
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.9g")


def _npz(path: Path, joints: tuple[str, ...], t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    np.savez(path, time=t, q=q, tau=tau, joint_names=np.array(joints))


def _mcap(path: Path, joints: tuple[str, ...], t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = store.types
    state, header = kinds["sensor_msgs/msg/JointState"], kinds["std_msgs/msg/Header"]
    directory = path.with_suffix("")
    with Writer(directory, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        topic = bag.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k in range(len(t)):
            stamp = 1_700_000_000_000_000_000 + round(1e9 * t[k])
            time_ = kinds["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
            message = state(header(time_, ""), list(joints), q[k], np.zeros(0), tau[k])
            bag.write(topic, stamp, store.serialize_cdr(message, state.__msgtype__))
    (bag_file,) = directory.glob("*.mcap")
    bag_file.rename(path)


FORMS: dict[str, Callable[..., None]] = {"csv": _csv, "npz": _npz, "mcap": _mcap}
