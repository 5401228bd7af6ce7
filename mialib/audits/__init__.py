"""Audit a model of one's own: who can tell which records it was trained on?

    from mialib import audit

    report = audit(model, members, non_members)
    report.summary()
    report.check(advantage=0.1)

- `auditing`: `audit`, the ways to an audit, and the order of its sections.
- `asking`, `evidence`, `files`, `parts`: what is handed in, whatever its form.
- `answering`, `references`: asking a model, and training some like it.
- `playing`: every attack that the evidence allows, and its row.
- `belief`: the blind baseline and duplicates, asked before the attacks.
- `intervals`: intervals that take milliseconds at any n, and what chance would do.
- `more`: numbers that other reports print, folded away in this one.
- `bounds`: which ε the attacks refute.
- `exposed`: utility, records, slices.
- `planted`: canaries.
- `policies`, `advice`: for and against, what to try next, what was not tested.
- `findings`, `report`: the data of an audit, and `Audit` with the methods of a report.
- `html`, `positions`, `drawings`, `markup`, `style`, `writing`: the page, and the files beside it.
"""

from mialib.audits.auditing import Auditor, audit
from mialib.audits.findings import Findings
from mialib.audits.report import Audit, AuditError

__all__ = ["Audit", "AuditError", "Auditor", "Findings", "audit"]
