# SPDX-License-Identifier: Apache-2.0
"""The sentences of all messages, by code: data alone, a module for each subject.

Imports nothing. Begin with `shared.py`; `core/messages.py` reads them.
"""
