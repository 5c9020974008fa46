# SPDX-License-Identifier: Apache-2.0
"""Elastic joints as joints of Pinocchio, motors and all: its articulated-body and Newton-Euler algorithms.

Here a motor behind a spring is a joint that Pinocchio reads from a URDF, with a link without mass and an
armature, and springs are torques between joints. No matrix is solved by hand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from random_urdf import random_urdf

import dyn_core
from dyn_core.facade.elastic_programs import rigid_and_elastic
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot

AGREES = 1e-9
SEEDS = range(30)


def springs(names: tuple[str, ...], random: Random) -> dict[str, dict[str, Any]]:
    """Springs for most joints, half of them behind motors; two thirds have a rest, and damping."""
    chosen: dict[str, dict[str, Any]] = {}
    for name in names:
        if random.random() < 0.65 or (name == names[-1] and not chosen):
            spring: dict[str, Any] = {"stiffness": 10.0 ** random.uniform(1.0, 6.0)}
            if random.random() < 0.7:
                spring["rest"] = random.uniform(-0.5, 0.5)
            if random.random() < 0.7:
                spring["damping"] = 10.0 ** random.uniform(-1.0, 3.0)
            if random.random() < 0.5:
                gear = random.choice((1.0, -20.0, 50.0))
                spring["motor"] = {"inertia": random.uniform(0.1, 1.0) / gear**2, "gear": gear}
            chosen[name] = spring
    return chosen


def with_motors(urdf: str, chosen: Mapping[str, Mapping[str, Any]]) -> str:
    """Answer the URDF with a joint and a link for each motor, beside the joint that it moves."""
    more = []
    for joint in re.findall(r"<joint .*?</joint>", urdf, re.DOTALL):
        name = re.search(r'name="(\w+)"', joint)[1]
        if "motor" in chosen.get(name, {}):
            joint = joint.replace(f'name="{name}"', f'name="{name}_motor"')
            child = re.search(r'<child link="(\w+)"', joint)[1]
            more.append(joint.replace(f'<child link="{child}"', f'<child link="{name}_motor_link"'))
            more.append(f'<link name="{name}_motor_link"/>')
    return urdf.replace("</robot>", "\n".join([*more, "</robot>"]))


def case(seed: int) -> tuple[Robot, Oracle, dict[str, dict[str, Any]]]:
    """A random tree with springs, rotors in rigid joints, and gravity in any direction."""
    random = Random(1000 + seed)
    urdf = random_urdf(seed, 3 + seed % 8, massless_leaves=False, chain=seed % 5 == 0)
    gravity = tuple(random.uniform(-10.0, 10.0) for _ in range(3))
    names = dyn_core.load_robot(urdf, snap=0).joint_names
    chosen = springs(names, random)
    rotors = {name: random.uniform(0.0, 0.5) for name in names if name not in chosen}
    side = {"elastic": chosen, "rotor_inertia": rotors}
    robot = dyn_core.load_robot(urdf, loops=side, snap=0, gravity=gravity)
    return robot, Oracle(with_motors(urdf, chosen), robot.joint_names, gravity), chosen


def spring_torques(
    robot: Robot, chosen: Mapping[str, Mapping[str, Any]], q: np.ndarray, qd: np.ndarray
) -> np.ndarray:
    """What springs do to the joints, with the sign of an actuator's torque."""
    place = {name: k for k, name in enumerate(robot.joint_names)}
    torques = np.zeros(robot.dof)
    for name, spring in chosen.items():
        j, motor = place[name], place.get(f"{name}_motor")
        stretch = q[j] - spring.get("rest", 0.0) - (0.0 if motor is None else q[motor])
        rate = qd[j] - (0.0 if motor is None else qd[motor])
        pull = spring["stiffness"] * stretch + spring.get("damping", 0.0) * rate
        torques[j] -= pull
        if motor is not None:
            torques[motor] += pull
    return torques


