# SPDX-License-Identifier: Apache-2.0
"""Logs of motions with known derivatives, and helpers for the findings about a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyn_core
from dyn_core import Log
from dyn_core.core.findings import Finding

Array = np.ndarray


@dataclass(frozen=True)
class Motion:
    """Samples of a motion: a Fourier series for each joint, and the effort for it."""

    joints: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def part(self, index: Array) -> Motion:
        names = ("time", "q", "qd", "qdd", "tau")
        return replace(self, **{name: getattr(self, name)[index] for name in names})

    @property
    def names(self) -> list[str]:
        return ["time", *(f"{what}.{j}" for what in ("position", "velocity", "effort") for j in self.joints)]

    @property
    def table(self) -> Array:
        return np.column_stack([self.time, self.q, self.qd, self.tau])


def motion(
    joints: int = 3, duration: float = 8.0, rate: float = 200.0, seed: int = 0, time: Array | None = None
) -> Motion:
    """Return a motion below 3 Hz, at a constant period or at the given times."""
    generator = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate if time is None else time
    omega = 2.0 * np.pi * np.arange(1, 6) * 0.5
    amplitude = generator.uniform(-0.3, 0.3, (5, joints))
    phase = generator.uniform(0.0, 2.0 * np.pi, (5, joints))
    angle = omega[:, None] * t[:, None, None] + phase
    q = (amplitude * np.sin(angle)).sum(axis=1)
    qd = (amplitude * omega[:, None] * np.cos(angle)).sum(axis=1)
    qdd = -(amplitude * omega[:, None] ** 2 * np.sin(angle)).sum(axis=1)
    names = tuple(("shoulder", "elbow", "wrist", "hand", "finger", "thumb", "tip")[:joints])
    return Motion(names, t, q, qd, qdd, 2.0 * qdd + 3.0 * qd + 5.0 * np.sin(q) + 1.0)


def write_csv(
    path: Path, table: Array, names: Sequence[str] | None = None, separator: str = ",", digits: int = 12
) -> Path:
    """Write a table; empty fields for NaN."""
    rows = (["" if np.isnan(value) else f"{value:.{digits}g}" for value in row] for row in table)
    lines = [*([] if names is None else [names]), *rows]
    path.write_text("".join(f"{separator.join(line)}\n" for line in lines))
    return path


def motion_csv(path: Path, m: Motion) -> Path:
    return write_csv(path, m.table, m.names)


def edited(array: Array, *changes: tuple[Any, Any]) -> Array:
    """Return a copy of an array with changed items, each as index and value."""
    copy = array.copy()
    for index, value in changes:
        copy[index] = value
    return copy


def log_of(
    m: Motion, mapping: Mapping[str, object] | None = None, robot: Any = None, **changed: Array
) -> Log:
    """Return the log of a motion with changed arrays, without velocities unless they are given."""
    arrays = {"time": m.time, "q": m.q, "tau": m.tau, **changed}
    return dyn_core.log_of_arrays(m.joints, mapping=mapping, robot=robot, **arrays)


def codes(log: Log) -> set[str]:
    return {finding.code for finding in log.findings}


def found(log: Log, code: str, *names: str, **values: object) -> Finding:
    """Return the only finding with a code; check its names, if given, and these values."""
    (finding,) = [f for f in log.findings if f.code == code and (not names or f.names == names)]
    for name, value in values.items():
        expected = pytest.approx(value, rel=1e-3) if isinstance(value, float) else value
        assert finding.values[name] == expected, f"{code}: {name}"
    return finding


def assert_same(log: Log, m: Motion, tolerance: float = 1e-9) -> None:
    assert log.joint_names == m.joints
    np.testing.assert_allclose(log.time, m.time - m.time[0], atol=1e-9)
    np.testing.assert_allclose(log.q, m.q, atol=tolerance)
    np.testing.assert_allclose(log.tau, m.tau, atol=tolerance * 100)


def arm(joints: tuple[str, ...], limit: float = 3.0) -> str:
    inertia = '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    names = [f"l{k}" for k in range(len(joints) + 1)]
    links = "".join(f'<link name="{name}"><inertial>{inertia}</inertial></link>' for name in names)
    limits = f'<limit lower="{-limit}" upper="{limit}" effort="40" velocity="30"/>'
    moving = "".join(
        f'<joint name="{joint}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<axis xyz="0 {k % 2} {1 - k % 2}"/>{limits}</joint>'
        for k, joint in enumerate(joints)
    )
    return f'<robot name="arm">{links}{moving}</robot>'
