# SPDX-License-Identifier: Apache-2.0
"""Logs in NumPy, MATLAB and Parquet files."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from log_case import Motion, assert_same, motion, said

import dyn_core
from dyn_core import DynError
from dyn_core.logs.readers.matlab import variables


@pytest.fixture
def m() -> Motion:
    return motion()


def arrays(m: Motion) -> dict[str, Any]:
    return {
        "time": m.time,
        "q": m.q,
        "qd": m.qd,
        "tau": m.tau,
        "joint_names": np.array(m.joints),
        "gain": 3.0,
    }


def write_parquet(path: Path, columns: dict[str, Any]) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path, row_group_size=500)
    return path


def columns(m: Motion) -> dict[str, Any]:
    return dict(zip(m.names, m.table.T, strict=True))


def test_npz_with_names_of_joints(m: Motion, tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    np.savez(path, **arrays(m))
    log = dyn_core.read_log(path)
    assert_same(log, m)
    assert log.qd is not None


def test_npz_with_one_column_a_sample(m: Motion, tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    np.savez_compressed(path, t=m.time[:, None], q=m.q.T, tau=m.tau.T)
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.q, m.q)
    assert log.joint_names == ("joint_1", "joint_2", "joint_3")


def test_npz_with_objects_runs_no_code(m: Motion, tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    np.savez(path, **arrays(m), settings=np.array([{"a": 1}], dtype=object))
    log = dyn_core.read_log(path)
    assert_same(log, m)
    assert "'settings': Python objects, which could run code when they are read, are left out" in said(log)


def test_npz_whose_joint_names_are_objects(m: Motion, tmp_path: Path) -> None:
    """Without them, columns would be taken for joints by their numbers."""
    path = tmp_path / "log.npz"
    names = np.array(m.joints, dtype=object)
    np.savez(path, **{**arrays(m), "joint_names": names})
    with pytest.raises(DynError, match=r"'joint_names' holds Python objects.*dtype=str"):
        dyn_core.read_log(path)


def test_npy_with_fields(m: Motion, tmp_path: Path) -> None:
    table = np.zeros(len(m.time), dtype=[(name, float) for name in m.names])
    for name, column in columns(m).items():
        table[name] = column
    np.save(tmp_path / "log.npy", table)
    assert_same(dyn_core.read_log(tmp_path / "log.npy"), m)


def test_npy_with_columns(m: Motion, tmp_path: Path) -> None:
    np.save(tmp_path / "log.npy", m.table)
    mapping = {
        "time": {"column": "1", "unit": "s"},
        "joints": {joint: {"position": str(k + 2), "effort": str(k + 8)} for k, joint in enumerate(m.joints)},
    }
    assert_same(dyn_core.read_log(tmp_path / "log.npy", mapping), m)
    np.save(tmp_path / "log.npy", m.time)
    with pytest.raises(DynError, match=r"the array has the shape \(1600,\): give one row a sample"):
        dyn_core.read_log(tmp_path / "log.npy")


def test_time_in_nanoseconds_keeps_its_digits(m: Motion, tmp_path: Path) -> None:
    stamp = 1_700_000_000_000_000_000 + np.round(m.time * 1e9).astype(np.int64)
    np.savez(tmp_path / "log.npz", timestamp_ns=stamp, q=m.q, tau=m.tau)
    log = dyn_core.read_log(tmp_path / "log.npz")
    np.testing.assert_allclose(log.time, m.time, atol=1e-12)
    write_parquet(tmp_path / "log.parquet", {**columns(m), "time": stamp.view("datetime64[ns]")})
    log = dyn_core.read_log(tmp_path / "log.parquet")
    np.testing.assert_allclose(log.time, m.time, atol=1e-12)


def test_matlab(m: Motion, tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "log.mat", {"t": m.time[:, None], "q": m.q, "tau": m.tau, "kp": 3.0})
    np.testing.assert_allclose(dyn_core.read_log(tmp_path / "log.mat").q, m.q)
    scipy.io.savemat(tmp_path / "log.mat", {"data": {"t": m.time, "q": m.q, "tau": m.tau}})
    mapping = {"time": {"column": "data.t", "unit": "s"}}
    np.testing.assert_allclose(dyn_core.read_log(tmp_path / "log.mat", mapping).q, m.q)


@pytest.mark.parametrize("compressed", [False, True])
def test_variables_of_matlab_are_those_that_scipy_reads(compressed: bool) -> None:
    generator = np.random.default_rng(0)
    contents = {
        "table": generator.standard_normal((5, 3)),
        "cube": generator.standard_normal((2, 3, 4)),
        "short": np.arange(7, dtype=np.int16),
        "long": np.arange(3, dtype=np.uint64),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 0)),
        "single": np.float32([1.5, 2.5]),
        "whole": np.array([[1.0, 2.0, 300.0]]),
    }
    file = io.BytesIO()
    scipy.io.savemat(file, contents, do_compression=compressed)
    ours = dict(variables(file.getvalue()))
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
    ours = dict(variables(file.getvalue()))
    assert ours["log"]["names"] == [["left"], ["right"]]
    np.testing.assert_array_equal(ours["log"]["inner"]["q"], [[1.0, 2.0]])
    assert ours["text"] == ["hello"]
    assert ours["complex"] is None
    assert ours["several"] is None


def test_names_of_joints_in_a_structure_of_matlab(m: Motion, tmp_path: Path) -> None:
    names = np.array(m.joints, dtype=object)
    log = {"data": {"time_s": m.time, "q": m.q, "tau": m.tau, "joints": names}}
    scipy.io.savemat(tmp_path / "log.mat", log)
    assert_same(dyn_core.read_log(tmp_path / "log.mat"), m)


@pytest.mark.parametrize("name", ["log", "run7", "data"])
def test_a_structure_of_matlab(m: Motion, name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.mat"
    scipy.io.savemat(path, {name: {"time": m.time, "q": m.q, "tau": m.tau}})
    log = dyn_core.read_log(path)
    np.testing.assert_array_equal(log.q, m.q)


def test_damaged_files_of_matlab_end_in_a_sentence(m: Motion, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    path = tmp_path / "log.mat"
    for compressed in (False, True):
        scipy.io.savemat(path, {"t": m.time, "q": m.q, "tau": m.tau}, do_compression=compressed)
        whole = path.read_bytes()
        for _ in range(100):
            data = bytearray(whole)
            place = int(generator.choice([generator.integers(0, 400), generator.integers(0, len(data))]))
            data[place : place + 4] = generator.bytes(4)
            path.write_bytes(data)
            report = dyn_core.examine_log(path)
            assert (report.log is None) == any(str(f.severity) == "error" for f in report.findings)


def test_matlab_of_the_version_that_is_hdf5(tmp_path: Path) -> None:
    (tmp_path / "log.mat").write_bytes(
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" * 100
    )
    with pytest.raises(DynError, match=r"it is a MATLAB file of version 7.3: save it with -v7"):
        dyn_core.read_log(tmp_path / "log.mat")


def test_parquet(m: Motion, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", {**columns(m), "mode": ["AUTO"] * len(m.time)})
    assert_same(dyn_core.read_log(path), m)
    log = dyn_core.read_log(path, max_values=10_000)
    assert len(log.time) == 1000
    assert "it is larger than what is read at once" in said(log)


@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
def test_parquet_with_lists(m: Motion, kind: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    n = len(m.joints)

    def lists(array: np.ndarray) -> Any:
        if kind == "fixed":
            return arrow.FixedSizeListArray.from_arrays(arrow.array(array.ravel()), n)
        return arrow.array(
            list(array), (arrow.large_list if kind == "large" else arrow.list_)(arrow.float64())
        )

    path = tmp_path / "log.parquet"
    table = {"time": m.time, "position": lists(m.q), "velocity": lists(m.qd), "effort": lists(m.tau)}
    log = dyn_core.read_log(write_parquet(path, table), robot=None)
    np.testing.assert_array_equal(log.q, m.q)
    np.testing.assert_array_equal(log.tau, m.tau)
    order = list(range(n))[::-1]
    names = [[m.joints[k] for k in order]] * len(m.time)
    turned = {
        "time": m.time,
        "name": names,
        "position": lists(m.q[:, order]),
        "effort": lists(m.tau[:, order]),
    }
    log = dyn_core.read_log(write_parquet(path, turned))
    by_name = [log.joint_names.index(joint) for joint in m.joints]
    np.testing.assert_array_equal(log.q[:, by_name], m.q)
    names[700] = list(m.joints)
    with pytest.raises(DynError, match="the joints in 'name' are not the same in each row"):
        dyn_core.read_log(write_parquet(path, turned))


def test_parquet_with_lists_that_are_not_whole(m: Motion, tmp_path: Path) -> None:
    positions = [row.tolist() for row in m.q]
    positions[300], positions[301] = positions[300][:1], None
    path = write_parquet(
        tmp_path / "log.parquet", {"time": m.time, "position": positions, "effort": list(m.tau)}
    )
    log = dyn_core.read_log(path)
    assert "bridged" in said(log)
    np.testing.assert_array_equal(log.q[400:], m.q[400:])


def test_parquet_without_values(m: Motion, tmp_path: Path) -> None:
    table: dict[str, Any] = {name: column.tolist() for name, column in columns(m).items()}
    table["position.elbow"][100] = None
    path = write_parquet(tmp_path / "log.parquet", table)
    log = dyn_core.read_log(path)
    np.testing.assert_allclose(log.q, m.q, atol=1e-3)
    assert "1 values are missing, or are not finite" in said(log)


def test_parquet_without_pyarrow(m: Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "log.parquet", columns(m))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DynError, match="Parquet cannot be read without pyarrow: install it with"):
        dyn_core.read_log(path)


@pytest.mark.parametrize("suffix", ["log", "log.txt", "log.csv", "log.bag"])
def test_files_are_known_by_what_is_in_them(m: Motion, suffix: str, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays(m))
    (tmp_path / suffix).write_bytes(buffer.getvalue())
    assert_same(dyn_core.read_log(tmp_path / suffix), m)
    write_parquet(tmp_path / suffix, columns(m))
    assert_same(dyn_core.read_log(tmp_path / suffix), m)


@pytest.mark.parametrize("form", ["npz", "npy", "mat", "parquet"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_files_that_were_cut(m: Motion, form: str, part: float, tmp_path: Path) -> None:
    path = tmp_path / f"log.{form}"
    if form == "npz":
        np.savez(path, **arrays(m))
    elif form == "npy":
        np.save(path, m.table)
    elif form == "mat":
        scipy.io.savemat(path, {"t": m.time, "q": m.q, "tau": m.tau})
    else:
        write_parquet(path, columns(m))
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(DynError, match="or one that was cut"):
        dyn_core.read_log(path)


def test_arrays_of_a_running_system(m: Motion) -> None:
    assert_same(dyn_core.log_of_arrays(m.joints, m.time, m.q, m.tau, m.qd), m)
    robot_side = {"joints": {"elbow": {"ratio": -50.0, "position": {"unit": "deg"}}}}
    q, tau = m.q.copy(), m.tau.copy()
    q[:, 1], tau[:, 1] = np.rad2deg(-50.0 * q[:, 1]), -tau[:, 1] / 50.0
    assert_same(dyn_core.log_of_arrays(m.joints, m.time, q, tau, mapping=robot_side), m)


def test_arrays_of_wrong_shapes(m: Motion) -> None:
    with pytest.raises(ValueError, match=r"q: expected the shape \(1600, 3\), but it has \(1600, 2\)"):
        dyn_core.log_of_arrays(m.joints, m.time, m.q[:, :2], m.tau)
    with pytest.raises(ValueError, match=r"time: expected the shape \(N,\), but it has \(1600, 3\)"):
        dyn_core.log_of_arrays(m.joints, m.q, m.q, m.tau)
    with pytest.raises(ValueError, match="joint_names: a name is there twice"):
        dyn_core.log_of_arrays(("a", "a", "b"), m.time, m.q, m.tau)
    with pytest.raises(DynError, match="it is too short: 50 samples"):
        dyn_core.log_of_arrays(m.joints, m.time[:50], m.q[:50], m.tau[:50])
