# SPDX-License-Identifier: Apache-2.0
"""Node `identification`: excitation, recording, and estimation of dynamic parameters."""
