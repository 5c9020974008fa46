# SPDX-License-Identifier: Apache-2.0
"""Logs of robots: from files and bags to positions and efforts of joints, with what was found and done."""
