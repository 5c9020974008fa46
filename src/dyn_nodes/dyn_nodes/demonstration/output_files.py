# SPDX-License-Identifier: Apache-2.0
"""The output files of a demonstration: report, figures, data, parameters of the nodes."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core import DynError, Model
from dyn_core.cli.console import write_whole
from dyn_nodes.demonstration.recording import PassiveMotion, Recording, passive_joints

REPORT, FIGURES, DATA, PARAMETERS = "report.html", "figures.json", "data.csv", "nodes.yaml"
SIDE_FILE = "side_file.yaml"


def writable(directory: Path) -> Path:
    """Create a directory, and check that files can be written there; DynError where they cannot."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise DynError("directory-unwritable", directory=directory, reason=error.strerror) from error
    return directory


def figures_text(figures: Mapping[str, Any]) -> str:
    """Return figures as JSON."""
    return json.dumps(figures, indent=2) + "\n"


def data_text(model: Model, recordings: Sequence[Recording], passive: Sequence[PassiveMotion]) -> str:
    """Return the recordings as CSV, one line for each joint state."""
    kinds = ("reference", "position", "velocity", *recordings[0].efforts._fields)
    names = model.robot.coordinate_names
    followers = [joint.name for joint in passive_joints(model)]
    columns = ["run", "time", *(f"{kind}.{name}" for kind in kinds for name in names)]
    columns += [f"{kind}.{name}" for kind in ("reference", "position") for name in followers]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(columns)
    for number, (run, follows) in enumerate(zip(recordings, passive, strict=True), start=1):
        values = (run.desired, run.measured, run.velocity, *run.efforts, follows.desired, follows.measured)
        table = np.column_stack([np.full(len(run.t), number), run.t, *values])
        np.savetxt(text, table, fmt="%.9g", delimiter=",")
    return text.getvalue()


def write(directory: Path, texts: Mapping[str, str]) -> None:
    """Write files, each completely or not at all; DynError where one cannot be written."""
    for name, text in texts.items():
        write_whole(os.fspath(directory / name), text)
