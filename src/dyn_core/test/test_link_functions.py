# SPDX-License-Identifier: Apache-2.0
"""Placements, Jacobians, motions of links and reactions of a model agree with Pinocchio."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from random_case import random_case
from random_urdf import random_urdf
from refusals import refused
from robots import example

import dyn_core

SAMPLES = 4
VECTORS = {"forward_kinematics": 1, "jacobian": 1, "link_velocity": 2, "link_acceleration": 3}
VECTORS["jacobian_dot_qd"] = 2
"""Number of input vectors of each function."""


@pytest.fixture(scope="module", params=[*(f"{seed}-python" for seed in range(5)), "5-c"])
def case(request: pytest.FixtureRequest):
    seed, backend = request.param.split("-")
    urdf = random_urdf(int(seed), 3 + 2 * int(seed))
    robot = dyn_core.load_robot(urdf, gravity=(3.0, -4.0, 7.0), snap=0)
    model = dyn_core.compile_model(robot, backend=backend, friction=False, rotor_inertia=False)
    states = np.random.default_rng(int(seed)).uniform(-2.0, 2.0, (3, SAMPLES, robot.dof))
    return model, Oracle(urdf, robot.joint_names, robot.gravity), states


def close(got, expected) -> None:
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max(initial=1.0))


def test_every_link_and_joint(case) -> None:
    model, oracle, (q, qd, qdd) = case
    links = model.robot.link_names[:: max(1, len(model.robot.link_names) // 3)]
    batches = {
        link: [getattr(model, name)(*(q, qd, qdd)[:n], link) for name, n in VECTORS.items()] for link in links
    }
    joints = model.joint_names[:: max(1, len(model.joint_names) // 3)]
    reactions = {joint: model.reaction_wrench(q, qd, qdd, joint) for joint in joints}
    for k in range(SAMPLES):
        for link, (T, J, v, a, bias) in batches.items():
            velocity, acceleration = oracle.link_motion(q[k], qd[k], qdd[k], link)
            R, p = oracle.link_placement(q[k], link)
            close(T[k], np.block([[R, p[:, None]], [0.0, 0.0, 0.0, 1.0]]))
            close(J[k], oracle.jacobian(q[k], link, own_axes=False))
            close(v[k], velocity)
            close(a[k], acceleration)
            close(bias[k] + J[k] @ qdd[k], acceleration)
            np.testing.assert_allclose(model.forward_kinematics(q[k], link), T[k], atol=1e-13)
        oracle.inverse_dynamics(q[k], qd[k], qdd[k], {})
        for joint, f in reactions.items():
            close(f[k], oracle.joint_wrench(joint, f"l{joint[1:]}"))


def test_any_frame_in_any_other(case) -> None:
    model, _, (q, qd, qdd) = case
    a, b = model.robot.link_names[-1], model.robot.link_names[len(model.robot.link_names) // 2]
    T, T_b = model.forward_kinematics(q, a), model.forward_kinematics(q, b)
    close(T_b @ model.forward_kinematics(q, a, reference=b), T)
    R = np.zeros((SAMPLES, 6, 6))
    R[:, :3, :3] = R[:, 3:, 3:] = T_b[:, :3, :3]
    for name in ("link_velocity", "link_acceleration", "jacobian_dot_qd"):
        function, args = getattr(model, name), (q, qd, qdd)[: VECTORS[name]]
        close((R @ function(*args, a, expressed_in=b)[..., None])[..., 0], function(*args, a))
    close(R @ model.jacobian(q, a, expressed_in=b), model.jacobian(q, a))


def test_reaction_with_wrenches_and_with_parameters_that_change() -> None:
    case = random_case(3, 6)
    axes = dict(re.findall(r'<joint name="(\w+)".*?<axis xyz="(.*?)"', random_urdf(3, 6)))
    baked = dyn_core.compile_model(case.robot, backend="python", friction=False, rotor_inertia=False)
    zero = case.robot.with_parameters([0.0] * len(case.robot.parameters))
    tuned = dyn_core.compile_model(zero, "runtime", friction=False, rotor_inertia=False)
    tuned.reaction_wrench(case.q, case.qd, case.qdd, case.robot.joint_names[0])
    tuned.set_parameters(baked.parameters)
    torques = baked.inverse_dynamics(case.q, case.qd, case.qdd, wrenches=case.wrenches)
    for joint, torque in zip(case.robot.joints, torques, strict=True):
        args = (case.q, case.qd, case.qdd, joint.name, case.wrenches)
        wrench = baked.reaction_wrench(*args)
        close(tuned.reaction_wrench(*args), wrench)
        part = wrench[3:] if joint.effort_unit == "N m" else wrench[:3]
        axis = np.array(axes[joint.name].split(), dtype=float)
        assert part @ axis / np.linalg.norm(axis) == pytest.approx(torque, rel=1e-9, abs=1e-9)


def test_functions_of_links_named_in_advance_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = example("rrp")
    tip = robot.link_names[-1]
    model = dyn_core.compile_model(robot, links=[tip])
    monkeypatch.setattr("dyn_core.model.builder.runnables", None)
    shapes = {"forward_kinematics": (4, 4), "jacobian": (6, 3)}
    for name, count in VECTORS.items():
        assert getattr(model, name)(*np.zeros((count, 3)), tip).shape == shapes.get(name, (6,))
    with refused("link-unknown", robot="rrp", link="nose"):
        dyn_core.compile_model(robot, links=["nose"])


def test_wrong_arguments_are_refused() -> None:
    model = dyn_core.compile_model(example("rrp"), backend="python")
    zeros, tip = np.zeros(3), model.robot.link_names[-1]
    for call in (model.forward_kinematics, model.jacobian):
        for arguments, options, code, values in (
            ((zeros, "nose"), {}, "link-unknown", {"link": "nose"}),
            ((zeros, tip, "nose"), {}, "link-unknown", {"link": "nose"}),
            ((np.zeros(4), tip), {}, "argument-shape", {"argument": "q"}),
            ((zeros, tip), {"out": zeros}, "argument-shape", {"argument": "out"}),
        ):
            with refused(code, **values):
                call(*arguments, **options)
        assert np.isnan(call(np.full(3, np.nan), tip)).all()
    with refused("joint-unknown", joint="knee"):
        model.reaction_wrench(zeros, zeros, zeros, "knee")
