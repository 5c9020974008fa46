# SPDX-License-Identifier: Apache-2.0
"""`make bench`: dyn_core beside Pinocchio, in one run, as ratios (below 1 is faster than Pinocchio)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
from alternate import Comparison, compare

import dyn_core

ROBOTS = Path(__file__).resolve().parents[1] / "config" / "robots"
BATCH = 1000


def comparisons(robot: str) -> Iterator[tuple[str, Comparison]]:
    """Inverse dynamics of one sample and of a batch, and loading, for a robot of `config/robots`."""
    path = str(ROBOTS / f"{robot}.urdf")
    model = dyn_core.compile_model(dyn_core.load_robot(path), friction=False)
    reference = pin.buildModelFromUrdf(path)
    data = reference.createData()
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, BATCH, reference.nv))
    ours = model.inverse_dynamics(q[0], qd[0], qdd[0])
    theirs = pin.rnea(reference, data, q[0], qd[0], qdd[0])
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)

    yield (
        "inverse dynamics, one sample",
        compare(
            lambda: model.inverse_dynamics(q[0], qd[0], qdd[0]),
            lambda: pin.rnea(reference, data, q[0], qd[0], qdd[0]),
        ),
    )
    yield (
        f"inverse dynamics, batch of {BATCH}",
        compare(
            lambda: model.inverse_dynamics(q, qd, qdd),
            lambda: [pin.rnea(reference, data, *sample) for sample in zip(q, qd, qdd, strict=True)],
        ),
    )
    yield (
        "loading the URDF",
        compare(lambda: dyn_core.load_robot(path), lambda: pin.buildModelFromUrdf(path)),
    )


def import_time_s() -> float:
    """Least time of five to import dyn_core in a new interpreter."""
    code = "import time; t = time.perf_counter(); import dyn_core; print(time.perf_counter() - t)"
    runs = (subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(5))
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Print the table."""
    print(f"dyn_core beside Pinocchio {pin.__version__}, Python {sys.version.split()[0]}")
    print(f"{'robot':8} {'what':32} {'dyn_core':>12} {'Pinocchio':>12} {'ratio':>8}")
    for robot in ("rrp", "rx90"):
        for what, result in comparisons(robot):
            ours, theirs = (f"{1e6 * seconds:.2f} us" for seconds in (result.ours_s, result.theirs_s))
            print(f"{robot:8} {what:32} {ours:>12} {theirs:>12} {result.ratio:>8.2f}")
    print(f"import dyn_core: {import_time_s():.3f} s")


if __name__ == "__main__":
    main()
