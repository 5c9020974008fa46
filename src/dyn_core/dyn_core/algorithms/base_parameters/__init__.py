# SPDX-License-Identifier: Apache-2.0
"""Base (minimum) inertial parameters of trees and of robots with loops (SYMORO+ 2003)."""
