# SPDX-License-Identifier: Apache-2.0
"""Check motions against actuator limits: steps, trajectories, sizes of motors.

May import `report`, `control` and what is below them. Begin with `assessment.py`.
"""
