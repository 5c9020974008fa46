# SPDX-License-Identifier: Apache-2.0
"""Start the node: `python -m dyn_nodes.governor`."""

import sys

from dyn_nodes.executables import governor

if __name__ == "__main__":
    sys.exit(governor())
