# SPDX-License-Identifier: Apache-2.0
"""Models of robots with a fixed base, with loops, mimic and elastic joints."""
