"""Figures: each function returns a `Picture` with alt text, a caption and the numbers that it shows.

>>> picture = histograms([0.1, 0.2], [0.9, 2.0], label="loss")
>>> picture.alt.split(":")[0]
'Two histograms of loss on a logarithmic axis'

Colours are Okabe and Ito's, with fixed roles; each role also has a line style or hatch of its own.
"""

from lessonlib.plots.charts import comparison, lines
from lessonlib.plots.game import histograms, roc
from lessonlib.plots.picture import COLOR, LINE, Picture, show, small_multiples
from lessonlib.plots.tradeoff import tradeoff
