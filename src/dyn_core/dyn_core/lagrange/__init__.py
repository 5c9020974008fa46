# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form with names for parameters, lengths and positions, customised or expanded."""
