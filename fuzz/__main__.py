# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of the readers and the nodes: what `make fuzz` calls. `README.md` says how to use it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import reader_run
from mutations import rotated, seed_number
from reader_targets import TARGETS

FOUND = Path(__file__).resolve().parents[1] / "build" / "fuzz"
"""Inputs at which something was wrong."""
UNBOUNDED = 10**9
_SHOWN = 20
_LEAST_S = 5.0
"""Least time for a reader in `coverage`: atheris takes as long to begin."""
_COVERAGE_S = 300.0
"""Time that atheris may take beyond that, on a busy machine."""
_BOTH_WAYS_S = 30.0
"""Least time for the nodes in one process and in five: starting them takes some seconds."""
_SHARES = {"readers": 0.3, "coverage": 0.15, "messages": 0.35, "transitions": 0.1, "kills": 0.1}
"""Parts of the time of `all`."""
LEAST: dict[str, dict[str, int]] = {
    "readers": {"inputs": 200},
    "coverage": {"inputs": 1},
    "messages": {"messages": 200, "other events": 1, "messages of nodes checked": 1},
    "transitions": {"transitions": 10, "requests": 1, "messages": 1, "checked": 1},
    "kills": {"ends": 3, "checked": 1},
    "flood": {"messages": 1000},
    "replay": {"inputs": 1},
}
"""What each part has to do at least; a run that does less fails. Nodes go on until they have done as much."""


@dataclass
class Report:
    """What a part has done.

    Attributes:
        part: its name.
        counts: how often it did what.
        wrong: what is wrong.
        left_out: what had no turn, and why.
    """

    part: str
    counts: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    left_out: str = ""

    def lacking(self, most: int) -> list[str]:
        """Return that something was done less often than it has to be, where so many were allowed."""
        if self.left_out and not self.counts:
            return []
        least = {name: min(number, most) for name, number in LEAST[self.part].items()}
        return [
            f"{self.part}: {self.counts.get(name, 0)} {name}, which have to be {number}"
            for name, number in least.items()
            if self.counts.get(name, 0) < number
        ]

    def __str__(self) -> str:
        """Return one line of the summary."""
        done = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        out = f"left out: {self.left_out}" if self.left_out else ""
        return f"{self.part}: {'; '.join(filter(None, (done, out)))}"


def readers(options: argparse.Namespace) -> Report:
    """Damaged files, made from the seed, for all readers."""
    found = reader_run.run(options.targets, options.seed, options.count, options.seconds, options.processes)
    for name, counts in sorted(found.outcomes.items()):
        print(f"  {name:16} {counts.total():9} inputs, {counts['used']} used, {len(counts)} outcomes")
    (slowest, of_slowest), (largest, of_largest) = found.slowest, found.largest
    print(
        f"  slowest {slowest:.2f} s ({of_slowest}), memory grew most by {largest / 1e6:.0f} MB ({of_largest})"
    )
    reader_run.kept(found, FOUND)
    wrong = [f"{name}: {problem}" for name, problem in found.wrong.items()]
    return Report("readers", {"inputs": found.count}, wrong, _without(options.targets, found.outcomes))


def coverage(options: argparse.Namespace) -> Report:
    """Files that atheris finds by the branches that they reach, where it is installed."""
    if importlib.util.find_spec("atheris") is None:
        return Report("coverage", left_out="all, since atheris is not installed")
    program, report = Path(__file__).with_name("coverage_run.py"), Report("coverage", {"inputs": 0})
    count = min(len(options.targets), max(1, int(options.seconds / _LEAST_S)))
    seconds = max(1, round(options.seconds / count))
    names = rotated(options.targets, options.seed)[:count]
    for name in names:
        folder, number = FOUND / "coverage" / name, str(max(1, seed_number(options.seed) % 2**31))
        command = [sys.executable, str(program), name, str(seconds), number, str(folder)]
        limit = 2.0 * seconds + _COVERAGE_S
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            report.wrong.append(f"coverage of {name}: still at work after {limit:g} s")
            continue
        text = done.stdout.decode(errors="replace")
        executed = [line.split()[-1] for line in text.splitlines() if "number_of_executed_units" in line]
        print(f"  {name:16} {executed[0] if executed else '?':>9} inputs", flush=True)
        report.counts["inputs"] += int(executed[0]) if executed else 0
        if done.returncode:
            report.wrong.append(f"coverage of {name}: {text[-1500:]}")
    report.left_out = _without(options.targets, names)
    return report


def messages(options: argparse.Namespace) -> Report:
    """Messages, requests, transitions and clocks for nodes whose callbacks are called directly."""
    import message_run
    from node_cases import CASES

    outcome = message_run.run(options.cases, options.seed, options.count, options.seconds, options.processes)
    print(f"  checked {outcome.checked}")
    print(f"  slowest {1e3 * outcome.slowest[0]:.1f} ms of the processor ({outcome.slowest[1]})")
    torques = {"messages of nodes checked": sum(outcome.checked.values())}
    counts = {"messages": outcome.messages, "other events": outcome.events, **torques}
    return Report("messages", counts, outcome.wrong, _without(options.cases or CASES, outcome.cases))


