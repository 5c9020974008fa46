# SPDX-License-Identifier: Apache-2.0
"""A program as C source.

The straight-line code is printed for `double`, one sample, and for `Lanes`, a vector with one sample in
each lane. It comes in two parts: the angles whose sines and cosines are needed, and the rest, for
which they are given. So they can all be computed together, several in one instruction. What was prepared
from parameters is one vector of numbers, `p`, for all lanes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from dyn_core.codegen.program import Program
from dyn_core.codegen.straight_line import ARITHMETIC, Dialect, operand, statements
from dyn_core.expr.analysis import needed
from dyn_core.expr.graph import Expr, Op, Symbolic

_KINDS = {"double": "double", "lanes": "Lanes"}
# What makes a vector of a number and takes no instruction: x - 0.0 is x, whatever x.
_PREPARED = {"double": "p[{}]", "lanes": "(p[{}] - (Lanes){{0.0}})"}
_DIALECTS = {
    kind: Dialect(
        ARITHMETIC
        | {
            Op.SQRT: f"sqrt_{kind}({{0}})",
            Op.SIGN: f"sign_{kind}({{0}})",
            Op.ABS: f"abs_{kind}({{0}})",
        }
    )
    for kind in _KINDS
}


def c_source(program: Program) -> str:
    """Answer the sizes of the program, and its code for one sample and for lanes."""
    nodes = program.nodes
    trigonometric = [node for node in nodes if node.op in (Op.SIN, Op.COS)]
    angles = list(dict.fromkeys(node.args[0] for node in trigonometric))
    names = _input_names(program)
    rank = {angle.number: k for k, angle in enumerate(angles)}
    for node in trigonometric:
        names[node.number] = f"{'s' if node.op is Op.SIN else 'c'}[{rank[node.args[0].number]}]"
    sizes = [len(vector) for vector in program.inputs.values()]
    parts = [
        f'#define FUNCTION_NAME "{program.name}"',
        f"#define FUNCTION_DOC {json.dumps(program.documentation)}",
        f"#define INPUTS {len(sizes)}",
        f"#define INPUT_SIZES {{{', '.join(map(str, sizes))}}}",
        f"#define INPUT_TOTAL {sum(sizes)}",
        f"#define RESULTS {len(program.results)}",
        f"#define RESULT_SHAPE {{{', '.join(map(str, program.shape))}}}",
        f"#define RESULT_DIMENSIONS {len(program.shape)}",
        f"#define ANGLES {len(angles)}",
        f"#define TUNABLE {int(program.prepared is not None)}",
        f"#define PREPARED {len(program.prepared or ())}",
    ]
    for kind, prepared in _PREPARED.items():
        names |= {node.number: prepared.format(k) for k, node in enumerate(program.prepared or ())}
        parts.append(_function(f"angles_{kind}", kind, needed(angles), angles, "a", names))
        parts.append(_function(f"program_{kind}", kind, nodes, program.results, "out", names))
    return "\n".join(parts)


def _input_names(program: Program) -> dict[int, str]:
    return {
        node.number: f"in[{i}][{k}]"
        for i, vector in enumerate(program.inputs.values())
        for k, node in enumerate(vector)
    }


def _function(
    name: str,
    kind: str,
    nodes: Iterable[Expr],
    results: Iterable[Symbolic],
    target: str,
    names: Mapping[int, str],
) -> str:
    """A function that computes `results` into the array `target`."""
    T = _KINDS[kind]
    given = "" if target == "a" else f", const {T} *restrict s, const {T} *restrict c"
    lines = [
        f"\nstatic inline void {name}(",
        f"    const {T} *const *in, const double *restrict p{given}, {T} *restrict {target})",
        "{",
    ]
    dialect = _DIALECTS[kind]
    lines.extend(f"    const {T} {name} = {text};" for name, text in statements(nodes, dialect, names))
    for k, result in enumerate(results):
        text = operand(result, dialect, names)
        # A number does not become a vector by itself.
        lines.append(f"    {target}[{k}] = {text if isinstance(result, Expr) else f'({T}){{0.0}} + {text}'};")
    lines.append("}")
    return "\n".join(lines) + "\n"
