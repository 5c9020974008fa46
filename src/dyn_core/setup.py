# SPDX-License-Identifier: Apache-2.0
"""Build and install dyn_core (ament_python)."""

import shutil
import sys
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "dyn_core"

if {"bdist_wheel", "install"} & set(sys.argv):
    # `pip install` would also install modules that an earlier build has left here. pip before 23.1 calls
    # `install` where there is no wheel package; colcon builds elsewhere.
    shutil.rmtree(Path(__file__).with_name("build"), ignore_errors=True)

setup(
    name=PACKAGE,
    version="0.1.0",
    description="Robot dynamics from a URDF, in modified Denavit-Hartenberg notation",
    maintainer="dyn maintainers",
    maintainer_email="maintainers@dyn-suite.org",
    license="Apache-2.0",
    packages=find_packages(exclude=["test", "test.*"]),
    py_modules=["dyn_command"],
    package_data={
        PACKAGE: [
            "py.typed",
            "__init__.pyi",
            "codegen/c/*.h",
            "report/*.css",
            "report/*.html",
            "feasibility/*.html",
            "identification/output/*.html",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    python_requires=">=3.10",
    install_requires=[
        "setuptools",
        "argcomplete",
        "jinja2",
        "lazy_loader",
        "numpy",
        "pyyaml",
        "rich",
        "scipy",
        "urdf-parser-py",
    ],
    # By this colcon knows that the tests are for pytest.
    extras_require={"test": ["pytest"], "logs": ["rosbags", "pyarrow"], "symbols": ["sympy"]},
    zip_safe=True,
    # A #! line cannot hold a path with a space: such an interpreter is looked up on the PATH instead.
    options={"build_scripts": {"executable": "/usr/bin/env python3"}} if " " in sys.executable else {},
    entry_points={"console_scripts": ["dyn = dyn_command:main"]},
)
