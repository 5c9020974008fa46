# SPDX-License-Identifier: Apache-2.0
"""Start the node: `python -m dyn_nodes.feedforward`."""

import sys

from dyn_nodes.feedforward.node import main

if __name__ == "__main__":
    sys.exit(main())
