# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a model can be used, in a new interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

CODE = """
import sys, time, warnings
start = time.perf_counter()
import dyn_core
imported = time.perf_counter()
warnings.simplefilter("ignore")
model = dyn_core.compile_model(dyn_core.load_robot(sys.argv[1], mimic=False), backend="c")
print(imported - start, time.perf_counter() - imported)
"""


def start_s(path: str) -> tuple[float, float, float]:
    """Time to import dyn_core, and to load and compile a robot with an empty cache, then with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "DYN_CACHE_DIR": cache}
        command = [sys.executable, "-c", CODE, path]
        runs = []
        for _ in range(4):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            runs.append([float(word) for word in done.stdout.split()])
    cold, *warm = runs
    return min(run[0] for run in runs), cold[1], min(run[1] for run in warm)
