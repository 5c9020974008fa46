# SPDX-License-Identifier: Apache-2.0
"""A fingerprint of what the dynamic parameters of a robot are relative to: its joints and their frames."""

from __future__ import annotations

import hashlib

from dyn_core.robot.robot import Robot

DECIMALS = 6
"""Digits behind the point that lengths (m) and angles (rad) are compared with."""


def kinematics_hash(robot: Robot) -> str:
    """Answer the SHA-256 of joints and geometric parameters, in hexadecimal.

    Two descriptions with the same one have the same frames, so that parameters mean the same in both.
    """
    lines = []
    for joint in robot.joints:
        mdh = (joint.mdh.gamma, joint.mdh.b, joint.mdh.alpha, joint.mdh.d, joint.mdh.theta, joint.mdh.r)
        numbers = " ".join(f"{round(x, DECIMALS) + 0.0:.{DECIMALS}f}" for x in mdh)
        mimic = joint.mimic
        follows = "" if mimic is None else f" {mimic.leader} {mimic.multiplier:.6f} {mimic.offset:.6f}"
        lines.append(f"{joint.name} {joint.antecedent} {int(joint.sigma)} {numbers}{follows}")
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()
