# SPDX-License-Identifier: Apache-2.0
"""The tables of SYMORO+ 2003, sec. 1.7, of robots with loops, with the lengths of config/robots."""

from __future__ import annotations

SR400 = """\
(* File sr400.par *)
(* Robotname = 'sr400' *)
NF = 10
NL = 8
NJ = 9
Type = 2 (* Closed *)
Ant = {0,1,2,3,4,5,1,7,8,3}
Sigma = {0,0,0,0,0,0,0,0,0,2}
B = {0,0,0,0,0,0,0,0,0,0}
d = {0,0.4,0.95,0.18,0,0,0.4,0.4,0.95,-0.4}
R = {0,0,0,1.05,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,Pi/2}
Alpha = {0,-Pi/2,0,-Pi/2,Pi/2,-Pi/2,-Pi/2,0,0,0}
Mu = {1,1,0,1,1,1,1,0,0,0}
Theta = {t1,t2,t3,t4,t5,t6,t7,t8,t9,0}
G = {0,0,-9.81}
Z = {1,0,0,0,0,1,0,0,0,0,1,0.85,0,0,0,1}
"""
"""Table 1.3."""

SR400_ZERO = {"joint_2": "-pi/2", "joint_7": "-pi", "joint_8": "pi/2"}
"""Variables of the table where sr400.urdf has its joints at 0; the others are 0."""

AKR3000 = """\
(* File akr3000.par *)
(* Robotname = 'akr3000' *)
NF = 14
NL = 10
NJ = 12
Type = 2 (* Closed *)
Ant = {0,1,1,1,3,4,2,7,8,9,5,6,7,2}
Sigma = {0,0,0,0,1,1,0,0,0,0,0,0,2,2}
B = {0,0,0,0,0,0,0,0,0,0,0,0,0,0}
d = {0,0,-0.58,0.42,0,0,1,0,0,0,0,0,0.3026549190084311,0.417612260356422}
R = {0,0,0,0,r5,r6,0,1.15,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,0,0,0,-1.4382447944982226,-0.29145679447786704}
Alpha = {0,Pi/2,Pi/2,Pi/2,-Pi/2,-Pi/2,0,-Pi/2,Pi/2,-Pi/2,Pi/2,Pi/2,0,0}
Mu = {1,0,0,0,1,1,0,1,1,1,0,0,0,0}
Theta = {t1,t2,t3,t4,0,0,t7,t8,t9,t10,t11,t12,0,0}
G = {0,0,-9.81}
Z = {1,0,0,0,0,1,0,0,0,0,1,0.95,0,0,0,1}
"""
"""Table 1.4; d13, g13 and d14, g14 are those of the points that akr3000.yaml names."""

AKR3000_ZERO = {"joint_2": "pi/2", "joint_7": "-pi", "joint_5": "0.88", "joint_6": "0.38"}
"""Variables of the table where akr3000.urdf has its joints at 0; the others are 0."""
