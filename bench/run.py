# SPDX-License-Identifier: Apache-2.0
"""`make bench`: dyn_core against Pinocchio and MuJoCo in one run; a ratio below 1 is faster than the peer."""

from __future__ import annotations

import argparse
import sys

from bars import Bars
from excitation import print_excitation
from feasible_steps import print_feasible_steps
from functions import print_functions
from growth import print_growth
from identification import print_identification
from loading import print_loading
from loops import print_loops
from moving_base import print_moving_base
from mujoco_peer import MuJoCo
from pinocchio_peer import Pinocchio
from platforms import print_platforms
from simulated_loops import print_simulated_loops
from simulation import print_simulation
from start_up import print_start_up


def main() -> int:
    """Print the tables; with --strict the exit code is 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a bar is missed")
    options = parser.parse_args()
    bars = Bars()
    print(f"dyn_core beside {Pinocchio.name} and {MuJoCo.name}, Python {sys.version.split()[0]}\n")
    tables = (
        print_functions,
        print_start_up,
        print_loading,
        print_growth,
        print_moving_base,
        print_loops,
        print_platforms,
        print_simulation,
        print_simulated_loops,
        print_excitation,
        print_feasible_steps,
        print_identification,
    )
    for table in tables:
        table(bars)
        print()
    print(bars.summary())
    return int(options.strict and bool(bars.missed))


if __name__ == "__main__":
    sys.exit(main())
