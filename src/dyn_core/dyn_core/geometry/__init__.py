# SPDX-License-Identifier: Apache-2.0
"""From URDF placements to MDH frames, and the transforms of the joints."""
