# SPDX-License-Identifier: Apache-2.0
"""Placements, Jacobians, motions of links and reactions of a model agree with Pinocchio."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from pinocchio_oracle import pin
from random_case import random_case
from random_urdf import random_urdf

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
SAMPLES = 4


class Peer:
    """Pinocchio's model of the same URDF, asked for frames."""

    def __init__(self, urdf: str, robot: dyn_core.Robot) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.model.gravity.linear = np.array(robot.gravity)
        self.data = self.model.createData()
        self.ids = [self.model.getJointId(name) for name in robot.joint_names]

    def update(self, q, qd, qdd) -> None:
        q_ = pin.neutral(self.model)
        v, a = np.zeros(self.model.nv), np.zeros(self.model.nv)
        for i, x, xd, xdd in zip(self.ids, q, qd, qdd, strict=True):
            joint = self.model.joints[i]
            q_[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            v[joint.idx_v], a[joint.idx_v] = xd, xdd
        pin.forwardKinematics(self.model, self.data, q_, v, a)
        pin.updateFramePlacements(self.model, self.data)
        pin.computeJointJacobians(self.model, self.data, q_)
        pin.rnea(self.model, self.data, q_, v, a)

    def frame(self, link: str) -> int:
        return self.model.getFrameId(link, pin.FrameType.BODY)

    def placement(self, link: str) -> np.ndarray:
        return self.data.oMf[self.frame(link)].homogeneous

    def jacobian(self, link: str) -> np.ndarray:
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pin.getFrameJacobian(self.model, self.data, self.frame(link), axes)
        return J[:, [self.model.joints[i].idx_v for i in self.ids]]

    def velocity(self, link: str) -> np.ndarray:
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.getFrameVelocity(self.model, self.data, self.frame(link), axes).vector

    def acceleration(self, link: str) -> np.ndarray:
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.getFrameClassicalAcceleration(self.model, self.data, self.frame(link), axes).vector

    def reaction(self, joint: str) -> np.ndarray:
        """Pinocchio's joint frame is that of the child link."""
        return self.data.f[self.model.getJointId(joint)].vector


@pytest.fixture(scope="module", params=[*(f"{seed}-python" for seed in range(5)), "5-c"])
def case(request: pytest.FixtureRequest):
    seed, backend = request.param.split("-")
    joints = 3 + int(seed) * 2
    urdf = random_urdf(int(seed), joints, massless_leaves=True)
    robot = dyn_core.load_robot(urdf, gravity=(3.0, -4.0, 7.0), snap=0)
    model = dyn_core.compile_model(robot, backend=backend, friction=False, rotor_inertia=False)
    states = np.random.default_rng(int(seed)).uniform(-2.0, 2.0, (3, SAMPLES, robot.dof))
    return model, Peer(urdf, robot), states


def close(got, expected) -> None:
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-10 * scale)


