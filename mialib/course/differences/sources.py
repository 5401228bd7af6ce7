"""The differences in words: what a text says, what the code does, repository and commit.

SOURCES["ties"].where           # 'aidotse/LeakPro @ 0078213, leakpro/reporting/mia_result.py'
"""

from __future__ import annotations

from dataclasses import dataclass

PAST_CODE = "Fujump/MLHospital @ 087beb6"
RELAXLOSS_CODE = "DingfanChen/RelaxLoss @ fc8c68e"


@dataclass(frozen=True)
class Source:
    """One difference in words.

    name      what the course calls it
    number    what is measured of it
    printed   what the text says; empty where it is silent
    coded     what the code does
    should    what it should do; empty where text and code are both tenable
    where     repository @ commit
    lowest    that the number can be; the highest is 1
    """

    name: str
    number: str
    printed: str
    coded: str
    should: str
    where: str
    lowest: float = -1.0

    def says(self, variant: str) -> str:
        """What this variant is, in words; nothing where there is no such variant."""
        texts = {"as printed": self.printed, "as coded": self.coded}
        return texts.get(variant, self.should)


SOURCES = {
    "rotation": Source(
        "rotation",
        "advantage of the rotation attack",
        "a binary classifier, fitted on the shadow, is asked about the target",
        "it is asked about the shadow records that it was fitted on",
        "it is asked about a model that it was not fitted on",
        f"{PAST_CODE}; ml-stat-Sustech/ConvexConcaveLoss @ 1931123",
    ),
    "yeom": Source(
        "Yeom's threshold",
        "advantage of the loss attack",
        "a record is a member if its loss is below the mean training loss",
        "that mean is the training log's: dropout is on, and the weights still move",
        "the threshold is the one that is best on a shadow",
        "a reader's account in sam-yeom/ml-privacy-csf18, issue 1 (2019)",
    ),
    "adaptive": Source(
        "plain shadow",
        "advantage of the loss attack on RelaxLoss",
        "",
        "the attack mode trains its shadow without the defense",
        "the shadow is trained with the target's defense",
        RELAXLOSS_CODE,
    ),
    "statistics": Source(
        "mixed statistics",
        "advantage of the loss attack on PAST",
        "",
        "non-members' batches move BatchNorm's running statistics",
        "members' batches alone move them",
        f"{PAST_CODE}, Normal.py",
    ),
    "lira": Source(
        "LiRA offline",
        "AUC",
        "one tail: 1 − Pr[Z > φ]",
        "the density, which is low on both sides",
        "one tail, as printed",
        "tensorflow/privacy @ 03035d5, research/mi_lira_2021",
        lowest=0.0,
    ),
    "variance": Source(
        "LiRA's deviation",
        "AUC of online LiRA, one variance for all",
        "a deviation for IN, another for OUT",
        "the deviation of the raw IN values serves for both",
        "a deviation of the residuals in each world, as printed",
        "tensorflow/privacy @ 03035d5, research/mi_lira_2021",
        lowest=0.0,
    ),
    "gini": Source(
        "shifted Gini",
        "change of the index by PAST's tuning",
        "",
        "the index of w − min(w), in place of |w|",
        "the index of |w|, which rises with sparsity",
        f"{PAST_CODE}, visual.ipynb",
    ),
    "twice": Source(
        "counted twice",
        "mean advantage over PAST's attacks",
        "the mean is over eight attacks, loss and confidence among them",
        "the same eight, two of which rank every record alike",
        "seven attacks, each counted once",
        PAST_CODE,
    ),
    "ties": Source(
        "ties",
        "AUC of the correctness attack",
        "",
        "of equal scores only the first enters the curve, which has no ends",
        "equal scores enter together, and the curve runs from (0, 0) to (1, 1)",
        "aidotse/LeakPro @ 0078213, leakpro/reporting/mia_result.py",
        lowest=0.0,
    ),
    "order": Source(
        "order of attacks",
        "share of orders in which a coin is called a danger",
        "",
        "a list of significant AUCs is not emptied from one attack to the next",
        "each attack is judged by its own AUC",
        "AI-SDC/SACRO-ML @ 04dc28a, sacroml/attacks/attack_report_formatter.py",
        lowest=0.0,
    ),
    "hidden": Source(
        "untrained layer",
        "AUC of the attack network",
        "a network with one hidden layer of 100 learns from the shadow",
        "the hidden layer stands in a plain list, so it keeps its first weights",
        "every layer learns, as printed",
        RELAXLOSS_CODE,
        lowest=0.0,
    ),
    "augmentation": Source(
        "one draw per batch",
        "advantage of the loss attack",
        "training images are cropped and flipped at random",
        "one crop and one flip for the whole batch",
        "a draw for each image, as printed",
        "JEKimLab/UAI24_CRL @ fbb5993",
    ),
    "clamp": Source(
        "clamp",
        "advantage of the loss attack on PAST, α = 2.5",
        "the penalty's weight is λ·γ^α",
        "γ^α is cut off at 10,000",
        "",
        f"{PAST_CODE}, pruner.py",
    ),
}
