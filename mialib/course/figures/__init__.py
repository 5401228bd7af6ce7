"""Figures by topic: what the lessons draw of one thing each. Every function returns a `Picture`.

| module | what it draws |
|---|---|
| `records` | images, one record and its loss, one threshold on the loss, one record in two worlds |
| `sensitivity` | where the loss gap's sensitivity lies, and Proposition E.1 |
| `tuning` | weights before and after PAST, curves by epoch, one setting |
| `ablation` | PAST taken apart: settings side by side, one epoch |
| `points` | one training among a table's settings, and under a threshold |
| `tradeoff` | defenses compared: a board, P1, moves |
| `planes` | accuracy and leakage, a panel for each attack |
| `relaxation` | CRL's scenarios, the phases of a relaxed loss, three knobs together |
| `boundary` | distances to the decision boundary, and of features to the origin |
| `privacy` | what differential privacy promises, and the ceiling of a guarantee |
| `sparsity` | the pipeline of pruning, one round |
| `levels` | defense level against accuracy: a plane, a panel for each kind, a slope |
| `arena` | every defense by accuracy, leak and price; two at the same accuracy |
| `versus` | paper versus code: all differences, and one of them |
| `accusing` | whom one threshold accuses in a crowd with few members |
| `butterfly` | one sparse factor, products of them, a network's parameters, matched trainings |

    from mialib.course import figures
    show(figures.threshold_view(member_loss, non_member_loss, threshold=0.5))

Charts that any lesson draws (curves, ROCs, estimates side by side) are in `mialib.course.plots`;
what is computed and not drawn is in `mialib.course.statistics`.
"""

from mialib.course.figures.ablation import (
    epoch_view,
    labelled_planes,
    setting_tables,
)
from mialib.course.figures.accusing import accusations
from mialib.course.figures.arena import duel, plane
from mialib.course.figures.boundary import features, margins
from mialib.course.figures.butterfly import (
    labelled_factor,
    matched_trainings,
    matrix_product,
    network_parameters,
)
from mialib.course.figures.levels import defense_panels, defense_plane, slope_fan
from mialib.course.figures.planes import attack_planes
from mialib.course.figures.points import (
    Point,
    point_among,
    point_calls,
    point_view,
    standing_of,
)
from mialib.course.figures.privacy import Reach, ceilings, promise, reach, reach_of
from mialib.course.figures.records import images, one_record, threshold_view, worlds
from mialib.course.figures.relaxation import Knobs, Phase, joint_sweep, phases, scenarios
from mialib.course.figures.sensitivity import (
    batch_spread,
    fitted_normals,
    gap_paths,
    sensitivity_by_depth,
    sensitivity_by_index,
    sensitivity_histograms,
    two_normals,
)
from mialib.course.figures.sparsity import pipeline, round_view
from mialib.course.figures.tradeoff import Move, board, moves, p1_map
from mialib.course.figures.tuning import (
    arm_curves,
    setting_view,
    weight_histograms,
)
from mialib.course.figures.versus import difference_view, effects
