# SPDX-License-Identifier: Apache-2.0
"""Node `feedforward`: torques of the dynamic model."""
