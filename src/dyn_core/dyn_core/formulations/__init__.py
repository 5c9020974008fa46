# SPDX-License-Identifier: Apache-2.0
"""Formulations of dynamics that the literature compares, implemented as in their papers."""
