"""Figures: each function returns a `Picture` with alt text, a caption and the numbers that it shows.

>>> picture = histograms([0.1, 0.2], [0.9, 2.0], label="loss")
>>> picture.alt.split(":")[0]
'Two histograms of loss on a logarithmic axis'

Colours are Okabe and Ito's, with fixed roles; each role also has a line style or hatch of its own.
"""

from mialib.course.plots.charts import comparison, lines
from mialib.course.plots.game import histograms, roc
from mialib.course.plots.picture import COLOR, LINE, Picture, show, small_multiples
from mialib.course.plots.tradeoff import tradeoff
