# SPDX-License-Identifier: Apache-2.0
"""A robot that is not there: motions that efforts give, with friction at rest, stops and sensors."""
