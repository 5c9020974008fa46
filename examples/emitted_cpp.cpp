// SPDX-License-Identifier: Apache-2.0
// Torques of the RX90, from a header that `dyn emit` has written; emitted_cpp.py builds and runs this program.

#include <array>
#include <cstdio>

#include "rx90.hpp"

int main() {
    const std::array<double, 6> q{0.0, 0.5, -0.5, 0.0, 0.3, 0.0};  // rad
    const std::array<double, 6> qd{0.1, 0.1, 0.1, 0.1, 0.1, 0.1};  // rad/s
    const std::array<double, 6> qdd{1.0, 1.0, 1.0, 1.0, 1.0, 1.0};  // rad/s^2
    for (const double torque : robot_rx90::inverse_dynamics(q, qd, qdd))  // N m
        std::printf("%.12g\n", torque);
}
