# SPDX-License-Identifier: Apache-2.0
"""Integration methods, their equations of motion, and the events of friction and stops."""
