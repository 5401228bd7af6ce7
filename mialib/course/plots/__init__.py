"""Charts that any lesson draws: each function returns a `Picture`.

A picture has an alt text, a caption and the numbers that it shows.

>>> picture = histograms([0.1, 0.2], [0.9, 2.0], label="loss")
>>> picture.alt.split(":")[0]
'Two histograms of loss on a logarithmic axis'

| module | what it has |
|---|---|
| `game` | histograms of members and non-members, ROC curves |
| `charts` | estimates side by side, curves with bands |
| `panels` | curves or points, the same chart in several panels |
| `tradeoff` | accuracy against advantage |
| `tables` | numbers on coloured cells |
| `picture` | `Picture`, `show`, `small_multiples` |
| `layers` · `files` | what moves with a slider on top of what does not · from a figure to bytes |
| `palette` · `pieces` · `spoken` | colours and markers · shared pieces of drawings · of words |

What only one topic draws is in `mialib.course.figures`.
"""

from mialib.course.plots.charts import comparison, lines
from mialib.course.plots.game import histograms, roc
from mialib.course.plots.palette import COLOR, LINE
from mialib.course.plots.panels import panels, scatter
from mialib.course.plots.picture import Picture, show, small_multiples
from mialib.course.plots.tradeoff import tradeoff
