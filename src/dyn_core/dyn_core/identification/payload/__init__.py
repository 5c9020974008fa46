# SPDX-License-Identifier: Apache-2.0
"""Identification of a payload.

May import all other folders of identification except online, and fixed_joints. Begin in
payload_identification.py.
"""
