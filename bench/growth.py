# SPDX-License-Identifier: Apache-2.0
"""Growth with the number of joints of chains: operations, time of a call, and time to compile."""

from __future__ import annotations

import os
import tempfile
import time
from random import Random

import numpy as np
from alternate import compare
from bars import GROWTH, Bars
from calls import FUNCTIONS, some_calls
from peer_robots import loaded
from pinocchio_peer import Pinocchio

from dyn_core.model.fixed_base.dynamics_programs import traced, with_terms

LENGTHS = (2, 4, 8, 16, 32, 64)
WANTED = ["inverse dynamics", "direct dynamics", "inertia matrix"]


def chain(n: int) -> str:
    """URDF of a chain of n revolute joints in general position."""
    random = Random(n)

    def triple(size: float) -> str:
        return " ".join(f"{random.uniform(-size, size):.6f}" for _ in range(3))

    links = [
        f'<link name="l{j}"><inertial><origin xyz="{triple(0.2)}"/><mass value="2"/><inertia ixx="0.1" '
        'ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.01" izz="0.15"/></inertial></link>'
        for j in range(n + 1)
    ]
    joints = [
        f'<joint name="j{j}" type="continuous"><origin xyz="{triple(0.4)}" rpy="{triple(3.0)}"/>'
        f'<parent link="l{j}"/><child link="l{j + 1}"/><axis xyz="{triple(1.0)}"/></joint>'
        for j in range(n)
    ]
    return f'<robot name="chain{n}">{"".join(links + joints)}</robot>'


def print_growth(bars: Bars) -> None:
    """Print a line for each length and function."""
    print("Chains of revolute joints in general position; operations are multiplications and additions.")
    print(
        f"{'joints':>6}  {'function':18}{'operations':>11}{'for a joint':>13}{'for one more':>14}"
        f"{'compile':>10}{'dyn_core':>11}{'for a joint':>13}{'/Pinocchio':>12}"
    )
    operations = {(what, n): _operations(what, n) for what in WANTED for n in LENGTHS}
    for what in WANTED:
        for before, n in zip((0, *LENGTHS), LENGTHS, strict=False):
            total = operations[what, n]
            more = (total - operations.get((what, before), 0)) / (n - before)
            print(f"{n:>6}  {what:18}{total:>11}{total / n:>13.0f}{more:>14.0f}{_times(what, n)}", flush=True)
    for what in WANTED[:2]:
        late, early = ((operations[what, n] - operations[what, n // 2]) / (n // 2) for n in (LENGTHS[-1], 16))
        mark = bars.mark(f"growth of {what}", late / early, GROWTH)
        print(f"{what}: one joint more costs {late / early:.3f} times as much at 64 as at 16; bar: {mark}")


def _operations(what: str, n: int) -> int:
    robot = with_terms(loaded(chain(n)), friction=False, rotor_inertia=False)
    counts = traced(robot, FUNCTIONS[what]).operation_counts
    return counts["mul"] + counts["add"]


def _times(what: str, n: int) -> str:
    """Time to trace and compile, time of a call, and the ratio to Pinocchio."""
    robot = loaded(chain(n))
    q, v, x = np.random.default_rng(0).uniform(-1.0, 1.0, (3, n))
    with tempfile.TemporaryDirectory() as cache:
        os.environ["DYN_CACHE_DIR"] = cache
        start = time.perf_counter()
        ours = some_calls(robot, (q, v, x), [what])[what]
        compiled = time.perf_counter() - start
    theirs = Pinocchio(chain(n), robot.coordinate_names).calls((q, v, x))[what]
    comparison = compare([ours, theirs])
    nanoseconds = 1e9 * comparison.seconds(0)
    return f"{compiled:>8.2f} s{nanoseconds:>8.0f} ns{nanoseconds / n:>10.1f} ns{comparison.ratio(1):>12.4f}"
