"""Tables of scores, and numbers whose intervals include the training: arrays only, no torch.

- `tables`: `Results`, every record's score by every attack, in every row of a plan.
- `repeats`: intervals over seeds and records.
- `edges`: of the histograms that rows hold beside their scores.

`mialib.experiments` makes them.
"""

from mialib.results.tables import Results, Row

__all__ = ["Results", "Row"]
