# SPDX-License-Identifier: Apache-2.0
"""Text to data: safe XML, and the URDF in its own terms."""
