"""What only the lessons need. It is right of all of `mialib`, which never imports it.

- `plots` draws a `Picture` (an image with alt text and its numbers), `figures` what lessons draw by
  topic, `statistics` the numbers behind them.
- `widgets` puts sliders over pictures; `exercises` checks the learner's functions, by lesson.
- `headlines` puts results into tables, beside the reader's own training.
- `cards` says what each attack demands, `costs` measures what an epoch of a defense takes.

>>> from mialib.course.cards import cards
>>> print(cards("Attack P").data.splitlines()[-1])
| Attack P | outputs, label | a population | 1 query per record | nothing: a percentile |
"""
