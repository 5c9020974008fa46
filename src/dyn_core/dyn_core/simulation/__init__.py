# SPDX-License-Identifier: Apache-2.0
"""Simulation of robots with dry friction, stops, loops, moving bases and sensors.

May import `model` and the folders below it. Begin with `simulator.py`.
"""
