# SPDX-License-Identifier: Apache-2.0
"""Measured data from DYN_DATASETS, or from shared/datasets beside the checkout."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core import Protocol, Signals

EMPS_URDF = """<robot name="emps">
  <link name="base"/><link name="cart"><inertial><mass value="100"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="screw" type="prismatic">
    <parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1000" velocity="1"/>
  </joint>
</robot>"""
EMPS_MAP = {"time": {"column": "t", "unit": "s"}, "joints": {"screw": {}}}
EMPS_MAP["joints"]["screw"] = {
    "position": {"column": "qm", "unit": "m"},
    "effort": {"column": "vir", "unit": "V", "gain": 35.15065188},
}
EMPS_PROTOCOL = Protocol(cutoff=100.0, half_width=1, margin=100, decimate=10, train=1.0)
"""Protocol of the authors (Janot, Gautier, Brunot 2019)."""
EMPS_PUBLISHED = {"MR1": (95.1089, 0.1085), "Fv1": (203.5034, 1.1460), "Fs1": (20.3935, 0.1012)}
EMPS_PUBLISHED["Fo1"] = (-3.1648, 0.0444)
"""Published values and standard deviations of IDIM-LS."""
UR10_PROTOCOL = Protocol(cutoff=10.0, filter_effort=True, half_width=1, margin=25, decimate=1, train=0.65)
"""Protocol that comes with the data."""

UR10 = (
    ("shoulder_pan_joint", (0.1273, 0.0, 90.0), 7.1, (0.021, 0.0, 0.027)),
    ("shoulder_lift_joint", (0.0, -0.612, 0.0), 12.7, (0.38, 0.0, 0.158)),
    ("elbow_joint", (0.0, -0.5723, 0.0), 4.27, (0.24, 0.0, 0.068)),
    ("wrist_1_joint", (0.163941, 0.0, 90.0), 2.0, (0.0, 0.007, 0.018)),
    ("wrist_2_joint", (0.1157, 0.0, -90.0), 2.0, (0.0, 0.007, 0.018)),
    ("wrist_3_joint", (0.0922, 0.0, 0.0), 0.365, (0.0, 0.0, -0.026)),
)
"""By joint, as the manufacturer publishes them: d (m), a (m) and alpha (deg) of Denavit and Hartenberg, and
the mass (kg) of its link, with the centre in the frame behind it (m)."""
UR10_RADIUS = 0.1
"""Assumed radius of gyration of a link (m); none is published."""


def dataset(name: str) -> Path:
    """Return the directory of a data set; skip the test where it is absent."""
    named = [Path(os.environ["DYN_DATASETS"])] if "DYN_DATASETS" in os.environ else []
    for place in (*named, *(parent / "shared" / "datasets" for parent in Path(__file__).resolve().parents)):
        if (place / name).is_dir():
            return place / name
    pytest.skip(f"the data set {name} is not here: name its directory in DYN_DATASETS")


def emps_signals(file: str, protocol: Protocol = EMPS_PROTOCOL) -> Signals:
    """Return the signals of the EMPS axis."""
    return dyn_core.condition(dyn_core.read_log(dataset("emps") / file, EMPS_MAP), protocol)


def ur10_signals(protocol: Protocol = UR10_PROTOCOL) -> Signals:
    """Return the signals of the UR10."""
    log = dyn_core.read_log(dataset("ur10_unisa") / "ur10_exciting_trajectory.db3", robot=ur10())
    return dyn_core.condition(log, protocol)


def ur10() -> dyn_core.Robot:
    """Return the UR10 with the data that its manufacturer publishes."""
    parts, (d, a, alpha) = ['<link name="link_0"/>'], (0.0, 0.0, 0.0)
    for i, (name, following, mass, centre) in enumerate(UR10, start=1):
        x, y, z = _through(*following, centre)
        inertia = mass * UR10_RADIUS**2
        parts.append(
            f'<joint name="{name}" type="revolute"><parent link="link_{i - 1}"/><child link="link_{i}"/>'
            f'<origin xyz="{a} 0 {d}" rpy="{math.radians(alpha)} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-6.3" upper="6.3" effort="330" velocity="3"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>'
            f'<inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>'
            "</inertial></link>"
        )
        d, a, alpha = following
    return dyn_core.load_robot(f'<robot name="ur10">{"".join(parts)}</robot>')


def _through(d: float, a: float, alpha: float, point: tuple[float, float, float]) -> np.ndarray:
    """Return a point of the frame behind a link in the frame of the link."""
    c, s = math.cos(math.radians(alpha)), math.sin(math.radians(alpha))
    return np.array([a, 0.0, d]) + np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) @ point
