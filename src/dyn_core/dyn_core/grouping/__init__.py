# SPDX-License-Identifier: Apache-2.0
"""Which inertial parameters group, and robots with grouped parameters (SYMORO+ 2003, sec. 3.5.2, 4.2.3)."""
