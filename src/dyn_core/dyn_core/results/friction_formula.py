# SPDX-License-Identifier: Apache-2.0
"""A friction model as a formula that people can read."""

from __future__ import annotations

from dyn_core.identification.friction.friction_model import LOADED, SIGNED, SYMBOLS, FrictionModel, Term

_SHAPES: dict[Term, str] = {
    "viscous": "qd",
    "coulomb": "s",
    "offset": "",
    "asymmetry": "|qd|",
    "quadratic": "qd |qd|",
    "cubic": "qd^3",
    "saturating": "tanh(qd / vx)",
    "stribeck": "s exp(-(qd / vt)^2)",
    "load": "|load| s",
    "load_viscous": "|load| qd",
}


def friction_formula(model: FrictionModel, joint: int) -> str:
    """Answer the friction of joint number `joint` as a sum, and what is in it."""
    terms = [f"{SYMBOLS[term]}{joint} {_SHAPES[term]}".rstrip() for term in model.terms]
    said = [" + ".join(terms) or "0"]
    if not SIGNED.isdisjoint(model.terms):
        said.append(f"s = tanh(qd / {model.v0:.4g})" if model.v0 else "s = sign(qd)")
    said += [f"vt = {model.vt:.4g}"] if model.vt else []
    said += [f"vx = {model.vx:.4g}"] if model.vx else []
    if not LOADED.isdisjoint(model.terms):
        said.append("load = torque of bodies and rotors")
    return "; ".join(said)
