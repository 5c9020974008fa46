# SPDX-License-Identifier: Apache-2.0
"""The robot as immutable data: joints and their MDH parameters, inertias, named frames."""
