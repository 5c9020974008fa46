# SPDX-License-Identifier: Apache-2.0
"""Efforts over time, from a CSV file."""

from __future__ import annotations

import csv
import math
import os
import stat
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dyn_core.errors import DynError, listed, shortened
from dyn_core.facade.arrays import Array
from dyn_core.io.source import path_text
from dyn_core.model.robot import Robot

MAX_BYTES = 500_000_000
TIME = "time"

Reader: TypeAlias = Iterator[list[str]]


@dataclass(frozen=True, eq=False)
class EffortTable:
    """Efforts that hold from their time to the next, those of the last row for ever.

    Attributes:
        times: times (s), increasing, (m,).
        efforts: efforts in the order of the joints (N m or N), (m, dof).
        missing: names of the joints that the file does not name: their efforts are 0.
    """

    times: Array
    efforts: Array
    missing: tuple[str, ...]


def read_effort_csv(path: str | os.PathLike[str], robot: Robot) -> EffortTable:
    """Answer the efforts in a file.

    The first line that is not empty is ``time`` (s) and names of joints (N m or N), in any order; each of
    the others has as many numbers.

    Raises:
        DynError: the file cannot be read or used; the message names file, line and column.
    """
    shown = path_text(path)
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise DynError("this is no regular file: give a CSV file with efforts")
        if status.st_size > MAX_BYTES:
            raise DynError(
                f"the file has {status.st_size} bytes, more than the {MAX_BYTES} that are read: cut it up"
            )
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return _table(csv.reader(file, strict=True), robot)
    except DynError as error:
        raise error.in_file(shown) from error
    except OSError as error:
        raise DynError(f"the file cannot be read: {error.strerror}", file=shown) from error
    except UnicodeDecodeError as error:
        raise DynError("the file is not UTF-8: save it as UTF-8", file=shown) from error
    except ValueError as error:  # a null character in the path
        raise DynError(f"no such file: '{shown}'") from error


def _table(reader: Reader, robot: Robot) -> EffortTable:
    rows = _rows(reader)
    line, header = next(rows, (0, []))
    if not header:
        raise DynError("the file is empty: give a first line with time and names of joints")
    names = [name.strip() for name in header]
    _check_header(names, robot, line)
    times, efforts = array("d"), array("d")
    order = [names.index(name) if name in names else -1 for name in robot.coordinate_names]
    passive = [(names.index(name), name) for name in robot.passive_joint_names if name in names]
    place = names.index(TIME)
    for line, row in rows:
        if len(row) != len(names):
            raise _fail(line, f"it has {len(row)} values, but the first line names {len(names)}")
        numbers = [_number(text, name, line) for text, name in zip(row, names, strict=True)]
        if times and not numbers[place] > times[-1]:
            raise _fail(line, f"the time {numbers[place]:g} does not come after {times[-1]:g}", TIME)
        for column, name in passive:
            if numbers[column] != 0.0:
                raise _fail(line, "the joint is passive, it has no actuator: give 0, or leave it out", name)
        times.append(numbers[place])
        numbers.append(0.0)  # of those that are missing
        efforts.extend([numbers[column] for column in order])
    if not times:
        raise DynError("there is no line with efforts after the first line", line=line)
    return EffortTable(
        np.array(times),
        np.array(efforts).reshape(len(times), robot.dof),
        tuple(name for name in robot.actuated_joint_names if name not in names),
    )


def _rows(reader: Reader) -> Iterator[tuple[int, list[str]]]:
    """Lines by number, without those that are empty."""
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _fail(_line(reader), f"it is no CSV: {error}") from error
        if any(text.strip() for text in row):
            yield _line(reader), row


def _line(reader: Reader) -> int:
    return int(getattr(reader, "line_num", 0))


def _check_header(names: list[str], robot: Robot, line: int) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _fail(line, "it is there more than once", name)
    if TIME not in names:
        raise _fail(line, f"no column is named '{TIME}': give a first line with time and names of joints")
    for name in names:
        if name not in (TIME, *robot.coordinate_names, *robot.passive_joint_names):
            followers = {joint.name for joint in robot.joints if joint.mimic}
            why = "follows another joint" if name in followers else "is not one of the robot's"
            raise _fail(line, f"this joint {why}: its joints are {listed(robot.coordinate_names)}", name)


def _number(text: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _fail(line, f"'{shortened(text.strip(), 40)}' is no finite number", name)
    return value


def _fail(line: int, sentence: str, column: str | None = None) -> DynError:
    where = f"line {line}" if column is None else f"line {line}, column '{shortened(column, 40)}'"
    element = None if column is None else f"column '{column}'"
    return DynError(f"{where}: {sentence}", element=element, line=line)
