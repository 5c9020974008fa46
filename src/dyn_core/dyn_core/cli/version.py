# SPDX-License-Identifier: Apache-2.0
"""The version of the package: that of package.xml and setup.py."""

VERSION = "0.1.0"
