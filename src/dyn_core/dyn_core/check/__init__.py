# SPDX-License-Identifier: Apache-2.0
"""What is suspicious about a robot: one file for each family of checks."""
