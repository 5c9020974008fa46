# SPDX-License-Identifier: Apache-2.0
"""Parallel robots: a platform that legs connect to the base (Khalil 2010, sec. 5; Khalil-Guegan 2004).

May import all other sub-folders of algorithms. Begin with parallel_robot.py and platform_dynamics.py.
"""
