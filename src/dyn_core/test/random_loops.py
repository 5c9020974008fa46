# SPDX-License-Identifier: Apache-2.0
"""Random robots with one loop for each type of cut joint, closed in their assembly."""

from __future__ import annotations

from random import Random

import numpy as np
from pinocchio_oracle import Oracle, pin

PASSIVE = {"revolute": 5, "prismatic": 5, "cylindrical": 4, "universal": 4, "spherical": 3}
PASSIVE |= {"planar": 3, "fixed": 6}
"""Number of passive joints of a spatial loop whose other joints are actuated: one for each constraint."""


def random_loop(kind: str, seed: int) -> tuple[str, dict]:
    """Return URDF and side file of two branches on one turning link, connected by a cut joint.

    Some joints are prismatic; passive and actuated ones alternate; each carries a link that has mass.
    """
    random = Random(1000 * seed + sum(map(ord, kind)))
    passive, actuated = PASSIVE[kind], random.choice((1, 2, 3))
    roles = [True] * passive + [False] * actuated
    random.shuffle(roles)
    half = len(roles) // 2
    parents = ["trunk" if k in (0, half) else f"link_{k - 1}" for k in range(len(roles))]
    joints = [
        '<joint name="turn" type="continuous"><parent link="base"/><child link="trunk"/>'
        f'<origin xyz="{_triple(random, 0.3)}" rpy="{_triple(random, 3.0)}"/><axis xyz="0 0 1"/></joint>'
    ]
    names = [f"{'passive' if is_passive else 'active'}_{k}" for k, is_passive in enumerate(roles)]
    for k, (name, parent) in enumerate(zip(names, parents, strict=True)):
        slides = random.random() < 0.2
        joints.append(
            f'<joint name="{name}" type="{"prismatic" if slides else "revolute"}">'
            f'<parent link="{parent}"/><child link="link_{k}"/>'
            f'<origin xyz="{_triple(random, 0.5)}" rpy="{_triple(random, 3.0)}"/>'
            f'<axis xyz="{_triple(random, 1.0)}"/><limit lower="-3" upper="3" effort="50" velocity="2"/>'
            f'<dynamics damping="{random.uniform(0.0, 0.5)}" friction="{random.uniform(0.0, 0.5)}"/></joint>'
        )
    carriers = ("base", "trunk", *(f"link_{k}" for k in range(len(roles))))
    links = [f'<link name="{name}">{_inertial(random)}</link>' for name in carriers]
    urdf = f'<robot name="{kind}_{seed}">{"".join(links)}{"".join(joints)}</robot>'
    assembly = {name: random.uniform(-1.0, 1.0) for name in ("turn", *names)}
    ends = (f"link_{half - 1}", f"link_{len(roles) - 1}")
    return urdf, {
        "loops": [_loop(random, urdf, kind, ends, assembly)],
        "passive": [name for name in names if name.startswith("passive")],
        "assembly": assembly,
        "rotor_inertia": {name: random.uniform(0.0, 0.1) for name in names},
    }


def _loop(random: Random, urdf: str, kind: str, ends: tuple[str, str], assembly: dict) -> dict:
    """Return a loop whose cut frames coincide in the assembly, apart from a motion of the cut joint."""
    tree = Oracle(urdf, tuple(assembly), (0.0, 0.0, 0.0))
    parent, child = (pin.SE3(*tree.link_placement([*assembly.values()], end)) for end in ends)
    xyz, rpy = ([random.uniform(-1.0, 1.0) for _ in range(3)] for _ in range(2))
    T_root_P = parent * pin.SE3(pin.rpy.rpyToMatrix(np.array(rpy)), np.array(xyz))
    axis = np.array([random.uniform(-1.0, 1.0) for _ in range(3)])
    axis /= np.linalg.norm(axis)
    moved, child_axis = _motion(random, kind, axis)
    T_child_C = child.inverse() * T_root_P * moved
    child_xyz, child_rpy = T_child_C.translation, pin.rpy.matrixToRpy(T_child_C.rotation)
    loop = {"name": "closure", "type": kind, "axis": axis.tolist()}
    loop["parent"] = {"link": ends[0], "xyz": xyz, "rpy": rpy}
    loop["child"] = {"link": ends[1], "xyz": child_xyz.tolist(), "rpy": child_rpy.tolist()}
    return loop | ({"axis2": child_axis.tolist()} if kind == "universal" else {})


def _motion(random: Random, kind: str, axis: np.ndarray) -> tuple[pin.SE3, np.ndarray]:
    """Placement of C in P that the cut joint allows, and its axis in the child."""
    across = np.linalg.svd(axis[np.newaxis])[2][1]
    turn = pin.exp3(axis * random.uniform(-1.0, 1.0))
    slide = axis * random.uniform(-0.3, 0.3)
    none = np.zeros(3)
    if kind == "universal":
        second = pin.exp3(axis * random.uniform(-1.0, 1.0)) @ across
        return pin.SE3(turn @ pin.exp3(second * random.uniform(-1.0, 1.0)), none), second
    ball = pin.exp3(np.array([random.uniform(-1.0, 1.0) for _ in range(3)]))
    motions = {"revolute": (turn, none), "prismatic": (np.eye(3), slide), "cylindrical": (turn, slide)}
    motions |= {"spherical": (ball, none), "planar": (turn, across * random.uniform(-0.3, 0.3))}
    motions |= {"fixed": (np.eye(3), none)}
    return pin.SE3(*motions[kind]), axis


def _triple(random: Random, size: float) -> str:
    return " ".join(f"{random.uniform(-size, size)!r}" for _ in range(3))


def _inertial(random: Random) -> str:
    mass = random.uniform(0.5, 2.0)
    a, b, c = sorted(random.uniform(0.5, 1.0) * 0.02 * mass for _ in range(3))
    return (
        f'<inertial><origin xyz="{_triple(random, 0.1)}" rpy="{_triple(random, 3.0)}"/>'
        f'<mass value="{mass}"/><inertia ixx="{a}" iyy="{b}" izz="{c}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
