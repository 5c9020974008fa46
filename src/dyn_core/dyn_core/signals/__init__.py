# SPDX-License-Identifier: Apache-2.0
"""Signals of logs made ready for identification: evenly sampled, filtered, differentiated, decimated."""
