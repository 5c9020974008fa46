# SPDX-License-Identifier: Apache-2.0
"""The nodes on a real graph: latency beside a relay, and what becomes of a long run.

`make bench` runs it in the environment with ROS 2; `make soak` runs the long part alone.
"""

from __future__ import annotations

import argparse
import sys

from bars import Bars
from nodes.graph import prioritise
from nodes.latency import print_choices, print_latency
from nodes.soak import print_soak


def main() -> int:
    """Print the tables; with --strict the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a bar is missed")
    parser.add_argument("--rounds", type=int, default=12, help="of the latencies; 0 for none (default: 12)")
    parser.add_argument("--soak", type=float, default=30.0, help="length of the long run, s; 0 for none")
    options = parser.parse_args()
    bars = Bars()
    if prioritise():
        print("All processes have real-time priority.")
    else:
        print("There is no right to real-time priority here: what else the machine does is in the figures.")
    if options.rounds:
        print_latency(bars, options.rounds)
        print_choices(options.rounds)
        print()
    if options.soak:
        print_soak(bars, options.soak)
        print()
    print(bars.summary())
    return int(options.strict and bool(bars.missed))


if __name__ == "__main__":
    sys.exit(main())
