# SPDX-License-Identifier: Apache-2.0
"""A .par file written by hand, and comparisons of its robots."""

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
    q, qd, qdd = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, 3, a.dof))
    models = [dyn_core.compile_model(robot, backend="python") for robot in (a, b)]
    one, other = (model.inverse_dynamics(q, qd, qdd) for model in models)
    np.testing.assert_allclose(one, other, rtol=0.0, atol=tolerance * max(np.abs(one).max(initial=0.0), 1e-3))


def assert_same_parameters(a: dyn_core.Robot, b: dyn_core.Robot) -> None:
    """Compare all that a .par file keeps, to the last digit; positions, which are computed, to rounding."""
    assert a.bodies[1:] == b.bodies[1:]
    for one, other in zip(a.joints, b.joints, strict=True):
        mdh = one.mdh if abs(one.mdh.b) < 1.0 else replace(one.mdh, b=other.mdh.b, r=other.mdh.r)
        assert replace(one, limits=other.limits, origin=other.origin, mdh=mdh) == other
        np.testing.assert_allclose(one.origin, other.origin, rtol=0.0, atol=1e-14 * 10)
    np.testing.assert_allclose(a.gravity, b.gravity, atol=1e-14)


# Tables of SYMORO+ 2003, sec. 1.7, for robots with loops, with the lengths of config/robots.
SR400 = """(* Robotname = 'sr400' *) NF = 10 NL = 8 NJ = 9 Type = 2 (* Closed *)
Ant = {0,1,2,3,4,5,1,7,8,3}
Sigma = {0,0,0,0,0,0,0,0,0,2} B = {0,0,0,0,0,0,0,0,0,0}
d = {0,0.4,0.95,0.18,0,0,0.4,0.4,0.95,-0.4} R = {0,0,0,1.05,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,Pi/2}
Alpha = {0,-Pi/2,0,-Pi/2,Pi/2,-Pi/2,-Pi/2,0,0,0}
Mu = {1,1,0,1,1,1,1,0,0,0}
Theta = {t1,t2,t3,t4,t5,t6,t7,t8,t9,0}
G = {0,0,-9.81} Z = {1,0,0,0,0,1,0,0,0,0,1,0.85,0,0,0,1}
"""
"""Table 1.3."""

SR400_ZERO = {"joint_2": "-pi/2", "joint_7": "-pi", "joint_8": "pi/2"}
"""Variables of the table where sr400.urdf has its joints at 0; the others are 0."""

AKR3000 = """(* Robotname = 'akr3000' *) NF = 14 NL = 10 NJ = 12 Type = 2 (* Closed *)
Ant = {0,1,1,1,3,4,2,7,8,9,5,6,7,2}
Sigma = {0,0,0,0,1,1,0,0,0,0,0,0,2,2} B = {0,0,0,0,0,0,0,0,0,0,0,0,0,0}
d = {0,0,-0.58,0.42,0,0,1,0,0,0,0,0,0.3026549190084311,0.417612260356422}
R = {0,0,0,0,r5,r6,0,1.15,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,0,0,0,-1.4382447944982226,-0.29145679447786704}
Alpha = {0,Pi/2,Pi/2,Pi/2,-Pi/2,-Pi/2,0,-Pi/2,Pi/2,-Pi/2,Pi/2,Pi/2,0,0}
Mu = {1,0,0,0,1,1,0,1,1,1,0,0,0,0}
Theta = {t1,t2,t3,t4,0,0,t7,t8,t9,t10,t11,t12,0,0}
G = {0,0,-9.81} Z = {1,0,0,0,0,1,0,0,0,0,1,0.95,0,0,0,1}
"""
"""Table 1.4; d13, g13 and d14, g14 are those of the points that akr3000.yaml names."""

AKR3000_ZERO = {"joint_2": "pi/2", "joint_7": "-pi", "joint_5": "0.88", "joint_6": "0.38"}
"""Variables of the table where akr3000.urdf has its joints at 0; the others are 0."""
