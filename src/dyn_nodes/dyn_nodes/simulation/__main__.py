# SPDX-License-Identifier: Apache-2.0
"""Start the node: `python -m dyn_nodes.simulation`."""

import sys

from dyn_nodes.executables import simulation

if __name__ == "__main__":
    sys.exit(simulation())
