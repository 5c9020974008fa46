# SPDX-License-Identifier: Apache-2.0
"""Write logs of positions and efforts in each file format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np


def write_csv(path: Path, joints: tuple[str, ...], t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    """Write positions and efforts (N, n) at times (s) as columns of text."""
    names = [f"{what}.{joint}" for what in ("position", "effort") for joint in joints]
    table = np.column_stack([t, q, tau])
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.9g")


def write_npz(path: Path, joints: tuple[str, ...], t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    """Write arrays by name."""
    np.savez(path, time=t, q=q, tau=tau, joint_names=np.array(joints))


def write_mcap(path: Path, joints: tuple[str, ...], t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    """Write joint states as a ROS 2 bag; raise ImportError where no library can."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = store.types
    state, header = kinds["sensor_msgs/msg/JointState"], kinds["std_msgs/msg/Header"]
    directory = path.with_suffix("")
    with Writer(directory, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        topic = bag.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k in range(len(t)):
            stamp = 1_700_000_000_000_000_000 + round(1e9 * t[k])
            time_ = kinds["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
            message = state(header(time_, ""), list(joints), q[k], np.zeros(0), tau[k])
            bag.write(topic, stamp, store.serialize_cdr(message, state.__msgtype__))
    (bag_file,) = directory.glob("*.mcap")
    bag_file.rename(path)


FORMS: dict[str, Callable[..., None]] = {"csv": write_csv, "npz": write_npz, "mcap": write_mcap}
