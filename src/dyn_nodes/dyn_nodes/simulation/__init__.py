# SPDX-License-Identifier: Apache-2.0
"""Node `simulation`: a simulated robot."""
