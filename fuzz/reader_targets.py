# SPDX-License-Identifier: Apache-2.0
"""What is fuzzed: each reader of a file, with whole files to begin from and the damage that suits them."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any

import originals
from bag_structures import damaged_db3, damaged_mcap
from mutations import SHARED, Damage, damaged_archive, damaged_matlab, damaged_text, pick
from structures import damaged_npy, damaged_parquet

import dyn_core
from dyn_core.excitation.excitation_settings import read_boxes
from dyn_core.logs.mapping.log_map import read_log_map

CORPUS = Path(__file__).parent / "corpus"
"""Files that were found to do harm, a folder for each target."""


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        name: its name, and that of the folder of its corpus.
        wholes: makes the files to begin from.
        damage: damages a file.
        read: reads a file; raises DynError, and nothing else, where it cannot be used.
        share: of all inputs, relative to other targets.
    """

    name: str
    wholes: Callable[[], Sequence[bytes]]
    damage: Damage
    read: Callable[[bytes, Random], None]
    share: float = 1.0

    def input(self, seed: str, k: int) -> tuple[bytes, Random]:
        """Return the k-th input of a seed, and the random numbers to read it with."""
        random = Random(f"{self.name} {seed} {k}")
        return self.damage(pick(self.originals, random), random), random

    @property
    def originals(self) -> Sequence[bytes]:
        """Whole files, and those of the corpus."""
        return _originals(self)

    def found(self) -> list[Path]:
        """Return the files of the corpus."""
        return sorted(path for path in (CORPUS / self.name).glob("*") if path.is_file())


@cache
def _originals(target: Target) -> Sequence[bytes]:
    small = [path.read_bytes() for path in target.found() if path.stat().st_size < 20_000]
    return (*target.wholes(), *small)


def _usable(robot: dyn_core.Robot, random: Random) -> None:
    """See that the numbers of a robot are finite, and that it can be written, or refused, sometimes."""
    assert robot.mdh_table()
    assert all(math.isfinite(x) for body in robot.bodies for x in body.values)
    assert all(math.isfinite(x) for joint in robot.joints for x in joint.origin)
    assert all(math.isfinite(x) for joint in robot.joints for x in vars(joint.mdh).values())
    if random.random() < 0.1:
        for write in (dyn_core.write_urdf, dyn_core.write_par):
            with contextlib.suppress(dyn_core.DynError):
                dyn_core.load_robot(write(robot), snap=0)


def _file(data: bytes, suffix: str = "") -> Path:
    """Write a file of this process, in memory where that can be, and return its path."""
    path = SHARED / f"dyn_fuzz_{os.getpid()}{suffix}"
    path.write_bytes(data)
    return path


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _load(source: Any, random: Random, **options: Any) -> None:
    snap: Any = random.choice(("digits", 0))
    _usable(dyn_core.load_robot(source, snap=snap, mimic=random.random() < 0.8, **options), random)


def _read_urdf(data: bytes, random: Random) -> None:
    _load(_text(data) if random.random() < 0.9 else _file(data, ".urdf"), random)


def _read_par(data: bytes, random: Random) -> None:
    _load(_file(data, ".par") if random.random() < 0.1 else f"(* *){_text(data)}", random)


def _read_side_file(data: bytes, random: Random) -> None:
    _usable(dyn_core.load_robot(originals.URDF, loops=_file(data, ".yaml")), random)


@lru_cache(maxsize=1)
def _rrp() -> dyn_core.Robot:
    return dyn_core.load_robot(originals.ROBOTS / "rrp.urdf")


def _read_parameters(data: bytes, _: Random) -> None:
    dyn_core.load_parameters(_file(data, ".yaml")).applied_to(_rrp())


def _read_limits(data: bytes, _: Random) -> None:
    limits = dyn_core.read_limits(_file(data, ".yaml"), _rrp())
    assert not any(math.isnan(x) for one in limits.of_joints for x in (one.lower, one.upper, one.velocity))


def _read_map(data: bytes, _: Random) -> None:
    read_log_map(_file(data, ".yaml"))


def _read_boxes(data: bytes, _: Random) -> None:
    read_boxes(_file(data, ".yaml"))


def _read_node_parameters(data: bytes, random: Random) -> None:
    from dyn_nodes.common.parameter_file import check_applies, effort_controller

    file = str(_file(data, ".yaml"))
    if random.random() < 0.5:
        check_applies(file, "/arm/feedforward")
    else:
        effort_controller(file, "effort_controller")


def _read_motion(data: bytes, _: Random) -> None:
    motion = dyn_core.read_motion(_file(data, ".csv"), _rrp())
    assert all(map(math.isfinite, motion.q.ravel()))


def _read_log(suffix: str, data: bytes, random: Random) -> None:
    log = dyn_core.read_log(_file(data, suffix if random.random() < 0.9 else ""))
    assert all(map(math.isfinite, log.q.ravel()))
    assert all(a < b for a, b in zip(log.time, log.time[1:], strict=False))


def _node_parameters() -> tuple[bytes, ...]:
    folder = originals.ROBOTS.parent
    names = ("feedforward.yaml", "ros2_control/rx90_controllers.yaml")
    return tuple((folder / name).read_bytes() for name in names)


def _motion() -> tuple[bytes, ...]:
    head = ",".join(
        ["time", *(f"{what}.{j}" for what in ("position", "velocity") for j in _rrp().joint_names)]
    )
    rows = (f"{k / 100},{k / 50},0.2,{k / 500},2,0,0.2" for k in range(20))
    return ("\n".join((head, *rows)).encode(),)


def _of(*texts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: tuple(text.encode() for text in texts)


def _text_target(
    name: str, wholes: Callable[[], Sequence[bytes]], read: Callable[[bytes, Random], None], share: float
) -> Target:
    return Target(name, wholes, damaged_text, read, share)


def _log_target(name: str, make: Callable[[int], tuple[bytes, ...]], damage: Damage, share: float) -> Target:
    return Target(name, partial(originals.logs, make), damage, partial(_read_log, f".{name}"), share)


def _urdfs() -> tuple[bytes, ...]:
    full = originals.URDF.encode()
    return (full, full, *originals.robots("rrp", "rx90", "two_branch"))


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        _text_target("urdf", _urdfs, _read_urdf, 4.0),
        _text_target("side_file", _of(originals.SIDE_FILE), _read_side_file, 0.5),
        _text_target("par", _of(originals.PAR), _read_par, 5.0),
        _text_target("parameters", originals.parameters, _read_parameters, 0.05),
        _text_target("limits", _of(originals.LIMITS), _read_limits, 2.0),
        _text_target("log_map", _of(originals.LOG_MAP), _read_map, 0.5),
        _text_target("boxes", _of(originals.BOXES), _read_boxes, 2.0),
        _text_target("node_parameters", _node_parameters, _read_node_parameters, 0.1),
        _text_target("motion", _motion, _read_motion, 6.0),
        _log_target("csv", originals.csv, damaged_text, 1.0),
        _log_target("mat", originals.matlab, damaged_matlab, 2.0),
        _log_target("npy", originals.npy, damaged_npy, 2.0),
        _log_target("npz", originals.npz, damaged_archive, 1.0),
        _log_target("parquet", originals.parquet, damaged_parquet, 1.0),
        _log_target("db3", originals.db3, damaged_db3, 0.1),
        _log_target("mcap", originals.mcap, damaged_mcap, 0.2),
    )
}
