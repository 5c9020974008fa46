# SPDX-License-Identifier: Apache-2.0
"""Conversions between messages and values: joints by name, motions, parameters."""
