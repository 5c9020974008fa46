# SPDX-License-Identifier: Apache-2.0
"""The robot as immutable data, and its files: URDF, side file and SYMORO+ .par."""
