# SPDX-License-Identifier: Apache-2.0
"""ament_python package; the launch and config directories of the workspace are installed with it."""

import sys
from pathlib import Path

from setuptools import find_packages, setup

NAME = "dyn_nodes"
WORKSPACE = Path("..", "..")


def installed(directory: str, pattern: str) -> tuple[str, list[str]]:
    """The files of a directory of the workspace and the share directory where they go."""
    files = sorted(str(path) for path in (WORKSPACE / directory).glob(pattern))
    if not files:
        raise SystemExit(f"no {pattern} in '{directory}' at the top of the workspace")
    return f"share/{NAME}/{directory}", files


setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={NAME: ["py.typed", "demonstration/*.xml", "demonstration/*.html"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        installed("launch", "*.launch.py"),
        installed("config", "*.yaml"),
        installed("config/robots", "*"),
        installed("config/ros2_control", "*"),
        installed("config/profiles", "*.yaml"),
    ],
    install_requires=["setuptools"],
    # By this colcon knows that the tests are for pytest.
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    # A #! line cannot hold a path with a space: such an interpreter is looked up on the PATH instead.
    options={"build_scripts": {"executable": "/usr/bin/env python3"}} if " " in sys.executable else {},
    maintainer="dyn maintainers",
    maintainer_email="maintainers@dyn-suite.org",
    description="ROS 2 nodes that publish the joint torques of a robot's dynamic model.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "feedforward = dyn_nodes.executables:feedforward",
            "simulation = dyn_nodes.executables:simulation",
            "controller = dyn_nodes.executables:controller",
            "governor = dyn_nodes.executables:governor",
            "identification = dyn_nodes.executables:identification",
            "compose = dyn_nodes.executables:compose",
            "demo = dyn_nodes.executables:demo",
        ]
    },
)
