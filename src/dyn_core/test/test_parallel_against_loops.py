# SPDX-License-Identifier: Apache-2.0
"""Closed forms for platforms on legs against the general method for closed loops."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from depth import some
from parallel_cases import case
from refusals import refusal, refused

import dyn_core


def compiled(robot: dyn_core.Robot) -> tuple[dyn_core.Model, dyn_core.ParallelModel]:
    """Models by the general method and by the closed form."""
    general = dyn_core.compile_model(robot, backend="python")
    return general, dyn_core.compile_parallel(robot, "platform", backend="python")


def states(general: dyn_core.Model, count: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Actuated positions near the assembly, velocities, accelerations."""
    random, assembly = np.random.default_rng(11), dict(general.robot.assembly)
    middle = np.array([assembly.get(joint, 0.0) for joint in general.joint_names])
    spread = [0.02 if joint.position_unit == "m" else 0.1 for joint in general.robot.independent_joints]
    n = len(middle)
    return [
        (middle + spread * random.uniform(-1.0, 1.0, n), 0.3 * random.normal(size=n), random.normal(size=n))
        for _ in range(count)
    ]


def agree(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() <= 1e-9 * max(1.0, float(np.abs(expected).max()))


def check_dynamics(general: dyn_core.Model, closed_form: dyn_core.ParallelModel, q, qd, qdd) -> None:
    T = general.forward_kinematics(q, "platform")
    V = general.link_velocity(q, qd, "platform")
    Vd = general.link_acceleration(q, qd, qdd, "platform")
    for found, expected in zip(closed_form.inverse_kinematics(T, V, Vd), (q, qd, qdd), strict=True):
        agree(found, expected)
    tau = general.inverse_dynamics(q, qd, qdd)
    assert np.abs(tau).max() > 1.0
    agree(closed_form.inverse_dynamics(T, V, Vd), tau)
    agree(closed_form.forward_dynamics(T, V, tau), Vd)
    agree(general.forward_dynamics(q, qd, tau), qdd)
    agree(general.bias_torques(q, qd) + general.inertia_matrix(q) @ qdd, tau)
    J = closed_form.jacobian(T)
    agree(J @ qd, V)
    along = np.linalg.lstsq(closed_form.mobility, J, rcond=None)[0]
    agree(along.T @ closed_form.inertia_matrix(T) @ along, general.inertia_matrix(q))


@pytest.mark.parametrize("name", some(["gough_stewart", "delta", "six_legs"], "gough_stewart", "delta"))
def test_the_general_method_and_the_closed_form_agree(name: str) -> None:
    """The planar robot of other tests is singular in its assembly, where the general method starts."""
    general, closed_form = compiled(case(name).load())
    assert general.joint_names == closed_form.joint_names
    for state in states(general, 4):
        check_dynamics(general, closed_form, *state)


# Platforms on a planar joint of the URDF; the general method uses a floating joint as well.
ARM, FOREARM = 0.45, 0.4
AT = (0.03, 0.02, 0.1)  # Pose of the carriage in the assembly (m, m, rad)
OWN = {"planar": ("x", "y", "theta"), "floating": ("trans_x", "trans_y", "trans_z", "yaw", "pitch", "roll")}


def _link(name: str, k: int) -> str:
    m = [0.02 + 0.003 * math.sin(3 * k + i) for i in range(6)]
    text = f'<link name="{name}"><inertial><origin xyz="{0.1 * math.sin(k)} {0.05 * math.cos(k)} 0.03"/>'
    text += f'<mass value="{1 + 0.3 * k}"/><inertia ixx="{m[0]}" iyy="{m[1]}" izz="{m[2]}" '
    return f'{text}ixy="{0.1 * m[3]}" ixz="{0.1 * m[4]}" iyz="{0.1 * m[5]}"/></inertial></link>'


def _joint(name: str, kind: str, parent: str, child: str, xyz=(0, 0, 0), rpy="0 0 0", axis="0 0 1") -> str:
    x = " ".join(repr(float(value)) for value in xyz)
    about = "" if kind in ("fixed", "floating") else f'<axis xyz="{axis}"/>'
    if kind in ("revolute", "prismatic"):
        about += '<limit lower="-3" upper="3" effort="9" velocity="9"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{x}" rpy="{rpy}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{about}</joint>'


def robot(kind: str, cut: str = "revolute") -> dyn_core.Robot:
    """Three legs of two revolute joints in an inclined plane; the platform is off the axis of its joint."""
    text = '<robot name="three"><link name="base"/><link name="plane"/><link name="carriage"/>'
    text += _joint("tilt", "fixed", "base", "plane", (0.1, -0.2, 0.3), "0.4 -0.3 0.2")
    text += _joint("own", kind, "plane", "carriage") + _link("platform", 7)
    text += _joint("mount", "fixed", "carriage", "platform", (0.05, -0.1, 0.02), "0.1 0.2 0.3")
    where = dict(zip(("x", "y", "theta", "trans_x", "trans_y", "yaw"), AT * 2, strict=True))
    assembly = {f"own/{part}": where.get(part, 0.0) for part in OWN[kind]}
    passive, loops = list(assembly), []
    for i, turn in enumerate((0.0, math.tau / 3, math.tau * 2 / 3)):
        B, P = (np.array([r * math.cos(turn), r * math.sin(turn)]) for r in (0.7, 0.2))
        c, s = math.cos(AT[2]), math.sin(AT[2])
        tx, ty = np.array(AT[:2]) + np.array([[c, -s], [s, c]]) @ P - B
        bend = math.acos((tx * tx + ty * ty - ARM**2 - FOREARM**2) / (2 * ARM * FOREARM))
        start = math.atan2(ty, tx) - math.atan2(FOREARM * math.sin(bend), ARM + FOREARM * math.cos(bend))
        text += _link(f"arm{i}", 2 * i) + _link(f"forearm{i}", 2 * i + 1)
        text += _joint(f"shoulder{i}", "revolute", "plane", f"arm{i}", (*B, 0), f"0 0 {start}")
        text += _joint(f"elbow{i}", "revolute", f"arm{i}", f"forearm{i}", (ARM, 0, 0))
        passive.append(f"elbow{i}")
        assembly |= {f"shoulder{i}": 0.0, f"elbow{i}": bend}
        ends = {"parent": {"link": f"forearm{i}", "xyz": [FOREARM, 0, 0]}}
        ends["child"] = {"link": "carriage", "xyz": [*P.tolist(), 0]}
        loops.append({"name": f"leg{i}", "type": cut, **ends})
    side = {"loops": loops, "passive": passive, "assembly": assembly}
    return dyn_core.load_robot(text + "</robot>", loops=side, gravity=(1.3, -2.4, -9.1))


@cache
def platform(kind: str, **options: bool) -> dyn_core.ParallelModel:
    return dyn_core.compile_parallel(robot(kind), "platform", backend="python", **options)


@pytest.mark.parametrize("cut", ["revolute", "spherical"])
def test_dynamics_on_a_planar_joint_agree(cut: str) -> None:
    """The planar joint keeps the platform in its plane where spherical cut joints would not."""
    general, ours = compiled(robot("planar", cut))
    assert general.joint_names == ours.joint_names == ("shoulder0", "shoulder1", "shoulder2")
    random = np.random.default_rng(3)
    for _ in range(4):
        check_dynamics(general, ours, *(np.array([[0.15], [1.0], [2.0]]) * random.uniform(-1.0, 1.0, (3, 3))))


def test_a_floating_joint_and_grouped_parameters_give_the_same_dynamics() -> None:
    planar, floating = platform("planar"), platform("floating")
    grouped = platform("planar", base_parameters=True, rotor_inertia=False)
    assert planar.mobility.shape == (6, 3)
    np.testing.assert_allclose(planar.mobility, floating.mobility, rtol=0, atol=1e-9)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = planar.structure.T_home
    V, Vd = np.random.default_rng(1).normal(size=(2, 3)) @ planar.mobility.T
    for other in (floating, grouped):
        agree(other.inverse_dynamics(T, V, Vd), planar.inverse_dynamics(T, V, Vd))
    normal = np.cross(planar.mobility[:3, 0], planar.mobility[:3, 1])
    with refused("platform-motion-impossible", argument="V", platform="platform", freedom=3):
        planar.inverse_dynamics(T, np.concatenate((normal, np.zeros(3))), Vd)
    T[:3, 3] += 0.01 * normal
    assert refusal(planar.inertia_matrix, T) == "platform-placement-impossible: T, 3, platform"


def test_platform_joints_with_rotating_directions_are_refused() -> None:
    """A prismatic joint on a passive revolute joint, which is not a planar joint."""
    text = '<robot name="turning"><link name="base"/><link name="hub"/>' + _link("platform", 0)
    text += _joint("turn", "revolute", "base", "hub") + _link("arm", 1) + _link("rod", 2)
    text += _joint("slide", "prismatic", "hub", "platform", axis="1 0 0")
    text += _joint("shoulder", "revolute", "base", "arm", (1, 0, 0))
    text += _joint("elbow", "revolute", "arm", "rod", (0, 1, 0)) + "</robot>"
    loop = {"name": "end", "type": "revolute", "parent": {"link": "rod", "xyz": [-1, 0, 0]}}
    loop["child"] = {"link": "platform", "xyz": [0, 1, 0]}
    turning = dyn_core.load_robot(text, loops={"loops": [loop], "passive": ["turn", "slide"]})
    with refused("platform-joint-turns", platform="platform", joint="turn"):
        dyn_core.compile_parallel(turning, "platform", backend="python")
