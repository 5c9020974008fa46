# SPDX-License-Identifier: Apache-2.0
"""Frames in modified Denavit-Hartenberg notation, and the direct geometric model."""
