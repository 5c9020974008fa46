# SPDX-License-Identifier: Apache-2.0
"""Base (minimum) inertial parameters of trees and of robots with loops (SYMORO+ 2003).

May import `link_motion`, `loops` and `dynamics`. Begin with determination.py.
"""
