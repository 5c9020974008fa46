# SPDX-License-Identifier: Apache-2.0
"""Small files whose declared sizes, types or contents would need excessive memory or time."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from growth_of_time import assert_nearly_linear
from hostile_logs import (
    CELL,
    DOUBLE,
    NUMBERS,
    TEXT,
    TOPIC,
    TOPICS,
    UINT32,
    chunk,
    doubles,
    element,
    hostile_files,
    int32,
    joint_state_channel,
    mat,
    mcap,
    sqlite,
    zeros_zstd,
)
from log_case import assert_same, codes, motion, motion_csv
from refusals import refused

import dyn_core
from dyn_core.core.errors import DynError
from dyn_core.logs.readers.bag_messages import RawMessage
from dyn_core.logs.readers.sqlite_bag import sqlite_messages
from dyn_core.logs.reading_budget import Budget

MATLAB = {
    "two billion rows of no text": mat(TEXT, int32(2_000_000_000, 0), element(UINT32, b"")),
    "two billion rows of no numbers": mat(NUMBERS, int32(2_000_000_000, 0), element(DOUBLE, b"")),
    "two billion cells": mat(CELL, int32(2_000_000_000, 0), b""),
    "a billion cells that are not there": mat(CELL, int32(1, 1_000_000_000), b""),
    "text of doubles": mat(TEXT, int32(1, 2), element(DOUBLE, doubles(104.0, 105.0))),
    "an infinite size": mat(NUMBERS, doubles(np.inf, 1.0), element(DOUBLE, doubles(1.0)), DOUBLE),
    "a size that is no number": mat(NUMBERS, doubles(np.nan, 1.0), element(DOUBLE, doubles(1.0)), DOUBLE),
}


@pytest.mark.parametrize("name", MATLAB)
def test_matlab_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.mat"
    path.write_bytes(MATLAB[name])
    tracemalloc.start()
    with pytest.raises(DynError) as refusal:
        dyn_core.read_log(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refusal.value.code in ("matlab-file-damaged", "file-without-arrays")
    assert peak < 10_000_000


def test_text_outside_of_unicode_in_npz(tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    names = np.frombuffer(struct.pack("<I", 0x110000), dtype="<U1")
    np.savez(path, t=np.arange(3.0), q=np.zeros((3, 1)), tau=np.zeros((3, 1)), joint_names=names)
    with pytest.raises(DynError):
        dyn_core.read_log(path)


MEMORY = 100_000_000
READ = """
import json, resource, sys
import dyn_core
from dyn_core.logs.log_reading import examine_log

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before, found = peak(), {}
for path in sys.argv[2:]:
    report = examine_log(path, memory=int(sys.argv[1]))
    found[path] = [report.findings[0].code, peak() - before]
print(json.dumps(found))
"""


def test_the_memory_that_hostile_files_take(tmp_path: Path) -> None:
    """Files of at most 2 MB; most claim to be, or unpack to, 400 MB and more."""
    pytest.importorskip("rosbags.typesys")
    pytest.importorskip("pyarrow")
    files = hostile_files(tmp_path)
    for name, (data, _) in files.items():
        assert len(data) < 2_000_000
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in files]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", READ, str(MEMORY), *paths]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {path: code for path, (code, _) in found.items()} == {
        str(tmp_path / name): code for name, (_, code) in files.items()
    }
    # Beside the logs: rosbags and pyarrow, which are imported for the first file that needs them.
    assert {path: taken for path, (_, taken) in found.items() if taken > MEMORY + 100_000_000} == {}


def test_the_limit_can_be_raised(tmp_path: Path) -> None:
    m = motion()
    path = tmp_path / "log.npz"
    np.savez_compressed(path, t=m.time, q=m.q, qd=m.qd, tau=m.tau, zeros=np.zeros(2_000_000))
    with refused("log-memory-exceeded", limit=10.0) as refusal:
        dyn_core.read_log(path, memory=10_000_000)
    needed = refusal.value.values["needed"]
    assert len(dyn_core.read_log(path, memory=2_000_000 * needed).time) == len(m.time)
    for memory in (9_999_999, float("inf"), float("nan"), -1):
        with refused("log-memory-range"):
            dyn_core.read_log(path, memory=memory)  # type: ignore[arg-type]


def test_the_rest_of_a_long_text_is_left_out(tmp_path: Path) -> None:
    """What is read is limited, too, and not only what is kept."""
    m = motion(duration=4.0)
    path = motion_csv(tmp_path / "log.csv", m)
    head, *lines = path.read_text().splitlines()
    path.write_text("".join([f"{head},comment\n", *(f"{line},{'x' * 30_000}\n" for line in lines)]))
    assert path.stat().st_size > 2 * 10_000_000
    log = dyn_core.read_log(path, memory=10_000_000)
    assert "log-too-large" in codes(log)
    assert_same(log, m.part(np.arange(len(log.time))))
    assert_same(dyn_core.read_log(path), m)


def test_a_chunk_of_the_largest_size_is_read(tmp_path: Path) -> None:
    """And one that is larger is refused, with the memory that would do."""
    path = tmp_path / "log.mcap"
    path.write_bytes(mcap(joint_state_channel(), chunk(zeros_zstd(2), 2_000_000)))
    with refused("log-memory-exceeded", needed=16.0):
        dyn_core.read_log(path, memory=15_900_000)
    with refused("log-memory-exceeded", needed=32.0):  # records without end
        dyn_core.read_log(path, memory=16_000_000)
    with refused("log-without-topics"):
        dyn_core.read_log(path)


@pytest.mark.parametrize("is_whole", [True, False])
def test_an_sqlite_bag_that_is_cut_while_it_is_read(is_whole: bool, tmp_path: Path) -> None:
    """By SQLite and page by page: a mapped file would end the process."""
    path = tmp_path / "log.db3"
    kind = "sensor_msgs/msg/JointState"
    messages = "CREATE TABLE messages (id INTEGER PRIMARY KEY, topic_id, timestamp, data BLOB)"
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    fill = f"INSERT INTO messages {count} SELECT i, 1, i, randomblob(4000) FROM n"
    data = sqlite(path, TOPICS, TOPIC, messages, fill)
    if not is_whole:
        path.write_bytes(data[:-100_000])
    found = sqlite_messages(path, [kind], Budget())
    first = [next(found) for _ in range(100)]
    os.truncate(path, len(data) // 2)
    rest: list[RawMessage] = []
    with refused("sqlite-damaged"):
        rest.extend(found)
    assert [message.received for message in first] == [*range(1, 101)]
    assert all(message.kind in (kind, "") for message in rest)


def test_time_grows_with_the_number_of_columns(tmp_path: Path) -> None:
    """Eight times as many columns take at most 24 times as long; with the square of their number it is 64."""

    def work(count: int) -> Callable[[], None]:
        names = [f"{quantity}.j{k}x" for k in range(count) for quantity in ("position", "effort")]
        row = ",".join(["0.5"] * len(names))
        path = tmp_path / "wide.csv"
        path.write_text("\n".join([",".join(["t", *names]), *(f"{0.01 * k},{row}" for k in range(8))]))

        def read_it() -> None:
            with refused("log-too-short"):
                dyn_core.read_log(path)

        return read_it

    assert_nearly_linear(work, 16_000)
