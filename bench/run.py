# SPDX-License-Identifier: Apache-2.0
"""`make bench`: dyn_core beside Pinocchio, in one run, as ratios (below 1 is faster than Pinocchio)."""

from __future__ import annotations

import sys

import pinocchio as pin
from functions import comparisons
from growth import python_backend_s, rows
from peer import ROBOTS, description, peers
from start import start_s


def main() -> None:
    """Print the tables."""
    print(f"dyn_core beside Pinocchio {pin.__version__}, Python {sys.version.split()[0]}, one core")
    print(f"{'robot':16} {'joints':>6}  {'what':26} {'dyn_core':>11} {'Pinocchio':>11} {'ratio':>8}")
    single = {}
    for name in ROBOTS:
        both = peers(name)
        for what, result in comparisons(both):
            ours, theirs = (f"{1e9 * seconds:.0f} ns" for seconds in (result.ours_s, result.theirs_s))
            joints = both.model.robot.dof
            print(
                f"{name:16} {joints:>6}  {what:26} {ours:>11} {theirs:>11} {result.ratio:>8.4f}", flush=True
            )
            single[name, what] = result
    python_s = python_backend_s(description("UR5"))
    ratio = python_s / single["UR5", "inverse dynamics"].theirs_s
    print(f"\nPython backend, UR5 inverse dynamics: {1e6 * python_s:.1f} us, {ratio:.1f} times Pinocchio")
    imported, cold, warm = start_s(description("Panda"))
    print(f"import dyn_core: {imported:.3f} s")
    print(f"Panda, all functions: {cold:.2f} s with an empty cache, {warm:.3f} s with a full one")
    print("\nOperations of chains in general position, multiplications and additions:")
    print("\n".join(rows()))


if __name__ == "__main__":
    main()