def test_every_link_and_joint(case) -> None:
    model, peer, (q, qd, qdd) = case
    links = model.robot.link_names[:: max(1, len(model.robot.link_names) // 3)]
    batches = {
        link: (
            model.forward_kinematics(q, link),
            model.jacobian(q, link),
            model.link_velocity(q, qd, link),
            model.link_acceleration(q, qd, qdd, link),
            model.jacobian_dot_qd(q, qd, link),
        )
        for link in links
    }
    joints = model.joint_names[:: max(1, len(model.joint_names) // 3)]
    reactions = {joint: model.reaction_wrench(q, qd, qdd, joint) for joint in joints}
    for k in range(SAMPLES):
        peer.update(q[k], qd[k], qdd[k])
        for link, (T, J, v, a, bias) in batches.items():
            close(T[k], peer.placement(link))
            close(J[k], peer.jacobian(link))
            close(v[k], peer.velocity(link))
            close(a[k], peer.acceleration(link))
            close(bias[k] + J[k] @ qdd[k], peer.acceleration(link))
            np.testing.assert_allclose(model.forward_kinematics(q[k], link), T[k], atol=1e-13)
        for joint, f in reactions.items():
            close(f[k], peer.reaction(joint))


def test_any_frame_in_any_other(case) -> None:
    model, _, (q, qd, qdd) = case
    a, b = model.robot.link_names[-1], model.robot.link_names[len(model.robot.link_names) // 2]
    T = model.forward_kinematics(q, a)
    T_b = model.forward_kinematics(q, b)
    close(T_b @ model.forward_kinematics(q, a, reference=b), T)
    R = np.zeros((SAMPLES, 6, 6))
    R[:, :3, :3] = R[:, 3:, 3:] = T_b[:, :3, :3]
    for function, args in (
        (model.link_velocity, (q, qd)),
        (model.link_acceleration, (q, qd, qdd)),
        (model.jacobian_dot_qd, (q, qd)),
    ):
        close((R @ function(*args, a, expressed_in=b)[..., None])[..., 0], function(*args, a))
    close(R @ model.jacobian(q, a, expressed_in=b), model.jacobian(q, a))


def test_reaction_with_wrenches_and_with_parameters_that_change() -> None:
    case = random_case(3, 6)
    axes = {
        joint.get("name"): np.array(joint.find("axis").get("xyz").split(), dtype=float)
        for joint in ElementTree.fromstring(random_urdf(3, 6, massless_leaves=True)).iter("joint")
        if joint.get("type") != "fixed"
    }
    baked = dyn_core.compile_model(case.robot, backend="python", friction=False, rotor_inertia=False)
    tuned = dyn_core.compile_model(
        case.robot.with_parameters([0.0] * len(case.robot.parameters)),
        "runtime",
        friction=False,
        rotor_inertia=False,
    )
    tuned.reaction_wrench(case.q, case.qd, case.qdd, case.robot.joint_names[0])
    tuned.set_parameters(baked.parameters)
    torques = baked.inverse_dynamics(case.q, case.qd, case.qdd, wrenches=case.wrenches)
    for k, joint in enumerate(case.robot.joints):
        args = (case.q, case.qd, case.qdd, joint.name, case.wrenches)
        wrench = baked.reaction_wrench(*args)
        close(tuned.reaction_wrench(*args), wrench)
        part = wrench[3:] if joint.effort_unit == "N m" else wrench[:3]
        axis = axes[joint.name] / np.linalg.norm(axes[joint.name])
        assert part @ axis == pytest.approx(torques[k], rel=1e-9, abs=1e-9)


def test_links_named_in_advance_are_compiled_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    tip = robot.link_names[-1]
    model = dyn_core.compile_model(robot, links=[tip])
    monkeypatch.setattr("dyn_core.model.fixed_base.link_functions.runnables", None)
    q = np.zeros(3)
    assert model.forward_kinematics(q, tip).shape == (4, 4)
    assert model.jacobian(q, tip).shape == (6, 3)
    for function in (model.link_velocity, model.jacobian_dot_qd):
        assert function(q, q, tip).shape == (6,)
    assert model.link_acceleration(q, q, q, tip).shape == (6,)
    with pytest.raises(dyn_core.DynError, match="robot 'rrp' has no link 'nose'"):
        dyn_core.compile_model(robot, links=["nose"])


@pytest.mark.parametrize("function", ["forward_kinematics", "jacobian"])
def test_wrong_arguments(function: str) -> None:
    model = dyn_core.compile_model(dyn_core.load_robot(ROBOTS / "rrp.urdf"), backend="python")
    call = getattr(model, function)
    tip = model.robot.link_names[-1]
    with pytest.raises(dyn_core.DynError, match="has no link 'nose': its links are"):
        call(np.zeros(3), "nose")
    with pytest.raises(dyn_core.DynError, match="has no link 'nose': its links are"):
        call(np.zeros(3), tip, "nose")
    with pytest.raises(ValueError, match=r"^q: expected the shape \(3,\)"):
        call(np.zeros(4), tip)
    with pytest.raises(ValueError, match=r"^out: expected the shape"):
        call(np.zeros(3), tip, out=np.zeros(3))
    with pytest.raises(dyn_core.DynError, match="has no joint 'knee': its joints are"):
        model.reaction_wrench(np.zeros(3), np.zeros(3), np.zeros(3), "knee")
    assert np.isnan(call(np.full(3, np.nan), tip)).all()
