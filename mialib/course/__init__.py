"""What only the lessons need, beside `mialib`: sliders, self-checks of the exercises, threat-model cards, and figures.

The library is what an auditor of models needs; nothing there imports from here. Nothing here imports torch.

>>> from mialib.course.cards import cards
>>> print(cards("attack P").data.splitlines()[-1])
| attack P | outputs, label | a population | 1 query a record | nothing: a percentile |
"""
