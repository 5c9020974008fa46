# SPDX-License-Identifier: Apache-2.0
"""Emitters: one file for each language that a program can be written in."""
