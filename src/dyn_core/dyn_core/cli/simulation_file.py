# SPDX-License-Identifier: Apache-2.0
"""The file of a simulation, written while it goes on."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import TypeVar

from dyn_core.cli.console import whole_file
from dyn_core.cli.simulation_progress import Progress, Watch

Sample = TypeVar("Sample")


def write_simulation(
    arguments: Namespace,
    head: str,
    line: Callable[[Sample], str],
    samples: Iterable[Sample],
    time: Callable[[], float],
    watch: Watch,
    progress: Progress,
) -> float:
    """Write a simulation, warn of what was seen in it, and answer how long it took (s).

    Args:
        arguments: those of the command: the file, and of how many steps one is written.
        head: the first line.
        line: answers the line of a sample.
        samples: one of each step; each is computed when it is asked for.
        time: answers the present time of the simulation (s).
        watch: looks at each sample.
        progress: is told of each step.
    """
    with whole_file(arguments.out) as file:
        file.write(head)
        for k, sample in enumerate(samples):
            if k % arguments.every == 0:
                file.write(line(sample))
            watch.look(time())
            progress.after(k)
    watch.warn()
    return progress.end()
