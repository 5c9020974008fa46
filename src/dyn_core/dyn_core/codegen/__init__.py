# SPDX-License-Identifier: Apache-2.0
"""Programs traced for one robot, printed as source code, compiled, and loaded."""
