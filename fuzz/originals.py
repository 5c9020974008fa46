# SPDX-License-Identifier: Apache-2.0
"""Whole files of each format, small enough to read thousands of damaged copies in a second."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from log_case import motion, write_csv

import dyn_core
from dyn_core.identification.friction.friction_model import TERMS, FrictionModel
from dyn_core.identification.output.parameter_file import parameter_text
from dyn_core.identification.output.parameter_set import (
    ParameterSet,
    SetFriction,
    SetMotor,
    SetValue,
    kinematics_hash,
)
from dyn_core.identification.regressor.base_columns import unit_of

ROBOTS = Path(__file__).resolve().parents[1] / "config" / "robots"

URDF = """<robot name="full">
<link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0 0" rpy="0 1.5708 0"/><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0.1" izz="1"/></inertial></link>
<link name="b"><inertial><mass value="1"/></inertial></link><link name="c"/><link name="tip"/>
<link name="cart"/><link name="drone"><inertial><mass value="1"/></inertial></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<dynamics damping="1" friction="2" armature="0.5"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="0.5 0 0" rpy="-1.5708 0 3.14159"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
<joint name="j3" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="0 0.7071 0.7071"/>
<mimic joint="j2" multiplier="-0.5" offset="0.1"/></joint>
<joint name="p" type="planar"><parent link="a"/><child link="cart"/><origin xyz="0 0.2 0"/>
<axis xyz="0 -0.7071 0.7071"/><limit effort="1" velocity="1"/><dynamics damping="1 1 1"/></joint>
<joint name="w" type="floating"><parent link="cart"/><child link="drone"/><origin rpy="0 1.5708 0"/></joint>
<joint name="f" type="fixed"><parent link="c"/><child link="tip"/><origin rpy="0.1 0.2 0.3"/></joint>
<transmission name="t"><joint name="j2"/><actuator name="m"><drake:rotor_inertia value="1e-4"/>
<mechanicalReduction>50</mechanicalReduction></actuator></transmission>
<ros2_control type="system"><joint name="j1"><command_interface name="effort"/>
<param name="rotor_inertia">0.5</param></joint><joint name="j2"/><joint name="w"/>
<joint name="p/x"><command_interface name="effort"/><param name="rotor_inertia">2</param></joint>
</ros2_control>
<constraint name="k" type="revolute"><parent link="base"/>
<parent_origin xyz="1 0 0"/><parent_axis xyz="0 1 0"/>
<child link="tip"/><child_origin xyz="0 0 1"/><child_axis xyz="0 1 0"/></constraint>
<loop_joint name="l" type="spherical">
<link1 link="base" xyz="1 0 0" rpy="0 0 0"/><link2 link="tip"/></loop_joint>
</robot>"""
SIDE_FILE = """\
loops:
  - name: closure
    type: universal
    parent: {link: base, xyz: [0.1, 0, 0], rpy: [0, 0, 1.57]}
    child: {link: tip}
    axis: [0, 0, 2]
    axis2: [1, 0, 0]
passive: [j2]
assembly: {j2: 1.1, j1: -0.2}
rotor_inertia: {j1: 0.4, j3: 1}
friction:
  j2: {viscous: 1, coulomb: 5, offset: -.1}
"""
PAR = """(* Robotname = 'p' *) (* Joint names: a, b, c *)
NL = 3 NJ = 4 NF = 6 Type = 2
Ant = {0,1,0,2,3,2} Sigma = {0,1,0,0,2,2} B = {0,0.1,0,0,0,0} d = {0,1,0.5,1,1,0} R = {0,r2 + 0.2,0,0,0,1}
gamma = {0,0,0.3,0,0,0} Alpha = {0,Pi/2,-1.5708,0,0,0} Theta = {t1,0,2*t1 - Pi/2,t4,0,0.1} Mu = {1,0,0,0,0,0}
XX = {1,1,1} XY = {0,0,0.1} YY = {1,1,1} ZZ = {1,1,1.5*(2 - 1)} MX = {0.1,0,0}
M = {1,2,3} IA = {0.1,0,0} FS = {1,1,1}
FX = {0,0,FX3} G = {0,-9.81,0} Z = {1,0,0,1,0,1,0,2,0,0,1,3,0,0,0,1}
"""
LIMITS = """\
joints:
  turn: {position: [-1.0, 2.0], velocity: 3.5, curve: [[0.0, 320.0], [2.0, 320.0], [3.5, 140.0]]}
  lift:
    effort: 320.0
    power: 900.0
    braking_power: none
    continuous_effort: .inf
  stretch: {position: [-.inf, 2.0]}
