# SPDX-License-Identifier: Apache-2.0
"""Inputs for the readers, made from a seed and read by processes that may die.

An input is known by target, seed and number: `urdf:7:1234`. What is found is kept as a file, whose name has
the same parts.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from mutations import SHARED, rotated
from reader_targets import TARGETS, Target

import dyn_core

MOST_SECONDS = 10.0
MOST_BYTES = 10**9
"""Most time and memory for one input."""
LONGEST_SENTENCE = 600
_ENDS_THE_PROCESS = 4 * 10**9
"""Address space beyond that of the start; a reader that wants more gets MemoryError."""
_BATCH, _SHORT_BATCH = 500, 25
"""Inputs of a target that a process gets at once, by its share; fewer in runs of `_SHORT_S`."""
_SHORT_S = 120.0


@dataclass
class Findings:
    """What was seen: outcomes by target, and what is wrong by input."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[int, str] = (0, "")

    def add(self, other: Findings) -> None:
        """Take what another run has seen."""
        for target, counts in other.outcomes.items():
            self.outcomes.setdefault(target, Counter()).update(counts)
        self.wrong |= other.wrong
        self.slowest, self.largest = max(self.slowest, other.slowest), max(self.largest, other.largest)

    @property
    def count(self) -> int:
        """Number of inputs."""
        return sum(counts.total() for counts in self.outcomes.values())


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def problem_of(target: Target, data: bytes, random: Random) -> tuple[str, str]:
    """Read an input; return its outcome, a code or "used", and what is wrong, or an empty text."""
    before, begin = _peak(), time.monotonic()
    outcome = problem = ""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            target.read(data, random)
            outcome = "used"
        except dyn_core.DynError as error:
            outcome, sentence = error.code, str(error)
            if "\n" in sentence or len(sentence) > LONGEST_SENTENCE:
                problem = f"sentence of {len(sentence)} characters: {sentence[:200]!r}"
            if "MemoryError" in sentence:
                problem = sentence
        except Exception:
            outcome, problem = "exception", traceback.format_exc(limit=-4)
    for warning in told:
        if not issubclass(warning.category, dyn_core.ModelWarning | DeprecationWarning | ResourceWarning):
            problem = problem or f"{warning.category.__name__}: {warning.message} ({warning.filename})"
    took, grown = time.monotonic() - begin, _peak() - before
    if took > MOST_SECONDS:
        problem = problem or f"{took:.1f} s"
    if grown > MOST_BYTES:
        problem = problem or f"{grown / 1e6:.0f} MB"
    return outcome, problem


def read_inputs(target: Target, seed: str, numbers: Sequence[int], note: Path | None = None) -> Findings:
    """Read inputs in this process, each noted before in a file."""
    findings = Findings({target.name: Counter()})
    for k in numbers:
        name = f"{target.name}:{seed}:{k}"
        if note is not None:
            note.write_text(name)
        data, random = target.input(seed, k)
        begin, before = time.monotonic(), _peak()
        outcome, problem = problem_of(target, data, random)
        findings.outcomes[target.name][outcome] += 1
        findings.slowest = max(findings.slowest, (time.monotonic() - begin, name))
        findings.largest = max(findings.largest, (_peak() - before, name))
        if problem:
            findings.wrong[name] = problem
    return findings


