"""Where in a network the sensitivity lies: by kind of module, and by depth.

modules = trained.fact("sensitivity", "modules")[0]     # of one training: {name: {"kind", …}}
by_place(modules)["late"]                               # of the last third of the convolutions
log_ratio([modules, …], "late", "early")                # over trainings, with its interval
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mialib.course.statistics import student
from mialib.estimates import Estimate

Modules = Mapping[str, Mapping[str, Any]]  # by name: "kind", "size", "mean"
THIRDS = ("early", "middle", "late")


def by_place(modules: Modules) -> dict[str, float]:
    """The mean sensitivity of a weight by the kind of its module; convolutions also in thirds.

    The thirds go from the input to the output, and "all" is the mean over all weights.
    """
    of_kind: dict[str, list[Mapping[str, Any]]] = {}
    for module in modules.values():
        of_kind.setdefault(module["kind"], []).append(module)
    convolutions = of_kind.get("convolution", [])
    places = dict(of_kind)
    for name, third in zip(THIRDS, np.array_split(range(len(convolutions)), 3), strict=True):
        places[name] = [convolutions[k] for k in third]
    places["all"] = list(modules.values())
    return {place: _mean(some) for place, some in places.items() if some}


def _mean(modules: Sequence[Mapping[str, Any]]) -> float:
    """Each module counts by the number of its weights."""
    sizes = [module["size"] for module in modules]
    return float(np.average([module["mean"] for module in modules], weights=sizes))


def log_ratio(trainings: Sequence[Modules], first: str, second: str) -> Estimate:
    """The logarithm of the first place's mean sensitivity over the second's, over trainings."""
    places = [by_place(modules) for modules in trainings]
    return student([float(np.log(one[first] / one[second])) for one in places])
