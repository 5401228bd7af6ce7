"""Figures by topic: what the lessons draw of one thing each. Every function returns a `Picture`.

| module | what it draws |
|---|---|
| `records` | images, one threshold on the loss, one record in two worlds |
| `sensitivity` | where the loss gap's sensitivity lies, and Proposition E.1 |
| `tuning` | weights before and after PAST, one setting, one epoch |
| `tradeoff` | defenses compared: a board, what each attack lost, P1, moves |
| `relaxation` | CRL's scenarios, the phases of a relaxed loss, two knobs at a time |
| `boundary` | features in the plane, distances to the decision boundary |
| `privacy` | what differential privacy promises |
| `sparsity` | the pipeline of pruning, one round, defense against accuracy |
| `butterfly` | products of sparse matrices, a network's parameters |

    from mialib.course import figures
    show(figures.threshold_view(member_loss, non_member_loss, threshold=0.5))

Charts that any lesson draws (curves, ROCs, estimates side by side) are in `mialib.course.plots`;
what is computed and not drawn is in `mialib.course.statistics`.
"""

from mialib.course.figures.boundary import features, margins
from mialib.course.figures.butterfly import matrix_product, network_parameters
from mialib.course.figures.privacy import promise
from mialib.course.figures.records import images, threshold_view, worlds
from mialib.course.figures.relaxation import Phase, phases, scenarios, surface
from mialib.course.figures.sensitivity import (
    fitted_normals,
    sensitivity_by_module,
    sensitivity_by_parameter,
    two_normals,
)
from mialib.course.figures.sparsity import defense_plane, pipeline, round_view
from mialib.course.figures.tradeoff import Move, board, changes, moves, p1_map
from mialib.course.figures.tuning import epoch_view, setting_view, weight_histograms
