# SPDX-License-Identifier: Apache-2.0
"""The files that a demonstration leaves: report, figures, data, parameters of the nodes."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core import DynError, Robot
from dyn_core.cli.output_file import write_whole
from dyn_nodes.demonstration.recording import Recording

REPORT, FIGURES, DATA, PARAMETERS = "report.html", "figures.json", "data.csv", "nodes.yaml"


def writable(directory: Path) -> Path:
    """Make a directory, and see whether files can be written there; DynError where they cannot."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise DynError(
            f"cannot write in the directory '{directory}': {error.strerror}; give another one as --out"
        ) from error
    return directory


def write_figures(directory: Path, figures: dict[str, Any]) -> None:
    """Write the figures as JSON."""
    write_whole(os.fspath(directory / FIGURES), json.dumps(figures, indent=2) + "\n")


def write_data(directory: Path, robot: Robot, recordings: Sequence[Recording]) -> None:
    """Write what was recorded as CSV, one line for each joint state."""
    columns = ["run", "time"]
    kinds = ("reference", "position", "velocity", *recordings[0].efforts._fields)
    columns += [f"{kind}.{name}" for kind in kinds for name in robot.joint_names]
    text = io.StringIO()
    text.write(",".join(columns) + "\n")
    for number, run in enumerate(recordings, start=1):
        table = np.column_stack(
            [np.full(len(run.t), number), run.t, run.desired, run.measured, run.velocity, *run.efforts]
        )
        np.savetxt(text, table, fmt="%.9g", delimiter=",")
    write_whole(os.fspath(directory / DATA), text.getvalue())
