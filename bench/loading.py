# SPDX-License-Identifier: Apache-2.0
"""Time until a model can be used, in new interpreters: import and load."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bars import COLD_S, IMPORT_S, WARM_S, Bars
from peer_robots import ROBOTS, description

ROUNDS = 3
LOADED = ("all functions", "inverse dynamics")
PEERS = ("pinocchio", "mujoco")


def print_loading(bars: Bars) -> None:
    """Print the least times for each robot and set of functions, then those of the imports."""
    print(
        "Least time to load a model in a new interpreter, with an empty cache (cold) and a full one (warm)."
    )
    print(
        f"{'robot':16}  {'functions':18}{'cold':>10}  {'bar':12}{'warm':>10}  {'bar':12}"
        f"{'Pinocchio':>11}{'MuJoCo':>11}"
    )
    imports: dict[str, list[float]] = {library: [] for library in ("dyn_core", *PEERS)}
    for name in ROBOTS:
        path = description(name)
        rounds = [_round(path, imports) for _ in range(ROUNDS)]
        # Other load on the machine only adds to a time, and the bars are times, not ratios.
        times = [min(seconds) for seconds in zip(*rounds, strict=True)]
        peers = "".join(f"{seconds:>9.4f} s" for seconds in times[2 * len(LOADED) :])
        for k, what in enumerate(LOADED):
            cold, warm = times[2 * k : 2 * k + 2]
            cold_mark = bars.mark(f"{name}, {what}, cold (s)", cold, COLD_S.get((name, what)))
            warm_mark = bars.mark(f"{name}, {what}, warm (s)", warm, WARM_S.get((name, what)))
            print(
                f"{name:16}  {what:18}{cold:>8.2f} s  {cold_mark:12}{warm:>8.3f} s  {warm_mark:12}{peers}",
                flush=True,
            )
    least = {library: min(seconds) for library, seconds in imports.items()}
    mark = bars.mark("import dyn_core (s)", least["dyn_core"], IMPORT_S)
    words = (f"{library} {seconds:.3f} s" for library, seconds in least.items())
    print(f"Import: {', '.join(words)}; bar for dyn_core: {mark}")


def _round(path: str, imports: dict[str, list[float]]) -> list[float]:
    """Load all once: dyn_core cold and warm, for all functions and for one, then the peers."""
    times = []
    for what in LOADED:
        with tempfile.TemporaryDirectory() as cache:
            times += [_once("dyn_core", what, path, cache, imports) for _ in ("cold", "warm")]
    return times + [_once(peer, "", path, "", imports) for peer in PEERS]


def _once(library: str, what: str, path: str, cache: str, imports: dict[str, list[float]]) -> float:
    """Return the time that a library takes to load a robot, and record the time of its import."""
    command = [sys.executable, str(Path(__file__).parent / "load_once.py"), library, what, path]
    environment = {**os.environ, "DYN_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    imported, load = map(float, done.stdout.split())
    imports[library].append(imported)
    return load
