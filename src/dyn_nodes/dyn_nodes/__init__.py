# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes around dyn_core: parameters, topics, conversions, safety; no mathematics here."""