def transitions(options: argparse.Namespace) -> Report:
    """Transitions of nodes in processes, with requests and messages in flight."""
    import graph_run

    ways = {"one process": True, "five processes": False}
    turns = rotated(list(ways), options.seed)[: 1 if options.seconds < _BOTH_WAYS_S else 2]
    report = Report("transitions", dict.fromkeys(("transitions", "requests", "messages", "checked"), 0))
    for way in turns:
        share = {"seconds": options.seconds / len(turns), "count": max(1, options.count // len(turns))}
        seen = graph_run.run_transitions(seed_number(options.seed), together=ways[way], **share)
        print(f"  {way}: {seen}", flush=True)
        report.counts["transitions"] += seen.transitions
        report.counts["requests"] += seen.requests
        report.counts["messages"] += seen.messages
        report.counts["checked"] += sum(seen.checked.values())
        report.wrong += seen.wrong
    report.left_out = _without(ways, turns)
    return report


def kills(options: argparse.Namespace) -> Report:
    """Ends of node processes by kill -9 and by signals, and new starts."""
    import graph_run

    seen = graph_run.run_kills(seed_number(options.seed), options.count, options.seconds)
    counts = {"ends": seen.kills + seen.signals, "by kill -9": seen.kills}
    return Report("kills", {**counts, "checked": sum(seen.checked.values())}, seen.wrong)


def flood(options: argparse.Namespace) -> Report:
    """As many messages as go out, and the memory of the nodes meanwhile."""
    import graph_run

    seen = graph_run.run_flood(seed_number(options.seed), options.seconds)
    for name, values in seen.memory_mb.items():
        print(f"  {name:12} {values} MB")
    left_out = "" if seen.looks_after else "whether memory is flat (too few messages, or too short)"
    return Report("flood", {"messages": seen.messages}, seen.wrong, left_out)


def replay(options: argparse.Namespace) -> Report:
    """One input of the readers, as `urdf:7:1234`, or one sequence of messages, as `loops:7:2000`."""
    report = Report("replay", {"inputs": 0})
    for name in options.names:
        first, seed, number = name.split(":")
        report.counts["inputs"] += 1
        if first in TARGETS:
            data, outcome, problem = reader_run.replayed(name)
            sys.stdout.buffer.write(data + b"\n")
            print(f"{name}: {outcome} {problem}")
            report.wrong += [problem] if problem else []
        else:
            import message_run
            from node_cases import CASES

            if first in CASES:
                report.wrong += message_run.run_case(first, seed_number(seed), int(number)).wrong
            else:
                known = ", ".join([*TARGETS, *CASES])
                report.wrong.append(f"no reader and no case of nodes is '{first}': {known}")
    return report


def _without(names: Iterable[str], done: Collection[str]) -> str:
    """Return the names that had no turn, as words."""
    missing = [name for name in names if name not in done]
    return f"{', '.join(missing)} (no time; other seeds begin with others)" if missing else ""


PARTS: dict[str, Callable[[argparse.Namespace], Report]] = {
    "readers": readers,
    "coverage": coverage,
    "messages": messages,
    "transitions": transitions,
    "kills": kills,
    "flood": flood,
    "replay": replay,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a part; return 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parts = " ".join(f"{name}: {part.__doc__}" for name, part in PARTS.items())
    parser.add_argument("part", choices=("all", *PARTS), help=f"all: all but the flood, in turn. {parts}")
    parser.add_argument("names", nargs="*", help="what is replayed")
    parser.add_argument(
        "--seed", default=str(secrets.randbits(32)), help="the same seed gives the same inputs"
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=UNBOUNDED, help="most inputs of each part")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument(
        "--cases", nargs="+", default=[], help="nodes that get messages, as 'loops' (default: all)"
    )
    options = parser.parse_intermixed_args(arguments)
    if (options.part == "replay") != bool(options.names):
        parser.error("replay, and no other part, takes inputs, as urdf:7:1234")
    if wrong := [name for name in options.names if not re.fullmatch(r"[^:]+:\w+:\d+", name)]:
        parser.error(f"not an input: '{wrong[0]}'. An input is a name, a seed and a number, as urdf:7:1234")
    if options.cases:
        from node_cases import CASES

        if unknown := [name for name in options.cases if name not in CASES]:
            parser.error(f"not a case of nodes: '{unknown[0]}' (choose from {', '.join(map(repr, CASES))})")
    print(f"fuzz: seed {options.seed}", flush=True)
    begin = time.monotonic()
    seconds, problems = options.seconds, []
    for name in _SHARES if options.part == "all" else (options.part,):
        options.seconds = seconds * (_SHARES[name] if options.part == "all" else 1.0)
        report = PARTS[name](options)
        print(report, flush=True)
        problems += [*report.wrong, *report.lacking(options.count)]
    for problem in problems[:_SHOWN]:
        print(f"WRONG {problem}")
    print(f"fuzz: {len(problems)} problems in {time.monotonic() - begin:.0f} s, seed {options.seed}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
