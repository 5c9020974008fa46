# SPDX-License-Identifier: Apache-2.0
"""Write inverse dynamics as C++, and use it in the program emitted_cpp.cpp without other libraries."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import dyn_core as dyn

HERE = Path(__file__).parent
RX90 = HERE.parent / "config" / "robots" / "rx90.urdf"

with TemporaryDirectory() as directory:
    header, program = Path(directory, "rx90.hpp"), Path(directory, "program")
    # In a shell: dyn emit rx90.urdf --function inverse_dynamics --lang cpp --side-file none -o rx90.hpp
    # Without --side-file none it takes the rotor inertias and friction of rx90.yaml.
    options = ["--function", "inverse_dynamics", "--lang", "cpp", "--side-file", "none", "-o", str(header)]
    subprocess.run([sys.executable, "-m", "dyn_core", "emit", RX90, *options], check=True)
    source = HERE / "emitted_cpp.cpp"
    subprocess.run(["c++", "-std=c++17", "-O2", "-I", directory, source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout

print(printed, end="")
tau = np.array(printed.split(), dtype=float)  # N m

# The result is that of the model.
model = dyn.compile_model(dyn.load_robot(RX90))
assert np.allclose(tau, model.inverse_dynamics([0.0, 0.5, -0.5, 0.0, 0.3, 0.0], [0.1] * 6, [1.0] * 6))
