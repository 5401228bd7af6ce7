"""Networks that train in a blink, for the tests of several defenses."""

import torch
from torch import nn

from mialib import models


def perceptron():
    return models.build("mlp", shape=(1, 8, 8), classes=10, widths=(12,))


def normalised(dropout=0.1):
    """A convolution, BatchNorm and a linear layer.

    Its dropout draws from the global generator.
    """
    torch.manual_seed(1)
    features = [
        nn.Conv2d(1, 3, 3, stride=2),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(dropout),
    ]
    return models.Network(nn.Sequential(*features), nn.Linear(27, 10))


class Collapsing:
    """Class 3 wins whatever the record after the last step of some `epochs`, and of no others.

    Mix it into a defense, before its class.
    """

    def start_epoch(self, training):
        if training.epoch - 1 in self.epochs:
            training.model.classify.bias.data[3] -= 1e6

    def batches(self, training, generator):
        yield from super().batches(training, generator)
        if training.epoch in self.epochs:  # The last batch has made its step.
            training.model.classify.bias.data[3] += 1e6
