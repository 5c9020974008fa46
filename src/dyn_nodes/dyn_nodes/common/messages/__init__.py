# SPDX-License-Identifier: Apache-2.0
"""Conversions between messages and values: joints by name, stamps, motions, parameters.

It may import the files of common/, and no node. Begin with joint_reader.py.
"""