"""
LOG_MAP = """\
time: {column: stamp, unit: ms}
topic: /joint_states
units: {position: deg, effort: A}
delays: {effort: 0.005}
joints:
  shoulder:
    position: q1
    velocity: {column: w1, unit: rpm}
    effort: {column: i1, unit: A, gain: 0.12, topic: /drives}
    ratio: 101
    sign: -1
  elbow:
    position: {column: p2, unit: counts, counts_per_revolution: 4096, zero: 1812, side: joint}
coupling:
  - {joints: [wrist_2, wrist_3], matrix: [[1, 0], [-1, 1]]}
ignore: [gripper]
control:
  shoulder: {position: q1_ref, velocity: w1_ref, effort: ff1, kp: 900, kd: 60, limit: 150}
held: {finger: 0.02}
"""
BOXES = """\
boxes:
  - name: table
    joints:
      turn: [0.9, 1.8]
      lift: [-1.0, 0.0]
  - {name: pole, joints: {stretch: [0, .inf]}}
"""
SHORT, LONG = 30, 110
"""Samples of logs: fewer than can be used, which is told as soon as they are read, and just enough."""
_SHORT_ONES = 4
"""Short logs for each long one."""


def robots(*names: str) -> tuple[bytes, ...]:
    """Return descriptions of `config/robots`."""
    return tuple((ROBOTS / f"{name}.urdf").read_bytes() for name in names)


def parameters() -> tuple[bytes, ...]:
    """Return a file of dynamic parameters, as `dyn identify` writes it, with all that it can have."""
    robot = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    model = FrictionModel(TERMS, v0=0.01, vt=0.1, vx=0.3)
    named = zip(robot.parameter_names, robot.parameters, strict=True)
    friction = tuple(SetValue(name[:-1], 0.1, 1e-3, "1") for name in model.names(1))
    motor = (SetValue("Iam2", 0.02, 1e-3, "kg m^2"), SetValue("Fvm2", 0.3, None, "N m s/rad"))
    found = ParameterSet(
        robot.name,
        (robot.description_hash, "ab" * 32),
        kinematics_hash(robot),
        tuple(SetValue(name, value, 0.1, unit_of(name, robot)) for name, value in named),
        (SetFriction(robot.joint_names[0], model, friction),),
        {"by": 'somebody "quoted": #1', "log": "ä.mcap"},
        dyn_core.Protocol(cutoff=12.5, filter_effort=True, decimate=4),
        dict.fromkeys(robot.joint_names, 0.03),
        (SetMotor("2", dict.fromkeys(robot.joint_names, 0.5), motor),),
        {"with_friction_models": 0.05, "with_standard_friction": None},
    )
    return (parameter_text(robot, found).encode(),)


def logs(make: Callable[[int], tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """Return logs of a format, most of them short: to clean a long one takes longer than to read it."""
    return (*make(SHORT) * _SHORT_ONES, *make(LONG))


@lru_cache(maxsize=2)
def _motion(samples: int) -> Any:
    return motion(joints=2, duration=samples / 100.0, rate=100.0)


def _files(*writers: Any) -> tuple[bytes, ...]:
    """Return what functions write to a path each."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / str(k) for k in range(len(writers))]
        for write, path in zip(writers, paths, strict=True):
            write(path)
        return tuple(path.read_bytes() for path in paths)


