# SPDX-License-Identifier: Apache-2.0
"""Algorithms of rigid-body robots, over generic scalars (floats, arrays or graph nodes).

May import core, symbolic and robot. Begin with link_motion.py (velocities and accelerations), then
dynamics/newton_euler.py. Of the sub-folders loops, dynamics, base_parameters and parallel, each imports only
those before it.

These arguments mean the same everywhere; docstrings name only what differs. With n joints of the tree: `q`,
`qd`, `qdd` are their positions (rad or m), velocities and accelerations, `placements` their placements at q,
`torques` those of their actuators (N m or N). `gravity_0` is the acceleration of gravity in frame 0 (m/s^2).
`external` has the wrench that each body exerts on the environment, by body and in its frame. `mount` is the
mounting of the base, `seed` that of the random states. `freedoms` are screws in frame 0 along which a base is
free. A velocity or acceleration of `frame` is projected on the axes of `expressed_in`.
"""
