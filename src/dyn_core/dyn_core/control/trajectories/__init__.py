# SPDX-License-Identifier: Apache-2.0
"""Trajectories of joints: points, polynomials, planning, Fourier motions.

May import the folders below `control`. Begin with `trajectory.py`.
"""
