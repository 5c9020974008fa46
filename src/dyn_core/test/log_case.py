# SPDX-License-Identifier: Apache-2.0
"""Motions with known derivatives, as files of all kinds that logs come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dyn_core import Log

Array = np.ndarray
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Motion:
    """Samples of a motion: a Fourier series for each joint, and an effort that goes with it."""

    joints: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def part(self, index: Array) -> Motion:
        return replace(
            self,
            time=self.time[index],
            q=self.q[index],
            qd=self.qd[index],
            qdd=self.qdd[index],
            tau=self.tau[index],
        )

    @property
    def names(self) -> list[str]:
        return ["time", *(f"{what}.{j}" for what in ("position", "velocity", "effort") for j in self.joints)]

    @property
    def table(self) -> Array:
        return np.column_stack([self.time, self.q, self.qd, self.tau])


def motion(
    joints: int = 3, duration: float = 8.0, rate: float = 200.0, seed: int = 0, time: Array | None = None
) -> Motion:
    """Answer a motion below 3 Hz, at even times or at those that are given."""
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
    lines = [] if names is None else [separator.join(names)]
    lines += [
        separator.join("" if np.isnan(value) else f"{value:.{digits}g}" for value in row) for row in table
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def motion_csv(path: Path, m: Motion) -> Path:
    return write_csv(path, m.table, m.names)


def said(log: Log) -> str:
    return "\n".join(map(str, log.findings))


def assert_same(log: Log, m: Motion, tolerance: float = 1e-9) -> None:
    assert log.joint_names == m.joints
    np.testing.assert_allclose(log.time, m.time - m.time[0], atol=1e-9)
    np.testing.assert_allclose(log.q, m.q, atol=tolerance)
    np.testing.assert_allclose(log.tau, m.tau, atol=tolerance * 100)


def arm(joints: tuple[str, ...], limit: float = 3.0) -> str:
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    )
    links = "".join(f'<link name="l{k}">{inertial}</link>' for k in range(len(joints) + 1))
    limits = f'<limit lower="{-limit}" upper="{limit}" effort="40" velocity="30"/>'
    moving = "".join(
        f'<joint name="{joint}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<axis xyz="0 {k % 2} {1 - k % 2}"/>{limits}</joint>'
        for k, joint in enumerate(joints)
    )
    return f'<robot name="arm">{links}{moving}</robot>'