def assert_close(got: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(got - expected).max() <= AGREES * np.abs(expected).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_direct_and_inverse_dynamics(seed: int) -> None:
    robot, oracle, chosen = case(seed)
    parameters = "runtime" if seed % 3 == 0 else "baked"
    model = dyn_core.compile_model(robot, parameters, "python", friction=seed % 2 == 0)
    rigid, elastic = rigid_and_elastic(robot)
    Ia = np.array([joint.Ia for joint in robot.joints])
    links = [name for name in robot.link_names if not name.endswith("_motor_link")]
    numbers = np.random.default_rng(seed)
    for _ in range(4):
        q, qd = numbers.uniform(-1.5, 1.5, (2, robot.dof))
        tau = np.where(np.isin(np.arange(robot.dof), rigid), numbers.uniform(-30.0, 30.0, robot.dof), 0.0)
        wrenches = {link: numbers.uniform(-20.0, 20.0, 6) for link in numbers.choice(links, 2)}
        pulled = spring_torques(robot, chosen, q, qd)
        qdd = oracle.direct_dynamics(q, qd, tau + pulled, wrenches, Ia)
        assert_close(model.forward_dynamics(q, qd, tau, wrenches), qdd)
        # The way back: torques of the rigid joints, and accelerations of the elastic ones.
        found = model.elastic_inverse_dynamics(q, qd, qdd[rigid], wrenches)
        accelerations = found[len(rigid) :]
        assert_close(accelerations, qdd[elastic])
        full = qdd.copy()
        full[elastic] = accelerations
        needed = oracle.inverse_dynamics(q, qd, full, wrenches) + Ia * full - pulled
        scale = np.abs(pulled).max() + np.abs(tau).max() + np.abs(Ia * full).max()
        np.testing.assert_allclose(found[: len(rigid)], needed[rigid], rtol=0.0, atol=AGREES * scale)
        np.testing.assert_allclose(found[: len(rigid)], tau[rigid], rtol=0.0, atol=AGREES * scale)
        np.testing.assert_allclose(needed[elastic], 0.0, rtol=0.0, atol=AGREES * scale)


def features(robot: Robot) -> Iterator[str]:
    """What there is in a robot."""
    for joint in robot.joints:
        yield from of_joint(joint, robot)
    carriers = [joint.antecedent for joint in robot.joints if not joint.name.endswith("_motor")]
    if len(set(carriers)) < len(carriers):
        yield "branches"
    kinds = {bool(joint.elastic.motor) for joint in robot.joints if joint.elastic}
    if len(kinds) == 2:
        yield "both kinds"


def of_joint(joint: Joint, robot: Robot) -> Iterator[str]:
    spring = joint.elastic
    if spring is None:
        if joint.Ia and not joint.name.endswith("_motor"):
            yield "a rotor in a rigid joint"
        return
    kind = f"{'series' if spring.motor else 'lumped'} {joint.sigma.name.lower()}"
    yield kind
    yield f"{kind}, damped" if spring.damping else f"{kind}, undamped"
    yield f"{kind}, with a rest" if spring.rest else f"{kind}, resting at 0"
    if spring.motor and robot.joints[joint.antecedent - 1].elastic is not None and joint.antecedent:
        yield f"{kind}, on an elastic joint"


def test_the_robots_have_it_all() -> None:
    counted = Counter(feature for seed in SEEDS for feature in set(features(case(seed)[0])))
    wanted = {"branches", "both kinds", "a rotor in a rigid joint"}
    for kind in ("series", "lumped"):
        for sigma in Sigma:
            of = f"{kind} {sigma.name.lower()}"
            wanted |= {of, f"{of}, damped", f"{of}, undamped", f"{of}, with a rest", f"{of}, resting at 0"}
    wanted |= {f"series {sigma.name.lower()}, on an elastic joint" for sigma in Sigma}
    assert {feature for feature in wanted if counted[feature] < 2} == set()
