# SPDX-License-Identifier: Apache-2.0
"""A program as C source.

The straight-line code is printed for `double`, one sample, and for `Lanes`, a vector with one sample in
each lane. It comes in two parts: the angles whose sines and cosines are needed, and the rest, for
which they are given. So they can all be computed together, several in one instruction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from dyn_core.codegen.program import Program
from dyn_core.expr.analysis import needed
from dyn_core.expr.graph import Expr, Op, Symbolic

_FORMATS = {
    Op.ADD: "{0} + {1}",
    Op.SUB: "{0} - {1}",
    Op.MUL: "{0} * {1}",
    Op.DIV: "{0} / {1}",
    Op.NEG: "-{0}",
    Op.SQRT: "sqrt_{kind}({0})",
    Op.SIGN: "sign_{kind}({0})",
    Op.ABS: "abs_{kind}({0})",
}
_KINDS = {"double": "double", "lanes": "Lanes"}


def c_source(program: Program) -> str:
    """Answer the sizes of the program, and its code for one sample and for lanes."""
    nodes = needed(program.results)
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
    ]
    for kind in _KINDS:
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
    lines = [f"\nstatic inline void {name}(const {T} *const *in{given}, {T} *restrict {target})", "{"]
    lines.extend(_statements(nodes, kind, names))
    for k, result in enumerate(results):
        # A number does not become a vector by itself.
        text = _operand(result, names) if isinstance(result, Expr) else f"({T}){{0.0}} + {_number(result)}"
        lines.append(f"    {target}[{k}] = {text};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _statements(nodes: Iterable[Expr], kind: str, names: Mapping[int, str]) -> Iterator[str]:
    for node in nodes:
        if node.op is not Op.CONSTANT and node.number not in names:
            arguments = (_operand(argument, names) for argument in node.args)
            text = _FORMATS[node.op].format(*arguments, kind=kind)
            yield f"    const {_KINDS[kind]} t{node.number} = {text};"


def _operand(value: Symbolic, names: Mapping[int, str]) -> str:
    if not isinstance(value, Expr) or value.op is Op.CONSTANT:
        return _number(value)
    return names.get(value.number, f"t{value.number}")


def _number(value: Symbolic) -> str:
    number = float(value.value if isinstance(value, Expr) else value)
    return f"({number!r})" if number < 0.0 else repr(number)
