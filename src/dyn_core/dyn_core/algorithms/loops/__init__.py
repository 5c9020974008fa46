# SPDX-License-Identifier: Apache-2.0
"""Closed loops: cut joints as constraints on the joints of the tree, and passive joints."""
