# SPDX-License-Identifier: Apache-2.0
"""Logs in NumPy, MATLAB and Parquet files."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from log_case import Motion, assert_same, codes, found, log_of, motion
from refusals import refused

import dyn_core
from dyn_core import Log
from dyn_core.logs.readers.matlab import variables
from dyn_core.logs.reading_budget import Budget

Read = Callable[..., Log]
M = motion()


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that writes contents as a file of a format and reads it as a log."""

    def log(form: str, contents: Any, *options: object, **named: object) -> Log:
        return dyn_core.read_log(written(tmp_path / f"log.{form}", contents), *options, **named)

    return log


def written(path: Path, contents: Any) -> Path:
    """Write contents in the format of the suffix."""
    if path.suffix == ".npz":
        np.savez(path, **contents)
    elif path.suffix == ".npy":
        np.save(path, contents)
    elif path.suffix == ".mat":
        scipy.io.savemat(path, contents)
    else:
        pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table(contents), path, row_group_size=500)
    return path


def arrays(m: Motion) -> dict[str, Any]:
    signals = {"time": m.time, "q": m.q, "qd": m.qd, "tau": m.tau}
    return {**signals, "joint_names": np.array(m.joints), "gain": 3.0}


def columns(m: Motion) -> dict[str, Any]:
    return dict(zip(m.names, m.table.T, strict=True))


def test_npz(read: Read, tmp_path: Path) -> None:
    log = read("npz", arrays(M))
    assert_same(log, M)
    assert log.qd is not None
    np.savez_compressed(tmp_path / "log.npz", t=M.time[:, None], q=M.q.T, tau=M.tau.T)
    log = dyn_core.read_log(tmp_path / "log.npz")
    np.testing.assert_allclose(log.q, M.q)
    assert log.joint_names == ("joint_1", "joint_2", "joint_3")


def test_npz_with_objects_runs_no_code(read: Read) -> None:
    """Joint names as objects are refused: without them, columns would be taken for joints by number."""
    log = read("npz", {**arrays(M), "settings": np.array([{"a": 1}], dtype=object)})
    assert_same(log, M)
    found(log, "array-objects-left-out", arrays=("settings",))
    with refused("array-of-objects", arrays=["joint_names"]):
        read("npz", {**arrays(M), "joint_names": np.array(M.joints, dtype=object)})


def test_npy(read: Read) -> None:
    table = np.zeros(len(M.time), dtype=[(name, float) for name in M.names])
    for name, column in columns(M).items():
        table[name] = column
    assert_same(read("npy", table), M)
    joints = {joint: {"position": str(k + 2), "effort": str(k + 8)} for k, joint in enumerate(M.joints)}
    assert_same(read("npy", M.table, {"time": {"column": "1", "unit": "s"}, "joints": joints}), M)
    with refused("array-not-table", given=(1600,)):
        read("npy", M.time)


def test_time_in_nanoseconds_keeps_its_digits(read: Read) -> None:
    stamp = 1_700_000_000_000_000_000 + np.round(M.time * 1e9).astype(np.int64)
    log = read("npz", {"timestamp_ns": stamp, "q": M.q, "tau": M.tau})
    np.testing.assert_allclose(log.time, M.time, atol=1e-12)
    log = read("parquet", {**columns(M), "time": stamp.view("datetime64[ns]")})
    np.testing.assert_allclose(log.time, M.time, atol=1e-12)


def test_matlab(read: Read) -> None:
    signals = {"q": M.q, "tau": M.tau}
    np.testing.assert_allclose(read("mat", {"t": M.time[:, None], **signals, "kp": 3.0}).q, M.q)
    mapping = {"time": {"column": "data.t", "unit": "s"}}
    np.testing.assert_allclose(read("mat", {"data": {"t": M.time, **signals}}, mapping).q, M.q)
    for name in ("log", "run7", "data"):
        np.testing.assert_array_equal(read("mat", {name: {"time": M.time, **signals}}).q, M.q)
    names = np.array(M.joints, dtype=object)
    assert_same(read("mat", {"data": {"time_s": M.time, **signals, "joints": names}}), M)


@pytest.mark.parametrize("compressed", [False, True])
def test_variables_of_matlab_agree_with_scipy(compressed: bool) -> None:
    generator = np.random.default_rng(0)
    arrays = {"table": generator.standard_normal((5, 3)), "cube": generator.standard_normal((2, 3, 4))}
    integers = {"short": np.arange(7, dtype=np.int16), "long": np.arange(3, dtype=np.uint64)}
    others = {"flags": np.array([True, False]), "none": np.zeros((0, 0)), "single": np.float32([1.5, 2.5])}
    contents = {**arrays, **integers, **others, "whole": np.array([[1.0, 2.0, 300.0]])}
    file = io.BytesIO()
    scipy.io.savemat(file, contents, do_compression=compressed)
    ours = dict(variables(file.getvalue(), Budget()))
    theirs = scipy.io.loadmat(io.BytesIO(file.getvalue()))
    assert list(ours) == list(contents)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])


