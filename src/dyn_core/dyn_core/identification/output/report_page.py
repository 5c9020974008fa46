# SPDX-License-Identifier: Apache-2.0
"""What a result is worth, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dyn_core.core.findings import Finding, Severity
from dyn_core.results.result import Result

GOOD, USABLE, POOR = 0.05, 0.10, 0.25
"""Relative torque errors up to which parameters are good, usable, and doubtful."""
OVERFITTED = 1.8
"""Ratio of held-out and fitted error from which the fit is not to be trusted."""
COSTLY = 0.002
"""Part of the torque that physical consistency may cost."""


def verdict(result: Result) -> str:
    """Answer what the result is worth, in a sentence or two."""
    identified = result.identified
    errors = identified.consistent_errors
    shown = errors.held_out or errors.fitted
    wrong = any(finding.severity is Severity.ERROR for finding in identified.findings)
    if wrong:
        return (
            "The signals of this log are wrong, as is said below: do not use these parameters. Mend the log "
            "or its map, and identify again."
        )
    part = f"the last {100 * (1 - result.signals.train):.3g} % of the log, which no fit has seen"
    if errors.held_out is None:
        part = "the same data that was fitted, which says nothing of other motions"
    grade = next(
        (
            text
            for limit, text in ((GOOD, "a good"), (USABLE, "a usable"), (POOR, "a doubtful"))
            if shown.relative <= limit
        ),
        "a poor",
    )
    before = (result.description_errors.held_out or result.description_errors.fitted).relative
    size = f"{100 * shown.relative:.2g} %"
    sentence = f"These parameters predict the torques to within {size} on {part}: {grade} model."
    if before > 0.0:
        sentence += f" With the description as it was, the error is {100 * before:.3g} %."
    return sentence


def notices(result: Result) -> Iterator[str]:
    """Answer findings, remarks and what the errors say, the worst first."""
    findings = sorted(
        (*result.identified.findings, *result.log.findings), key=lambda finding: finding.severity
    )
    items = [(str(finding.severity), _said(finding)) for finding in findings]
    items += [("warning", text) for text in _about_errors(result)]
    items += [("note", _sentence(remark)) for remark in (*result.identified.remarks, *result.urdf.remarks)]
    items.sort(key=lambda item: ("error", "warning", "note").index(item[0]))
    if not items:
        yield "<p>Nothing was found that speaks against it.</p>"
        return
    yield '<ul class="notices">'
    for kind, text in items:
        yield f'<li><b class="{kind}">{kind}</b> {escape(text)}</li>'
    yield "</ul>"


def _said(finding: Finding) -> str:
    return f"{finding.element}: {finding.message}" if finding.names else _sentence(finding.message)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _about_errors(result: Result) -> Iterator[str]:
    plain, physical = result.identified.errors, result.identified.consistent_errors
    if plain.held_out is None or physical.held_out is None:
        yield "Nothing was held out (train is 1): the errors say nothing of other motions."
        return
    ratio = physical.held_out.relative / max(physical.fitted.relative, 1e-12)
    if ratio > OVERFITTED:
        yield (
            f"The error on held-out data is {ratio:.2g} times that on fitted data: the log has too little "
            "motion for these parameters, or the robot has changed meanwhile. Excite it more."
        )
    cost = physical.held_out.relative - plain.held_out.relative
    if cost > COSTLY:
        yield (
            f"Physical consistency costs {100 * cost:.2g} percentage points of torque error. Where it is "
            "much, something that is no body acts on the robot: springs, cables, a counterweight, a wrong "
            "unit or ratio of the log."
        )
    names = result.identified.joint_names
    for joint, error in zip(names, physical.held_out.by_joint, strict=True):
        if error > POOR:
            yield (
                f"Joint {joint}: {100 * error:.3g} % of its torque is unexplained. It is small, or hardly "
                "moved, or its friction changes with temperature: see its plots."
            )
    nodes = result.standard_errors.held_out
    if nodes is not None and nodes.relative > 1.1 * physical.held_out.relative:
        motors = " and no motors that move several joints" if result.identified.motors else ""
        yield (
            f"The nodes know viscous and Coulomb friction and offset alone{motors}, with which the error is "
            f"{100 * nodes.relative:.3g} % instead of {100 * physical.held_out.relative:.3g} %."
        )
