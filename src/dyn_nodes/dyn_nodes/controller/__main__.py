# SPDX-License-Identifier: Apache-2.0
"""Start the node: `python -m dyn_nodes.controller`."""

import sys

from dyn_nodes.executables import controller

if __name__ == "__main__":
    sys.exit(controller())
