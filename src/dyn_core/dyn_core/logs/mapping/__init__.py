# SPDX-License-Identifier: Apache-2.0
"""Mapping of columns to quantities of joints, and from the drive side to the joint side."""