def csv(samples: int) -> tuple[bytes, ...]:
    """Return logs as text, with two kinds of separators."""
    m = _motion(samples)
    return _files(
        lambda path: write_csv(path, m.table, m.names, digits=6),
        lambda path: write_csv(path, m.table, m.names, ";", digits=4),
        lambda path: write_csv(path, m.table, None, " ", digits=4),
    )


def _arrays(samples: int) -> dict[str, Any]:
    m = _motion(samples)
    return {"time": m.time, "q": m.q, "qd": m.qd, "tau": m.tau, "joint_names": np.array(m.joints)}


def npy(samples: int) -> tuple[bytes, ...]:
    """Return tables with and without names of columns."""
    m = _motion(samples)
    table = np.zeros(len(m.time), dtype=[(name, float) for name in m.names])
    for name, column in zip(m.names, m.table.T, strict=True):
        table[name] = column
    made = []
    for array in (table, m.table):
        file = io.BytesIO()
        np.save(file, array)
        made.append(file.getvalue())
    return tuple(made)


def npz(samples: int) -> tuple[bytes, ...]:
    """Return an archive of arrays."""
    file = io.BytesIO()
    np.savez(file, **_arrays(samples))
    return (file.getvalue(),)


def matlab(samples: int) -> tuple[bytes, ...]:
    """Return variables, and a structure of them."""
    import scipy.io

    made = []
    arrays = _arrays(samples) | {"joint_names": np.array(_motion(samples).joints, dtype=object)}
    for contents in (arrays, {"log": arrays}, {**arrays, "text": "hello", "cell": arrays["joint_names"]}):
        file = io.BytesIO()
        scipy.io.savemat(file, contents)
        made.append(file.getvalue())
    return tuple(made)


def parquet(samples: int) -> tuple[bytes, ...]:
    """Return tables with a column for each signal, and with lists."""
    import pyarrow
    from pyarrow import parquet as files

    m = _motion(samples)
    table = dict(zip(m.names, m.table.T, strict=True))
    lists = {
        "time": m.time,
        "name": [list(m.joints)] * len(m.time),
        "position": list(m.q),
        "effort": list(m.tau),
    }
    made = []
    for contents, packing in ((table, "none"), (table, "snappy"), (lists, "none")):
        file = io.BytesIO()
        files.write_table(pyarrow.table(contents), file, compression=packing, row_group_size=25)
        made.append(file.getvalue())
    return tuple(made)


def _bags(samples: int, storage: str, packings: tuple[str, ...]) -> tuple[bytes, ...]:
    """Return bags of joint states, with a compression each."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    m, store = _motion(samples), get_typestore(Stores.ROS2_JAZZY)
    kinds = store.types
    made = []
    for packing in packings:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bag"
            writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage])
            if packing:
                writer.set_compression(CompressionMode.STORAGE, CompressionFormat[packing])
            with writer:
                topic = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
                for k, t in enumerate(m.time):
                    ns = 1_700_000_000_000_000_000 + round(1e9 * t)
                    stamp = kinds["builtin_interfaces/msg/Time"](sec=ns // 10**9, nanosec=ns % 10**9)
                    header = kinds["std_msgs/msg/Header"](stamp=stamp, frame_id="")
                    state = kinds["sensor_msgs/msg/JointState"](
                        header=header, name=list(m.joints), position=m.q[k], velocity=m.qd[k], effort=m.tau[k]
                    )
                    writer.write(topic, ns, store.serialize_cdr(state, "sensor_msgs/msg/JointState"))
            made.append(
                next(file for file in path.iterdir() if file.suffix in (".mcap", ".db3")).read_bytes()
            )
    return tuple(made)


def db3(samples: int) -> tuple[bytes, ...]:
    """Return a bag as a database."""
    return _bags(samples, "SQLITE3", ("",))


def mcap(samples: int) -> tuple[bytes, ...]:
    """Return bags with plain and with compressed chunks."""
    return _bags(samples, "MCAP", ("", "ZSTD"))
