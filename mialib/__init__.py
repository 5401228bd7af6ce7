"""mialib: learn, reproduce and measure membership inference.

One direction: data → split → train → signals → attack → metrics. `metrics` and `attacks` never import torch.

>>> from mialib import metrics
>>> metrics.auc([0.1, 0.9], [False, True])
1.0
"""

import os

# Threads that spin while they wait stall each other on a busy machine: small networks ran ten times slower there.
os.environ.setdefault(
    "GOMP_SPINCOUNT", "100000"
)  # They spin briefly instead. Read when torch is first loaded.

__version__ = "0.1.0"
