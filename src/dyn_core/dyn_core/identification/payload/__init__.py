# SPDX-License-Identifier: Apache-2.0
"""Identification of a payload."""
