# SPDX-License-Identifier: Apache-2.0
"""Models of parallel robots, by the motion of the platform."""
