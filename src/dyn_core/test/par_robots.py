# SPDX-License-Identifier: Apache-2.0
"""A .par file written by hand, and what its robots are compared by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import dyn_core

RRP = """\
(* File rrp.par *)
(* General parameters *)
(* Robotname = 'rrp' *)
NF = 3
NL = 3
NJ = 3
Type = 0 (* Simple *)
(* Geometric parameters *)
Ant = {0,1,2}
Sigma = {0,0,1}
B = {0,0,0}
d = {0,0,0}
R = {0,
     0,
     r3}
gamma = {0,0,0}
Alpha = {0,Pi/2,1.57079632679000}
Mu = {1,1,1}
Theta = {t1,t2 + Pi/2,0}
(* Dynamic parameters and external forces *)
XX = {0,0.48,1.5*(0.6*0.6)}
YY = {0.02,0,0.54}
ZZ = {0.02,0.48,0}
MX = {0.2,0,0}
MY = {0,-1.2,0}
MZ = {0,0,0.9}
M = {2,3,1.5}
FV = {0.8,0.6,12}
FS = {0.5,0.4,2}
FX = {FX1,0,FX3}
(* Joints velocity and acceleration *)
QP = {QP1,QP2,QP3}
(* Acceleration of gravity *)
G = {0,0,-9.81}
(* End of definition *)
"""


def assert_same_dynamics(
    a: dyn_core.Robot, b: dyn_core.Robot, seed: int = 0, tolerance: float = 1e-10
) -> None:
    random = np.random.default_rng(seed)
    q, qd, qdd = random.uniform(-2.0, 2.0, (3, 3, a.dof))
    models = [dyn_core.compile_model(robot, backend="python") for robot in (a, b)]
    one, other = (model.inverse_dynamics(q, qd, qdd) for model in models)
    np.testing.assert_allclose(one, other, rtol=0.0, atol=tolerance * max(np.abs(one).max(initial=0.0), 1e-3))


def assert_same_parameters(a: dyn_core.Robot, b: dyn_core.Robot) -> None:
    """All that a .par file keeps: to the last digit, but for positions, which are computed from it."""
    assert a.bodies[1:] == b.bodies[1:]
    for one, other in zip(a.joints, b.joints, strict=True):
        mdh = one.mdh if abs(one.mdh.b) < 1.0 else replace(one.mdh, b=other.mdh.b, r=other.mdh.r)
        assert replace(one, limits=other.limits, origin=other.origin, mdh=mdh) == other
        np.testing.assert_allclose(one.origin, other.origin, rtol=0.0, atol=1e-14 * 10)
    np.testing.assert_allclose(a.gravity, b.gravity, atol=1e-14)
