# SPDX-License-Identifier: Apache-2.0
"""Models of robots with a moving base."""
