# SPDX-License-Identifier: Apache-2.0
"""What stands between a model and a robot: references, laws, limits, transitions. No threads, no clock."""
