# SPDX-License-Identifier: Apache-2.0
"""Control laws and their torques."""
