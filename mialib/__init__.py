"""mialib: learn, reproduce and measure membership inference.

The data goes one way: data → splits → training (+ a defense) → query → signals → attacks → metrics.
The array layer (`signals`, `bank`, `attacks`, `metrics`, `exposure`) loads no torch when it is
imported; CRL's learned attack loads it when it is fitted.

>>> from mialib import metrics
>>> metrics.auc([0.1, 0.9], [False, True])
1.0
"""

import os
from typing import Any

# Threads that spin while they wait stall each other on a busy machine: small networks ran ten times
# slower there. With this they spin briefly. It is read when torch is first loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "100000")

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`from mialib import audit`; it brings torch with it, so it is loaded when it is asked for."""
    if name == "audit":
        from mialib.audits import audit

        return audit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
