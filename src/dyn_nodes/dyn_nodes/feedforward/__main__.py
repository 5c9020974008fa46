# SPDX-License-Identifier: Apache-2.0
"""Start the node: `python -m dyn_nodes.feedforward`."""

import sys

from dyn_nodes.executables import feedforward

if __name__ == "__main__":
    sys.exit(feedforward())
