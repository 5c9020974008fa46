# SPDX-License-Identifier: Apache-2.0
"""Published reference cases of planar linkages, as URDF and side file.

They are in DYN_CASES, or in shared/cases beside the checkout: `planar_loops.json`, a four-bar and a
five-bar in modified DH parameters, with torques of generated closed-loop equations.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

NAMES = ("fourbar1", "fivebar1")


@dataclass(frozen=True)
class PlanarState:
    """Actuated positions, velocities, accelerations, torques; angles of the tree's joints by name."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    angles: dict[str, float]


@dataclass(frozen=True)
class PlanarCase:
    """A linkage: URDF text, content of its side file, actuated joints in the order of the states."""

    name: str
    urdf: str
    side: dict
    actuated: tuple[str, ...]
    gravity: tuple[float, float, float]
    states: tuple[PlanarState, ...]
    base_parameters: int


def planar_case(name: str) -> PlanarCase:
    """Return a case of `NAMES`; skip the test where the file is absent."""
    case = json.loads(_file().read_text())[name]
    moving = case["NL"] - 1
    assert not any(any(case[key]) for key in ("alpha", "beta", "b", "d", "theta"))
    assert not any(case["sigma"][:moving])
    names = [f"joint_{j}" for j in range(1, moving + 1)]
    actuated = tuple(joint for joint, mu in zip(names, case["mu"], strict=False) if mu)
    states = tuple(
        PlanarState(
            *(np.array(state[key]) for key in ("q", "qD", "qDD", "tau")),
            dict(zip(names, state["joint_angles"], strict=False)),
        )
        for state in case["cases"]
    )
    links, lengths = case["v"][moving:], case["a"][moving:]
    cut, other_side = ({"link": f"link_{links[k]}", "xyz": [lengths[k], 0.0, 0.0]} for k in (0, 1))
    loop = {"name": "cut", "type": "revolute", "parent": cut, "child": other_side}
    passive = [joint for joint in names if joint not in actuated]
    side = {"loops": [loop], "passive": passive, "assembly": dict(states[0].angles)}
    parts = [_link(case, j) for j in range(moving + 1)] + [_joint(case, j) for j in range(1, moving + 1)]
    urdf = f'<robot name="{name}">{"".join(parts)}</robot>'
    return PlanarCase(name, urdf, side, actuated, tuple(case["g"]), states, int(case["numeric_base_params"]))


def _file() -> Path:
    places = [Path(os.environ["DYN_CASES"])] if "DYN_CASES" in os.environ else []
    places += [parent / "shared" / "cases" for parent in Path(__file__).resolve().parents]
    for place in places:
        if (place / "planar_loops.json").is_file():
            return place / "planar_loops.json"
    pytest.skip("the reference cases of planar loops are not here: name their directory in DYN_CASES")


def _link(case: dict, j: int) -> str:
    """Return link j; the case gives its inertia about the frame, URDF about the centre of mass."""
    m, moments = case["m"][j], np.array(case["mrSges"][j])
    xx, yy, zz, xy, xz, yz = case["Ifges_xx_yy_zz_xy_xz_yz"][j]
    c = moments / m
    about_frame = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = (about_frame - m * (c @ c * np.eye(3) - np.outer(c, c))).tolist()
    pairs = combinations_with_replacement(range(3), 2)
    terms = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{inertia[i][j]!r}"' for i, j in pairs)
    x, y, z = c.tolist()
    return (
        f'<link name="link_{j}"><inertial><origin xyz="{x!r} {y!r} {z!r}"/><mass value="{m!r}"/>'
        f"<inertia {terms}/></inertial></link>"
    )


def _joint(case: dict, j: int) -> str:
    antecedent, length, offset = (case[key][j - 1] for key in ("v", "a", "qoffset"))
    return (
        f'<joint name="joint_{j}" type="revolute"><parent link="link_{antecedent}"/><child link="link_{j}"/>'
        f'<origin xyz="{length!r} 0 0" rpy="0 0 {offset!r}"/><axis xyz="0 0 1"/>'
        '<limit lower="-6.3" upper="6.3" effort="1000" velocity="2"/></joint>'
    )
