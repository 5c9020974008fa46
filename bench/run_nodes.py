# SPDX-License-Identifier: Apache-2.0
"""Nodes on a real ROS 2 graph: latency against a relay, demonstration, long run, and `dyn identify`.

`make bench` runs it in the environment with ROS 2; `make soak` runs the last part alone.
"""

from __future__ import annotations

import argparse
import sys

from bars import Bars
from identify_command import print_identify
from nodes.gaps import print_gaps, print_loading
from nodes.governor_latency import print_governor_latency
from nodes.graph import prioritise
from nodes.identify_action import print_identify_action
from nodes.latency import print_choices, print_latency
from nodes.online import print_online
from nodes.soak import print_soak
from nodes.tracking import print_tracking


def main() -> int:
    """Print the tables; with --strict the exit code is 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a bar is missed")
    parser.add_argument(
        "--only",
        choices=(
            "latency",
            "gaps",
            "loading",
            "governor",
            "tracking",
            "identify",
            "action",
            "online",
            "soak",
        ),
        help="one part (default: all)",
    )
    parser.add_argument("--rounds", type=int, default=12, help="of the latencies (default: 12)")
    parser.add_argument(
        "--online",
        type=float,
        default=10.0,
        help="length of the estimation in motion, s (default: 10)",
    )
    parser.add_argument("--soak", type=float, default=30.0, help="length of the long run, s (default: 30)")
    options = parser.parse_args()
    bars = Bars()
    parts = {
        "latency": lambda: (print_latency(bars, options.rounds), print_choices(options.rounds)),
        "gaps": lambda: print_gaps(bars),
        "loading": lambda: print_loading(bars),
        "governor": lambda: print_governor_latency(bars, options.rounds),
        "tracking": lambda: print_tracking(bars),
        "identify": lambda: print_identify(bars),
        "action": lambda: print_identify_action(bars),
        "online": lambda: print_online(bars, options.online),
        "soak": lambda: print_soak(bars, options.soak),
    }
    if prioritise():
        print("All processes have real-time priority.\n")
    else:
        print("There is no right to real-time priority: what else the machine does is in the figures.\n")
    for name, part in parts.items():
        if options.only in (None, name):
            part()
            print()
    print(bars.summary())
    return int(options.strict and bool(bars.missed))


if __name__ == "__main__":
    sys.exit(main())
