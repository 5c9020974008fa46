# SPDX-License-Identifier: Apache-2.0
"""Parallel robots for tests: those of config/robots, one with six different legs, and a planar one."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import yaml
from cut_joint import rotation
from robots import ROBOTS

import dyn_core
from dyn_core.algorithms.parallel.platform_mobility import moved

TILTED = (1.3, -2.4, -9.1)
NAMES = ("gough_stewart", "delta", "six_legs", "planar")


class Case(NamedTuple):
    """Text of a URDF and of its side file."""

    urdf: str
    side_file: str

    def load(self, gravity=TILTED) -> dyn_core.Robot:
        return dyn_core.load_robot(self.urdf, loops=self.side_file, gravity=gravity)


@cache
def case(name: str) -> Case:
    if name in ("gough_stewart", "delta"):
        return Case(*((ROBOTS / f"{name}.{end}").read_text() for end in ("urdf", "yaml")))
    return {"six_legs": six_legs, "planar": planar}[name]()


def _body(name: str, k: int, mass: float = 1.0) -> str:
    c = [0.01 * math.sin(7 * k + i) for i in range(3)]
    m = [0.02 + 0.003 * math.sin(3 * k + i) for i in range(6)]
    return (
        f'<link name="{name}"><inertial><origin xyz="{c[0]} {c[1]} {c[2]}"/><mass value="{mass}"/>'
        f'<inertia ixx="{m[0]}" ixy="{0.1 * m[3]}" ixz="{-0.05 * m[4]}" iyy="{m[1]}" iyz="{0.08 * m[5]}" '
        f'izz="{m[2]}"/></inertial></link>\n'
    )


def _joint(name: str, kind: str, parent: str, child: str, xyz, rpy, axis, damping: float = 0.0) -> str:
    x, r, a = (" ".join(repr(float(v)) for v in values) for values in (xyz, rpy, axis))
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x}" rpy="{r}"/><axis xyz="{a}"/><dynamics damping="{damping}" friction="0.2"/>'
        '<limit lower="-2" upper="2" effort="100" velocity="10"/></joint>\n'
    )


FLOATING = (
    '<joint name="platform_motion" type="floating"><parent link="base"/><child link="platform"/></joint>'
)
OWN = [f"platform_motion/{part}" for part in ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")]
X, Y, Z, HERE = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)


def six_legs() -> Case:
    """Legs of three to six joints; one with a closed form, one bent, one with revolute joints only."""
    tilt, swing = ("tilt", "revolute", Y, HERE), ("swing", "revolute", X, HERE)
    slide = [tilt, swing, ("length", "prismatic", Z, (0, 0, 0.6))]
    spin, nod = ("spin", "revolute", Z, HERE), ("nod", "revolute", Y, HERE)
    arm = [tilt, ("length", "revolute", Y, (0.3, 0, 0)), ("sway", "revolute", X, HERE)]
    chains = [
        (slide, "spherical", HERE, "length"),
        (slide, "spherical", (0.03, 0.01, -0.02), "length"),
        (arm, "spherical", (0, 0, 0.6), "tilt"),
        ([*slide, spin], "universal", HERE, "length"),
        ([*slide, spin, nod], "revolute", HERE, "length"),
        ([*slide, spin, nod, ("roll", "revolute", X, HERE)], "fixed", (0.01, 0, 0), "length"),
    ]
    text = '<robot name="six_legs">\n<link name="base"/>\n' + _body("platform", 0, 8.0) + FLOATING
    loops, passive, assembly = [], list(OWN), {"platform_motion/trans_z": 0.55}
    for i, (chain, kind, cut, actuated) in enumerate(chains):
        turn = math.tau * i / 6
        rpy = (0.35 * (-1) ** i, 0.3 * math.sin(2 + i), turn)
        around = turn + 0.2 * (-1) ** i
        P = np.array([0.2 * math.cos(around), 0.2 * math.sin(around), 0.02 * i])
        tip = np.sum([offset for _, _, _, offset in chain], axis=0) + cut
        B = P + np.array([0, 0, 0.55]) - rotation(rpy) @ tip
        parent = "base"
        for k, (name, sort, axis, offset) in enumerate(chain):
            link = f"leg{i}_{name}"
            text += _body(link, 6 * i + k, 0.5 + 0.2 * k)
            place = (B, rpy) if k == 0 else (offset, HERE)
            text += _joint(f"{name}{i}", sort, parent, link, *place, axis, 0.05 * (k + 1))
            passive += [f"{name}{i}"] if name != actuated else []
            parent = link
        loop = {"name": f"leg{i}", "type": kind, "parent": {"link": parent, "xyz": list(cut)}}
        loop["child"] = {"link": "platform", "xyz": P.tolist(), "rpy": list(rpy)}
        if kind == "universal":
            loop |= {"axis": list(Y), "axis2": list(X)}
        loops.append(loop | ({"axis": list(X)} if kind == "revolute" else {}))
    assembly |= {"length0": 0.01, "swing1": 0.02}  # near its closed position
    side = {"loops": loops, "passive": passive, "assembly": assembly}
    return Case(text + "</robot>", yaml.safe_dump(side | {"rotor_inertia": {"length0": 3.0, "tilt2": 0.2}}))


def planar() -> Case:
    """Three legs of two revolute joints in an oblique plane, and revolute joints on the platform."""
    plane = (0.4, -0.3, 0.2)
    text = '<robot name="planar">\n<link name="base"/>\n' + _body("platform", 3, 2.0) + FLOATING
    loops, passive = [], list(OWN)
    assembly = dict(zip(OWN[3:], (plane[2], plane[1], plane[0]), strict=True))
    for i in range(3):
        turn = math.tau * i / 3
        direction = np.array([math.cos(turn), math.sin(turn), 0])
        across = np.array([-math.sin(turn), math.cos(turn), 0])
        P = 0.1 * direction
        B = P + 0.3 * (direction - across)
        # The arm points across, the forearm towards the centre.
        text += _body(f"arm{i}", 3 * i) + _body(f"forearm{i}", 3 * i + 1, 0.7)
        axes = rotation(plane)
        spun = axes @ rotation((0, 0, turn + math.pi / 2))
        pitch = math.asin(-spun[2, 0])
        rpy = (math.atan2(spun[2, 1], spun[2, 2]), pitch, math.atan2(spun[1, 0], spun[0, 0]))
        text += _joint(f"shoulder{i}", "revolute", "base", f"arm{i}", axes @ B, rpy, Z, 0.1)
        text += _joint(f"elbow{i}", "revolute", f"arm{i}", f"forearm{i}", (0.3, 0, 0), HERE, Z, 0.02)
        passive.append(f"elbow{i}")
        ends = {"parent": ("platform", P.tolist()), "child": (f"forearm{i}", [0, 0.3, 0])}
        ends = {end: {"link": link, "xyz": xyz} for end, (link, xyz) in ends.items()}
        loops.append({"name": f"leg{i}", "type": "revolute", **ends})
    return Case(text + "</robot>", yaml.safe_dump({"loops": loops, "passive": passive, "assembly": assembly}))


def motions(model: dyn_core.ParallelModel, count: int, seed: int = 0, far: float = 1.0):
    """Placements (some distance from the assembly), velocities and accelerations of the platform."""
    random = np.random.default_rng(seed)
    B = model.mobility
    T = np.tile(np.eye(4), (count, 1, 1))
    for k in range(count):
        by = B @ random.uniform(-1.0, 1.0, B.shape[1]) * ([0.04 * far] * 3 + [0.12 * far] * 3)
        R, p = moved(model.structure.T_home, by)
        T[k, :3, :3], T[k, :3, 3] = R, p
    V, Vd = random.standard_normal((2, count, B.shape[1])) @ B.T
    return T, V, 4.0 * Vd
