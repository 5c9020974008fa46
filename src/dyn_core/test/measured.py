# SPDX-License-Identifier: Apache-2.0
"""Measured data, where they are: in DYN_DATASETS, or in shared/datasets beside the checkout."""

from __future__ import annotations

import os
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

from dyn_core.identification.motion import Motion, motion

EMPS_GAIN = 35.15065188
"""Force of the motor (N) for a control signal of 1 V."""

EMPS_URDF = """<robot name="emps">
  <link name="base"/>
  <link name="cart">
    <inertial><mass value="100"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="screw" type="prismatic">
    <parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1000" velocity="1"/>
  </joint>
</robot>"""


def dataset(name: str) -> Path:
    """Answer the directory of a data set; the test is skipped where there is none."""
    places = [Path(os.environ["DYN_DATASETS"])] if "DYN_DATASETS" in os.environ else []
    places += [parent / "shared" / "datasets" for parent in Path(__file__).resolve().parents]
    for place in places:
        if (place / name).is_dir():
            return place / name
    pytest.skip(f"the data set {name} is not here: name its directory in DYN_DATASETS")


def emps_motion(file: str) -> Motion:
    """Answer the motion of the EMPS axis, filtered as its authors do it; the ends are left out."""
    path = dataset("emps") / file
    io, signal = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.signal")
    data = io.loadmat(path)
    t = data["t"].ravel()
    period = np.median(np.diff(t))
    q = signal.filtfilt(*signal.butter(4, 100.0 * 2.0 * period), data["qm"].ravel())
    qd = np.gradient(q, period)
    qdd = np.gradient(qd, period)
    force = EMPS_GAIN * data["vir"].ravel()
    inner = slice(50, -50)
    return motion(t[inner], *(values[inner, None] for values in (q, qd, qdd, force)))


def ur10_motion() -> Motion:
    """Answer the motion of the UR10, by the protocol that goes with the data."""
    path = dataset("ur10_unisa") / "ur10_exciting_trajectory.db3"
    signal = pytest.importorskip("scipy.signal")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as bag:
        messages = bag.execute("select data from messages order by timestamp").fetchall()
    q, tau = zip(*(_position_and_effort(data) for (data,) in messages), strict=True)
    rate = 125.0
    b, a = signal.butter(4, 10.0 / (0.5 * rate))
    positions, efforts = (signal.filtfilt(b, a, np.array(values), axis=0) for values in (q, tau))
    qd = np.gradient(positions, 1.0 / rate, axis=0)
    qdd = np.gradient(qd, 1.0 / rate, axis=0)
    inner = slice(25, -25)
    t = np.arange(len(q)) / rate
    return motion(t[inner], positions[inner], qd[inner], qdd[inner], efforts[inner])


def _position_and_effort(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Answer two of the arrays of a JointState (little-endian CDR; what is aligned counts from byte 4)."""
    place = 4

    def number() -> int:
        nonlocal place
        place += -place % 4
        place += 4
        return struct.unpack_from("<I", data, place - 4)[0]

    def skip_text() -> None:
        nonlocal place
        length = number()
        place += length

    def array() -> np.ndarray:
        nonlocal place
        count = number()
        place += -(place - 4) % 8
        place += 8 * count
        return np.frombuffer(data, "<f8", count, place - 8 * count)

    number(), number(), skip_text()
    for _ in range(number()):
        skip_text()
    position, _, effort = array(), array(), array()
    return position, effort