def test_other_variables_of_matlab() -> None:
    file = io.BytesIO()
    contents = {
        "log": {"names": np.array(["left", "right"], dtype=object), "inner": {"q": [1.0, 2.0]}},
        "text": "hello",
        "complex": np.array([1.0 + 2.0j]),
        "several": np.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)]),
    }
    scipy.io.savemat(file, contents)
    ours = dict(variables(file.getvalue(), Budget()))
    log = ours.pop("log")
    assert log["names"] == [["left"], ["right"]]
    np.testing.assert_array_equal(log["inner"]["q"], [[1.0, 2.0]])
    assert ours == {"text": ["hello"], "complex": None, "several": None}


def test_damaged_files_of_matlab_are_refused_or_read(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    path = tmp_path / "log.mat"
    for compressed in (False, True):
        scipy.io.savemat(path, {"t": M.time, "q": M.q, "tau": M.tau}, do_compression=compressed)
        whole = path.read_bytes()
        for _ in range(100):
            data = bytearray(whole)
            place = int(generator.choice([generator.integers(0, 400), generator.integers(0, len(data))]))
            data[place : place + 4] = generator.bytes(4)
            path.write_bytes(data)
            report = dyn_core.examine_log(path)
            assert (report.log is None) == any(str(f.severity) == "error" for f in report.findings)
    # Version 7.3, which is HDF5.
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    path.write_bytes(header + b"\x89HDF\r\n\x1a\n" * 100)
    with refused("matlab-version-unsupported"):
        dyn_core.read_log(path)


def test_parquet(read: Read) -> None:
    table: dict[str, Any] = {**columns(M), "mode": ["AUTO"] * len(M.time)}
    assert_same(read("parquet", table), M)
    log = read("parquet", table, max_values=10_000)
    assert len(log.time) == 1000
    found(log, "log-too-large", count=1000)
    table["position.elbow"] = table["position.elbow"].tolist()
    table["position.elbow"][100] = None
    log = read("parquet", table)
    np.testing.assert_allclose(log.q, M.q, atol=1e-3)
    found(log, "values-bridged", count=1)


@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
def test_parquet_with_lists(kind: str, read: Read) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    def lists(array: np.ndarray) -> Any:
        if kind == "fixed":
            return arrow.FixedSizeListArray.from_arrays(arrow.array(array.ravel()), len(M.joints))
        list_of = arrow.large_list if kind == "large" else arrow.list_
        return arrow.array(list(array), list_of(arrow.float64()))

    table = {"time": M.time, "position": lists(M.q), "velocity": lists(M.qd), "effort": lists(M.tau)}
    log = read("parquet", table)
    np.testing.assert_array_equal(log.q, M.q)
    np.testing.assert_array_equal(log.tau, M.tau)
    names = [list(M.joints[::-1])] * len(M.time)
    positions, efforts = lists(M.q[:, ::-1]), lists(M.tau[:, ::-1])
    turned = {"time": M.time, "name": names, "position": positions, "effort": efforts}
    log = read("parquet", turned)
    by_name = [log.joint_names.index(joint) for joint in M.joints]
    np.testing.assert_array_equal(log.q[:, by_name], M.q)
    names[700] = list(M.joints)
    with refused("row-joints-differ", column="name"):
        read("parquet", turned)
    # Lists of wrong lengths.
    positions = [row.tolist() for row in M.q]
    positions[300], positions[301] = positions[300][:1], None
    log = read("parquet", {"time": M.time, "position": positions, "effort": list(M.tau)})
    assert "values-bridged" in codes(log)
    np.testing.assert_array_equal(log.q[400:], M.q[400:])


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "log.parquet", columns(M))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused("pyarrow-missing"):
        dyn_core.read_log(path)


@pytest.mark.parametrize("name", ["log", "log.txt", "log.csv", "log.bag"])
def test_formats_are_recognised_by_contents(name: str, tmp_path: Path) -> None:
    for form, contents in (("npz", arrays(M)), ("parquet", columns(M))):
        written(tmp_path / f"other.{form}", contents).rename(tmp_path / name)
        assert_same(dyn_core.read_log(tmp_path / name), M)


@pytest.mark.parametrize("form", ["npz", "npy", "mat", "parquet"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files(form: str, part: float, tmp_path: Path) -> None:
    contents = {"npz": arrays(M), "npy": M.table, "mat": {"t": M.time, "q": M.q, "tau": M.tau}}
    path = written(tmp_path / f"log.{form}", contents.get(form, columns(M)))
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with refused("matlab-file-damaged" if form == "mat" else "log-file-damaged"):
        dyn_core.read_log(path)


def test_arrays_of_a_running_system() -> None:
    assert_same(log_of(M, qd=M.qd), M)
    robot_side = {"joints": {"elbow": {"ratio": -50.0, "position": {"unit": "deg"}}}}
    q, tau = M.q.copy(), M.tau.copy()
    q[:, 1], tau[:, 1] = np.rad2deg(-50.0 * q[:, 1]), -tau[:, 1] / 50.0
    assert_same(log_of(M, robot_side, q=q, tau=tau), M)


def test_arrays_of_wrong_shapes() -> None:
    with refused("argument-shape", argument="q"):
        log_of(M, q=M.q[:, :2])
    with refused("argument-shape", argument="time", expected="(N,)"):
        log_of(M, time=M.q)
    with refused("joint-names-repeated"):
        dyn_core.log_of_arrays(("a", "a", "b"), M.time, M.q, M.tau)
    with refused("log-too-short", count=50):
        log_of(M.part(np.arange(50)))
