"""mialib: learn, reproduce and measure membership inference.

One direction: data → split → train → signals → attack → metrics → plots / widgets.
The array layer (`metrics`, `attacks`, `plots`, `widgets`, `checks`) never imports torch.

>>> from mialib import metrics
>>> metrics.auc([0.1, 0.9], [False, True])
1.0
"""

__version__ = "0.1.0"