def _work(jobs: Connection, note: Path) -> None:
    """Read batches of inputs until there are no more; the parent watches the note."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ValueError, OSError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _ENDS_THE_PROCESS,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while (job := jobs.recv()) is not None:
        target, seed, numbers = job
        jobs.send(read_inputs(TARGETS[target], seed, numbers, note))


class _Worker:
    """A process that reads, is watched, and is begun anew where it died."""

    def __init__(self, number: int) -> None:
        self.note = SHARED / f"dyn_fuzz_note_{os.getpid()}_{number}"
        self.job: tuple[str, str, Sequence[int]] | None = None
        self._begin()

    def _begin(self) -> None:
        context = get_context("fork")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self.note), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, job: tuple[str, str, Sequence[int]]) -> None:
        self.job = job
        self.note.write_text("")
        self.connection.send(job)

    def result(self) -> Findings | None:
        """Return what the process has seen; None while it is at work."""
        assert self.job is not None
        with contextlib.suppress(EOFError, ConnectionError):
            if self.connection.poll(0.05):
                found: Findings = self.connection.recv()
                self.job = None
                return found
            with contextlib.suppress(FileNotFoundError):
                if self._process.is_alive() and time.time() - self.note.stat().st_mtime < 3.0 * MOST_SECONDS:
                    return None
        return self._lost()

    def _lost(self) -> Findings:
        """Return that the present input ends the process or hangs; all others of the batch are read again."""
        assert self.job is not None
        self._process.join(1.0)  # it may be on its way out
        hangs = self._process.is_alive()
        if hangs:
            self._process.kill()
        self._process.join()
        self.connection.close()
        name = self.note.read_text()
        target, seed, numbers = self.job
        number = int(name.rpartition(":")[2]) if name else numbers[0]
        name = f"{target}:{seed}:{number}"
        reason = "hangs" if hangs else f"ends the process with code {self._process.exitcode}"
        found = Findings({target: Counter(["process"])}, {name: reason})
        rest = [k for k in numbers if k != number]
        self._begin()
        self.job = None
        if rest:
            self.give((target, seed, rest))
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.note.unlink(missing_ok=True)
        for path in SHARED.glob(f"dyn_fuzz_{self._process.pid}*"):
            path.unlink(missing_ok=True)


def _jobs(
    names: Sequence[str], seed: str, count: int, batch: int
) -> Iterator[tuple[str, str, Sequence[int]]]:
    """Yield batches, of all targets in turn, until so many inputs are there."""
    total = sum(TARGETS[name].share for name in names)
    lefts = {name: (0, max(1, round(count * TARGETS[name].share / total))) for name in names}
    while lefts:
        for name, (begin, end) in list(lefts.items()):
            stop = min(begin + max(1, round(batch * TARGETS[name].share)), end)
            yield name, seed, range(begin, stop)
            lefts[name] = (stop, end)
            if stop == end:
                del lefts[name]


def run(names: Sequence[str], seed: str, count: int, seconds: float, processes: int) -> Findings:
    """Read inputs of these targets, until so many are read or so many seconds have passed."""
    names = rotated(names, seed)
    for name in names:
        assert TARGETS[name].originals  # made once, before the processes begin
    findings = Findings()
    jobs = _jobs(names, seed, count, _BATCH if seconds > _SHORT_S else _SHORT_BATCH)
    workers = [_Worker(k) for k in range(processes)]
    end = time.monotonic() + seconds
    try:
        more = True
        while more or any(worker.job for worker in workers):
            for worker in workers:
                if worker.job is not None:
                    result = worker.result()
                    if result is not None:
                        findings.add(result)
                if worker.job is None and more:
                    job = next(jobs, None) if time.monotonic() < end else None
                    more = job is not None
                    if job is not None:
                        worker.give(job)
    finally:
        for worker in workers:
            worker.end()
    return findings


def replayed(name: str) -> tuple[bytes, str, str]:
    """Return the input of a name like `urdf:7:1234`, its outcome and what is wrong."""
    target, seed, number = name.split(":")
    data, random = TARGETS[target].input(seed, int(number))
    return data, *problem_of(TARGETS[target], data, random)


def kept(findings: Findings, folder: Path) -> None:
    """Write the inputs at which something is wrong, and why, to a folder."""
    for name, problem in findings.wrong.items():
        target, seed, number = name.split(":")
        path = folder / target / f"{seed}_{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(TARGETS[target].input(seed, int(number))[0])
        with (folder / "found.jsonl").open("a") as file:
            file.write(json.dumps({"input": name, "problem": problem}) + "\n")
