# SPDX-License-Identifier: Apache-2.0
"""Robot dynamics from a URDF, in modified Denavit-Hartenberg notation.

The public names are those of `__init__.pyi`. Each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
