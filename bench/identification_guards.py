# SPDX-License-Identifier: Apache-2.0
"""`make guards`: simulated logs with one defect each, and clean ones, from the file to the verdict.

It counts the defects that are named, clean logs that are refused, and results that are worse than the
description and not refused. The exit code is 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

# Each process has one thread, as there are as many processes as cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bars import CLEAN_REFUSED, DEFECTS_NAMED, Bars
from guard_study import ARMS, CLEAN, DEFECTS, Outcome, description, judged

import dyn_core

RUNS = 18
"""Logs with each defect, on all arms together; five times as many are clean."""


def one(given: tuple[str, str, int], descriptions: dict[str, str]) -> Outcome:
    """Return what is said of one log."""
    arm, defect, seed = given
    text = descriptions.get(arm) or description(arm, seed)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as directory:
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        return judged(text, arm, defect, seed, Path(directory))[0]


def print_guards(bars: Bars, found: Sequence[Outcome]) -> None:
    """Print how many logs with each defect are named, and what is said of the others."""
    print(f"{'defect':18}{'named':>12}{'refused':>12}")
    for defect in dict.fromkeys(outcome.defect for outcome in found):
        of_defect = [outcome for outcome in found if outcome.defect == defect]
        named, refused = (sum(getattr(o, key) for o in of_defect) for key in ("named", "refused"))
        print(f"{defect:18}{named:>6} of {len(of_defect):<3}{refused:>6} of {len(of_defect):<3}")
    for outcome in found:
        if not outcome.named:
            codes, joints = ", ".join(outcome.codes) or "nothing", " ".join(outcome.joints)
            print(f"  {outcome.arm}, {outcome.defect}, seed {outcome.seed}: {codes} {joints}")
    spoiled = [outcome for outcome in found if outcome.defect != CLEAN]
    clean = [outcome for outcome in found if outcome.defect == CLEAN]
    share = sum(outcome.named for outcome in spoiled) / max(len(spoiled), 1)
    print(f"{len(spoiled)} logs with a defect: {100 * share:.1f} % named")
    bars.mark("defects not named", 1.0 - share, 1.0 - DEFECTS_NAMED)
    refused = sum(outcome.refused for outcome in clean)
    print(f"{len(clean)} clean logs: {refused} refused")
    bars.mark("clean logs refused", refused, CLEAN_REFUSED)
    passed = sum(outcome.held_out > outcome.before and not outcome.refused for outcome in found)
    print(f"results worse than their description that are not refused: {passed}")
    bars.mark("worse results that are not refused", passed, 0)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"logs with each defect (default {RUNS})")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--only", nargs="*", choices=(*DEFECTS, CLEAN), help="some of the defects")
    parser.add_argument("--urdf", nargs="*", default=[], help="other arms, in place of the usual ones")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="by default one for each core")
    options = parser.parse_args()
    descriptions = {Path(path).stem: Path(path).read_text() for path in options.urdf}
    arms = tuple(descriptions) or ARMS
    cases = [
        (arms[(options.first + k) % len(arms)], defect, options.first + k)
        for defect in options.only or (*DEFECTS, CLEAN)
        for k in range(options.runs * (5 if defect == CLEAN else 1))
    ]
    bars = Bars()
    with ProcessPoolExecutor(options.processes) as pool:
        found = []
        for outcome in pool.map(partial(one, descriptions=descriptions), cases):
            found.append(outcome)
            if sys.stderr.isatty():
                print(f"\r{len(found)}/{len(cases)} ", end="", file=sys.stderr)
    print_guards(bars, found)
    print(f"\n{bars.summary()}")
    return int(bool(bars.missed))


if __name__ == "__main__":
    sys.exit(main())
