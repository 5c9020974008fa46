# SPDX-License-Identifier: Apache-2.0
"""`make exact`: agreement with Pinocchio for all robots of example-robot-data, as a table of worst errors.

`agreement` defines what is compared and what an error is. The exit code is 1 where a bar is missed.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pinocchio as pin
from agreement import AGREES, ALIKE, Finding, findings
from example_robots import EMPTY, ILL_CONDITIONED, descriptions
from moving_base_cases import free_flyer_findings

import dyn_core
from dyn_core.codegen.traced_program import Program

SAMPLES = 50
COMPILED_REGRESSOR = 32
"""Largest number of joints for which the regressor is compiled, too; with 32 joints this takes about 3 s."""
FREE_FLYERS, FREE_SAMPLES = 40, 10
"""Largest number of joints for which a free base is compared, too, and the number of states."""
COLUMNS = {
    "inverse": ("inverse_dynamics", "pinocchio"),
    "direct": ("forward_dynamics", "pinocchio"),
    "back": ("torques back", "pinocchio"),
    "inertia": ("inertia_matrix", "pinocchio"),
    "bias": ("bias_torques", "pinocchio"),
    "gravity": ("gravity_torques", "pinocchio"),
    "regressor": ("regressor", "pinocchio"),
    "placements": ("forward_kinematics", "pinocchio"),
    "Jacobians": ("jacobian", "pinocchio"),
    "free inv.": ("free: inverse_dynamics", "pinocchio"),
    "base given": ("free: given base", "pinocchio"),
    "free dir.": ("free: forward_dynamics", "pinocchio"),
    "free A": ("free: inertia_matrix", "pinocchio"),
    "C": (None, "c"),
    "floats": (None, "floats"),
}
"""Columns: a function and its reference; all functions where none is given."""


def of_robot(path: Path) -> tuple[int, int, list[Finding]]:
    """Joints and links of a robot, and the findings about it."""
    warnings.simplefilter("ignore", dyn_core.ModelWarning)
    robot = dyn_core.load_robot(path, snap=0)

    def compiled(program: Program) -> bool:
        return program.name != "regressor" or len(robot.joints) <= COMPILED_REGRESSOR

    text = path.read_text(encoding="utf-8")
    found = list(findings(text, robot, SAMPLES, compiled))
    if len(robot.joints) <= FREE_FLYERS:
        loose = dyn_core.load_robot(path, snap=0, mimic=False)
        found += free_flyer_findings(text, loose, FREE_SAMPLES)
    return len(robot.joints), len(robot.link_names), found


def worst(found: Iterable[Finding]) -> Finding | None:
    """The finding whose error is the largest fraction of its bar; missed bars come first."""
    return max(found, key=lambda finding: (finding.missed, finding.error / finding.bar), default=None)


def cell(finding: Finding | None) -> str:
    """The error, with a mark where it misses the bar, or where the bar was raised for bad conditioning."""
    if finding is None:
        return "-"
    return f"{finding.error:.0e}{'!' if finding.missed else '*' if finding.excused else ' '}"


def main() -> int:
    """Print the table."""
    paths = [path for path in descriptions() if path.name not in EMPTY]
    if not paths:
        raise SystemExit("exact: example-robot-data is not installed")
    paths.sort(key=lambda path: -path.read_text(encoding="utf-8").count("<joint"))
    print(f"dyn_core beside Pinocchio {pin.__version__}: {SAMPLES} random states of each robot")
    print(f"{'robot':36} {'joints':>6} {'links':>5} " + " ".join(f"{name:>10}" for name in COLUMNS))
    start, missed = time.monotonic(), []
    processes = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), processes) as pool:
        for path, (joints, links, found) in zip(paths, pool.map(of_robot, paths), strict=True):
            cells = [
                cell(
                    worst(f for f in found if f.function == (function or f.function) and f.against == against)
                )
                for function, against in COLUMNS.values()
            ]
            name = f"{path.parents[1].name.removesuffix('_description')}/{path.stem}"
            print(
                f"{name[:36]:36} {joints:>6} {links:>5} " + " ".join(f"{text:>10}" for text in cells),
                flush=True,
            )
            strict = path.name not in ILL_CONDITIONED
            missed += [(name, f) for f in found if f.missed or (strict and f.excused)]
    print(f"\nErrors are relative to the greatest entry of a result; bars {AGREES:.0e} beside Pinocchio, and")
    print(f"{ALIKE:.0e} for C and floats beside the Python backend; * where rounding itself exceeds them.")
    for name, f in missed:
        print(f"! {name}: {f.function} beside {f.against}: {f.error:.1e}")
    verdict = f"{len(missed)} bars missed" if missed else "all bars met"
    print(f"{len(paths)} robots in {time.monotonic() - start:.0f} s: {verdict}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
