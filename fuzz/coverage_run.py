# SPDX-License-Identifier: Apache-2.0
"""Inputs for one reader that atheris finds by the branches that they reach.

    python fuzz/coverage_run.py TARGET SECONDS SEED FOLDER

Inputs that do harm are kept in FOLDER. Half of all mutations are those of the seeded run, which know the
format.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["dyn_core"]):
    from reader_targets import TARGETS

    import dyn_core

_MOST_MB, _MOST_SECONDS = 2048, 10


def main(name: str, seconds: str, seed: str, folder: str) -> None:
    """Run until the time is over, or an input does harm; atheris ends the process."""
    target = TARGETS[name]

    def read(data: bytes) -> None:
        try:
            target.read(data, Random(data))
        except dyn_core.DynError:
            return

    def mutate(data: bytes, max_size: int, number: int) -> bytes:
        random = Random(number)
        if random.random() < 0.5:
            # What was damaged before may be no file of this format any more.
            with contextlib.suppress(Exception):
                return target.damage(bytes(data), random)[:max_size]
        return bytes(atheris.Mutate(data, max_size))

    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as begin:
        for k, data in enumerate(target.originals):
            (Path(begin) / str(k)).write_bytes(data)
        limits = [f"-max_total_time={seconds}", f"-timeout={_MOST_SECONDS}", f"-rss_limit_mb={_MOST_MB}"]
        quiet = ["-verbosity=0", "-print_final_stats=1", f"-seed={seed}", f"-artifact_prefix={folder}/"]
        atheris.Setup(["fuzz", *limits, *quiet, begin], read, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
