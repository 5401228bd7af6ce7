"""The edges of the histograms that a row's facts hold; what lies outside counts in the last bin."""

import numpy as np

EDGES = np.linspace(-0.3, 0.3, 61)  # of the weights
MARGINS = np.linspace(-8, 8, 65)  # of the distance to the decision boundary
