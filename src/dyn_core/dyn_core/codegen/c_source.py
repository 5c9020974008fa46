# SPDX-License-Identifier: Apache-2.0
"""A program as C source.

The straight-line code is there twice, for `double`, one sample, and for `Lanes`, a vector with one sample in
each lane. It comes in two parts: the angles whose sines and cosines are needed, and the rest, for
which they are given. So they can all be computed together, several in one instruction. What was prepared
from parameters is one vector of numbers, `p`, for all lanes.

Unknowns of a program, which `closure.h` solves for, are one more vector after its inputs. What it takes for
this, what determines them and Newton's step, is code for one sample; so are the other programs of a step of a
motion, which `stepping.h` makes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence

from dyn_core.codegen.closure import Closure, given_program, open_program
from dyn_core.codegen.stepping import Stepping
from dyn_core.codegen.straight_line import ARITHMETIC, Dialect, operand, statements
from dyn_core.codegen.traced_program import Program
from dyn_core.expr.analysis import needed
from dyn_core.symbolic.expression_graph import Expr, Op, Symbolic

DIALECT = Dialect(
    ARITHMETIC
    | {Op.SQRT: "OF(sqrt)({0})", Op.SIGN: "OF(sign)({0})", Op.ABS: "OF(abs)({0})"}
    | {Op.LARGER: "OF(larger)({0} - ZERO, {1} - ZERO, {2} - ZERO, {3} - ZERO)"},
)
"""For both kinds of numbers: T is the type, OF(f) the function f of that type."""

ONE_SAMPLE = """
#define T double
#define OF(function) function##_double
#define P(index) p[index]
#define AT(rank, place) place
#define ZERO 0.0
"""
# A number becomes a vector without an instruction: x - 0.0 is x, whatever x.
LANES = """
#define T Lanes
#define OF(function) function##_lanes
#define P(index) (p[index] - ZERO)
#define AT(rank, place) rank
#define ZERO (Lanes){0.0}
"""
NO_MORE = """
#undef T
#undef OF
#undef P
#undef AT
#undef ZERO
"""


def c_source(program: Program) -> str:
    """Answer the sizes of the program, and its code for one sample and for lanes."""
    sizes = [len(vector) for vector in program.inputs.values()]
    straight, places = open_program(program), _stored(program.results)
    angles, code = _code(straight, places)
    unknowns = len(program.closure.unknowns) if program.closure else 0
    parts = [
        f'#define FUNCTION_NAME "{program.name}"',
        f"#define FUNCTION_DOC {json.dumps(program.documentation)}",
        f"#define INPUTS {len(sizes)}",
        "#define INPUT_NAMES " + ", ".join(f'"{name}"' for name in program.inputs),
        f"#define UNKNOWNS {unknowns}",
        f"#define VECTORS {len(straight.inputs)}",
        f"#define VECTOR_SIZES {{{', '.join(map(str, map(len, straight.inputs.values())))}}}",
        f"#define VECTOR_ROWS {{{', '.join(str(program.rows.get(name, 0)) for name in straight.inputs)}}}",
        f"#define VECTOR_TOTAL {sum(sizes) + unknowns}",
        f"#define RESULTS {len(program.results)}",
        f"#define RESULT_SHAPE {{{', '.join(map(str, program.shape))}}}",
        f"#define RESULT_DIMENSIONS {len(program.shape)}",
        f"#define STORED {len(places)}",
        f"#define PLACES {{{', '.join(map(str, places or [0]))}}}",
        f"#define ANGLES {angles}",
        f"#define TUNABLE {int(program.prepared is not None)}",
        f"#define PREPARED {len(program.prepared or ())}",
        f"#define GUARDED {program.guarded}",
        *(ONE_SAMPLE, code, *(_closure_code(program, program.closure) if program.closure else ())),
        *(_stepping_code(program.stepping) if program.stepping else ()),
        NO_MORE,
        *(LANES, code, NO_MORE),
    ]
    return "\n".join(parts)


def _code(program: Program, places: Sequence[int], prefix: str = "") -> tuple[int, str]:
    """Answer how many angles a program needs, and its two functions."""
    nodes = program.nodes
    trigonometric = [node for node in nodes if node.op in (Op.SIN, Op.COS)]
    angles = list(dict.fromkeys(node.args[0] for node in trigonometric))
    names = _input_names(program)
    rank = {angle.number: k for k, angle in enumerate(angles)}
    for node in trigonometric:
        names[node.number] = f"{'s' if node.op is Op.SIN else 'c'}[{rank[node.args[0].number]}]"
    wanted = {f"a[{k}]": angle for k, angle in enumerate(angles)}
    stored = {f"out[AT({k}, {place})]": program.results[place] for k, place in enumerate(places)}
    lines = (
        f"static inline void OF({prefix}angles)(",
        "    const T *const *in, const double *restrict p, T *restrict a)",
        *_body(needed(angles), wanted, names),
        f"static inline void OF({prefix}program)(",
        "    const T *const *in, const double *restrict p, const T *restrict s, const T *restrict c,",
        "    T *restrict out)",
        *_body(nodes, stored, names),
    )
    return len(angles), "\n".join(lines)


def _closure_code(program: Program, closure: Closure) -> list[str]:
    """What `closure.h` needs: what determines the unknowns, and a step towards them."""
    equations, given = closure.equations, given_program(program)
    step_angles, step = _code(equations.step, range(len(equations.step.results)), "step_")
    given_angles, given_code = _code(given, range(len(given.results)), "given_")
    assert given_angles == 0, "what determines unknowns is linear in the inputs"
    vectors = {
        "START_GIVEN": equations.start[0],
        "START": equations.start[1],
        "GIVEN_SCALES": equations.scales.given,
        "SCALES": equations.scales.unknowns,
        "GIVEN_TURNS": equations.scales.given_turns,
        "TURNS": equations.scales.unknown_turns,
    }
    return [
        f"#define GIVEN {len(closure.given)}",
        f"#define STEP_RESULTS {len(equations.step.results)}",
        f"#define STEP_ANGLES {step_angles}",
        *(f"#define {name} {{{', '.join(map(_constant, values))}}}" for name, values in vectors.items()),
        *(given_code, step),
    ]


def _constant(value: float) -> str:
    return "HUGE_VAL" if value == math.inf else repr(value)


def _stepping_code(stepping: Stepping) -> list[str]:
    """What `stepping.h` needs."""
    sum_angles, sum_code = _code(stepping.sum, range(len(stepping.sum.results)), "sum_")
    assert sum_angles == 0, "a weighted sum has no angles"
    passive = stepping.passive
    angles, code = _code(open_program(passive), range(len(passive.results)), "passive_")
    given = (
        _code(given_program(passive), range(len(passive.closure.given)), "passive_given_")[1:]
        if passive.closure
        else ()
    )
    return [
        f"#define SUM_RESULTS {len(stepping.sum.results)}",
        f"#define PASSIVE {stepping.joints}",
        f"#define PASSIVE_SIGNS {stepping.signs}",
        f"#define PASSIVE_RESULTS {len(passive.results)}",
        f"#define PASSIVE_ANGLES {angles}",
        *(sum_code, code, *given),
    ]


def _stored(results: Sequence[Symbolic]) -> list[int]:
    """Places of the results that the code stores: where most are 0, zeros are written all at once."""
    nonzero = [k for k, result in enumerate(results) if isinstance(result, Expr) or result != 0.0]
    return nonzero if 2 * len(nonzero) < len(results) else list(range(len(results)))


def _input_names(program: Program) -> dict[int, str]:
    names = {
        node.number: f"in[{i}][{k}]"
        for i, vector in enumerate(program.inputs.values())
        for k, node in enumerate(vector)
    }
    return names | {node.number: f"P({k})" for k, node in enumerate(program.prepared or ())}


def _body(nodes: Iterable[Expr], results: Mapping[str, Symbolic], names: Mapping[int, str]) -> list[str]:
    """The lines of a function that computes results, by where they are stored."""
    stores: dict[str, list[str]] = {}
    for place, result in results.items():
        text = operand(result, DIALECT, names)
        # A number does not become a vector by itself.
        value = text if isinstance(result, Expr) else f"(T){{0.0}} + {text}"
        stores.setdefault(text, []).append(f"    {place} = {value};")
    lines = ["{"]
    # A result is stored as soon as it is known: kept until the end, many would not fit into registers.
    for variable, text in statements(nodes, DIALECT, names):
        lines.append(f"    const T {variable} = {text};")
        if variable in stores:
            lines.extend(stores.pop(variable))
    lines.extend(line for remaining in stores.values() for line in remaining)
    lines.append("}")
    return lines
