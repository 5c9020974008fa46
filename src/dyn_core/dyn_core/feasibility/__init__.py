# SPDX-License-Identifier: Apache-2.0
"""What motion the actuators of a robot can give: steps, trajectories, sizes of motors."""
