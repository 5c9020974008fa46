# SPDX-License-Identifier: Apache-2.0
"""Start the node: `python -m dyn_nodes.identification`."""

import sys

from dyn_nodes.executables import identification

if __name__ == "__main__":
    sys.exit(identification())
