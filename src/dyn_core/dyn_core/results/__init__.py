# SPDX-License-Identifier: Apache-2.0
"""What comes of a log: a file of parameters, an identified URDF, a report, data for machines, predictions."""
