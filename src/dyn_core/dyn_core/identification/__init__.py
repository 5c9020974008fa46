# SPDX-License-Identifier: Apache-2.0
"""Identification of dynamic parameters and payloads from signals.

May import all rooms up to logs. Sub-folders from the bottom: regressor, friction, estimators; then
diagnosis, online and output; then fixed_joints.py and payload. Begin in pipeline.py.
"""
