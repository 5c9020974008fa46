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
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import reader_run
from reader_targets import TARGETS

FOUND = Path(__file__).resolve().parents[1] / "build" / "fuzz"
"""Inputs at which something was wrong."""
UNBOUNDED = 10**9
_SHOWN = 20
_LEAST_S = 5.0
"""Least time for a reader in `coverage`: atheris takes as long to begin."""
_SHARES = {"readers": 0.3, "coverage": 0.15, "messages": 0.35, "transitions": 0.1, "kills": 0.1}
"""Parts of the time of `all`."""


def readers(options: argparse.Namespace) -> list[str]:
    """Damaged files, made from the seed, for all readers."""
    found = reader_run.run(options.targets, options.seed, options.count, options.seconds, options.processes)
    for name, counts in sorted(found.outcomes.items()):
        print(f"  {name:16} {counts.total():9} inputs, {counts['used']} used, {len(counts)} outcomes")
    (slowest, of_slowest), (largest, of_largest) = found.slowest, found.largest
    print(
        f"  slowest {slowest:.2f} s ({of_slowest}), memory grew most by {largest / 1e6:.0f} MB ({of_largest})"
    )
    print(f"readers: {found.count} inputs", flush=True)
    reader_run.kept(found, FOUND)
    return [f"{name}: {problem}" for name, problem in found.wrong.items()]


def coverage(options: argparse.Namespace) -> list[str]:
    """Files that atheris finds by the branches that they reach, where it is installed."""
    if importlib.util.find_spec("atheris") is None:
        print("coverage: atheris is not installed, this part is left out", flush=True)
        return []
    program, wrong = Path(__file__).with_name("coverage_run.py"), []
    count = min(len(options.targets), max(1, int(options.seconds / _LEAST_S)))
    seconds = max(1, round(options.seconds / count))
    for name in Random(options.seed).sample(options.targets, count):
        folder = FOUND / "coverage" / name
        number = int(options.seed, 36) % 2**31 if options.seed.isalnum() else 1
        command = [sys.executable, str(program), name, str(seconds), str(number), str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode(errors="replace")
        executed = [line.split()[-1] for line in text.splitlines() if "number_of_executed_units" in line]
        print(f"  {name:16} {executed[0] if executed else '?':>9} inputs", flush=True)
        if done.returncode:
            wrong.append(f"coverage of {name}: {text[-1500:]}")
    return wrong


def messages(options: argparse.Namespace) -> list[str]:
    """Messages, requests, transitions and clocks for nodes whose callbacks are called directly."""
    import message_run

    outcome = message_run.run(options.cases, options.seed, options.count, options.seconds, options.processes)
    print(f"  checked {outcome.checked}")
    print(f"  slowest {1e3 * outcome.slowest[0]:.1f} ms of the processor ({outcome.slowest[1]})")
    print(f"messages: {outcome.messages} messages, {outcome.events} other events", flush=True)
    return outcome.wrong


def transitions(options: argparse.Namespace) -> list[str]:
    """Transitions of nodes in processes, with requests and messages in flight."""
    import graph_run

    wrong = []
    for together in (True, False):
        share = {"seconds": options.seconds / 2.0, "count": max(1, options.count // 2)}
        seen = graph_run.run_transitions(_number(options.seed), together=together, **share)
        print(f"  {'one process' if together else 'five processes'}: {seen}")
        print(
            f"transitions: {seen.transitions}, {seen.requests} requests, {seen.messages} messages", flush=True
        )
        wrong += seen.wrong
    return wrong


def kills(options: argparse.Namespace) -> list[str]:
    """Ends of node processes by kill -9 and by signals, and new starts."""
    import graph_run

    seen = graph_run.run_kills(_number(options.seed), options.count, options.seconds)
    print(f"kills: {seen.kills}, signals: {seen.signals}, torques checked {seen.checked}", flush=True)
    return seen.wrong


def flood(options: argparse.Namespace) -> list[str]:
    """As many messages as go out, and the memory of the nodes meanwhile."""
    import graph_run

    seen = graph_run.run_flood(_number(options.seed), options.seconds)
    for name, values in seen.memory_mb.items():
        print(f"  {name:12} {values} MB")
    print(f"flood: {seen.messages} messages", flush=True)
    return seen.wrong


def replay(options: argparse.Namespace) -> list[str]:
    """One input of the readers, as `urdf:7:1234`, or one sequence of messages, as `loops:7:2000`."""
    wrong = []
    for name in options.names:
        first, seed, number = name.split(":")
        if first in TARGETS:
            data, outcome, problem = reader_run.replayed(name)
            sys.stdout.buffer.write(data + b"\n")
            print(f"{name}: {outcome} {problem}")
            wrong += [problem] if problem else []
        else:
            import message_run
            from node_cases import CASES

            if first not in CASES:
                return [f"no reader and no case of nodes is '{first}': {', '.join([*TARGETS, *CASES])}"]
            wrong += message_run.run_case(first, int(seed), int(number)).wrong
    return wrong


def everything(options: argparse.Namespace) -> list[str]:
    """All parts but the flood, each for its share of the time."""
    wrong, seconds = [], options.seconds
    for name, share in _SHARES.items():
        options.seconds = share * seconds
        wrong += PARTS[name](options)
    return wrong


PARTS: dict[str, Callable[[argparse.Namespace], list[str]]] = {
    "all": everything,
    "readers": readers,
    "coverage": coverage,
    "messages": messages,
    "transitions": transitions,
    "kills": kills,
    "flood": flood,
    "replay": replay,
}


def _number(seed: str) -> int:
    return int(seed) if seed.isdecimal() else int.from_bytes(seed.encode(), "little") % 2**32


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a part; return 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("part", choices=PARTS, help=" ".join(f"{n}: {p.__doc__}" for n, p in PARTS.items()))
    parser.add_argument("names", nargs="*", help="what is replayed")
    parser.add_argument(
        "--seed", default=str(secrets.randbits(32)), help="the same seed gives the same inputs"
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=UNBOUNDED, help="most inputs of each part")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--cases", nargs="+", default=[], help="nodes that get messages (default: all)")
    options = parser.parse_intermixed_args(arguments)
    if (options.part == "replay") != bool(options.names):
        parser.error("replay, and no other part, takes inputs, as urdf:7:1234")
    if wrong := [name for name in options.names if not re.fullmatch(r"[^:]+:\w+:\d+", name)]:
        parser.error(f"not an input: '{wrong[0]}'. An input is a name, a seed and a number, as urdf:7:1234")
    print(f"fuzz: seed {options.seed}", flush=True)
    begin = time.monotonic()
    problems = PARTS[options.part](options)
    for problem in problems[:_SHOWN]:
        print(f"WRONG {problem}")
    print(f"fuzz: {len(problems)} problems in {time.monotonic() - begin:.0f} s, seed {options.seed}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
