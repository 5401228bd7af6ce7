"""Every public function, class and method of mialib, found by looking.

Public is what a package offers in its `__init__` (`attacks`, `data`, `defenses`), and of any other
module whatever has no underscore. `mialib.course` is not asked: its functions are called by
lessons; nor are `mialib.benchmarks`, `mialib.reproductions` and `mialib.cli`, which the shell
calls. A method stands under the class that defines it, so what all defenses share is asked once.
"""

import dataclasses
import enum
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator

from torch import nn

import mialib

CALLED_BY_OTHERS = (
    "mialib.benchmarks",
    "mialib.course",
    "mialib.reproductions",
    "mialib.cli",
)
# Handed out by the training loop and by torch, never called by a user.
HOOKS = {
    *("prepare", "start_epoch", "batches", "loss", "after_backward", "after_step", "end_epoch"),
    *("forward", "extra_repr", "reset_parameters"),
}
# Public by their name, and no door: why. A class stands for its methods too.
NO_DOORS = {
    "mialib.configurations.made": "called by `parse` and `profiles`",
    "mialib.data.records.load_own": "called by `load`, which has checked what it hands on",
    "mialib.defenses.past.Past.add_penalty": "called by the hooks on the network's own weights",
    "mialib.defenses.past.Past.shrink": "called by the hooks on the network's own weights",
    "mialib.defenses.stopping.BestCheckpoint.value": "called by the hooks",
    "mialib.defenses.stopping.EarlyStopping.value": "called by the hooks",
    "mialib.signals.Signals.in_slices": "called by metrics with functions of their own",
    "mialib.signals.phi_of_checked": "called on logits that `Signals` or `Bank` has checked",
    "mialib.signals.record_slices": "called on the sizes of arrays that were checked",
    "mialib.splits.Positions.side": "called by `Sides`, which the schemes make",
    "mialib.splits.Sides": "made by the schemes",
    "mialib.models.Block": "a piece of the networks that `build` makes",
    "mialib.models.cnn": "called by `build`, which has checked what it hands on",
    "mialib.models.convolution": "a piece of the networks that `build` makes",
    "mialib.models.convolution_and_norm": "a piece of the networks that `build` makes",
    "mialib.models.densenet121": "called by `build`, which has checked what it hands on",
    "mialib.models.densenet3": "called by `build`, which has checked what it hands on",
    "mialib.models.googlenet": "called by `build`, which has checked what it hands on",
    "mialib.models.mlp": "called by `build`, which has checked what it hands on",
    "mialib.models.resnet18": "called by `build`, which has checked what it hands on",
    "mialib.models.resnet20": "called by `build`, which has checked what it hands on",
    "mialib.models.vgg11": "called by `build`, which has checked what it hands on",
    "mialib.sparsity.butterfly.ButterflyLayer.apply_chain": "called by the layers' `forward`",
    "mialib.models.he_normal": "changes the weights of the networks that `build` makes",
    "mialib.models.normalization": "a piece of the networks that `build` makes",
    "mialib.experiments.running.run": "called by the command, and tested in test_running",
    "mialib.foreign.atomically": "called by those who write a file",
    "mialib.foreign.write_arrays": "called by `save` on arrays that it has checked",
    "mialib.foreign.listed": "called by those who refuse a file, on the names that are in it",
    "mialib.foreign.said": "called by those who refuse a file, on what another reader raised",
    "mialib.metrics.area": "called on curves that `roc` and `weighted_roc` have made",
    "mialib.metrics.largest_tpr": "called on curves that `roc` and `weighted_roc` have made",
    "mialib.clusters.task": "called by `runs` and `experiments` on functions of their own",
    "mialib.markdown.table": "called on cells that mialib has written",
    "mialib.compiled.compiled": "called by `compiled_batches`",
    "mialib.compiled.compiled_batches": "called by `fit`, which has checked the recipe",
    "mialib.compiled.compiles_on": "called by `configurations` on the type of a device",
    "mialib.precision.computing_in": "called by `fit`, which has resolved the precision",
    "mialib.precision.loss_scaler": "called by `fit`, which has resolved the precision",
    "mialib.doctor.broken_pair": "called by `require` and `examine`",
    "mialib.origins.is_of_mialib": "called by `configurations` on classes and functions",
    "mialib.origins.origin": "called by `configurations` on classes and functions",
    "mialib.progress.bar": "called by `fit`, `query` and `runs`",
    "mialib.progress.forwarded": "called by `runs` and `experiments`",
    "mialib.progress.shared_bar": "called by `runs` and `experiments`",
    "mialib.results.packing.packed": "called by `Results.save` on arrays that it has checked",
    "mialib.results.packing.unpacked": "called by `Results.read` on what `packed` has made",
    "mialib.runs.failed": "called by `get_all` and by rows of a plan, on what they noted",
    "mialib.runs.processes": "called by `get_all` and `make_all`, which have checked `jobs`",
    "mialib.runs.fit_as_configured": "called by `train`, and by rows that are watched",
    "mialib.runs.threads": "called by `train`, and by rows that are watched",
    "mialib.runs.train": "called by `get`, which has checked what it hands on",
    "mialib.training.Training": "made by `fit`; its methods are called by the hooks",
    "mialib.training.Recipe.scheduler": "called by `fit`",
    "mialib.training.Recipe.augmented": "called by `fit` on its own tensors",
}
# Parameters that take a function of one's own: what another one raises is its own affair.
CALLBACKS = {
    ("mialib.attacks.base.FromFunction", "function"),
    ("mialib.audits.auditing.Auditor.from_model", "train"),
    ("mialib.defenses.advreg.AdvReg.batch_loss", "attacker"),
    ("mialib.metrics.bootstrap", "statistic"),
    ("mialib.store.Store.get", "make"),
    ("mialib.training.fit", "build_initial_model"),
    ("mialib.training.fit", "on_epoch"),
}
FUNCTIONS = ("a class", "a function")
# Parameters that mialib's own code fills, not its users.
FROM_MIALIB = {
    ("mialib.errors.as_array", "kind"),
    ("mialib.errors.check_choice", "names"),
    ("mialib.errors.check_range", "high"),
    ("mialib.errors.check_range", "low"),
    ("mialib.errors.check_range", "many"),
    ("mialib.errors.check_range", "whole"),
}


def is_asked(name: str, parameter: str, hostile: str) -> bool:
    """Whether a hostile value is worth handing to a parameter."""
    if (name, parameter) in FROM_MIALIB:
        return False
    # A loss is computed in every step, and to look at a label would make it wait for the device.
    if name.startswith("mialib.defenses.") and parameter == "y" and hostile == "below zero":
        return False
    # Whether records fit a network, the network itself says.
    if name == "mialib.defenses.simple.Dropout.batch_loss" and hostile == "with another axis":
        return False
    # All attacks are played then, also those that train networks, which takes more than a second.
    if name.startswith("mialib.audits.") and (parameter, hostile) == ("attacks", "None"):
        return False
    return (name, parameter) not in CALLBACKS or hostile not in FUNCTIONS


def modules() -> Iterator[str]:
    """Names of modules whose own names are public."""
    offering = set()
    for info in pkgutil.walk_packages(mialib.__path__, "mialib."):
        package = info.name.rpartition(".")[0]
        if info.name.startswith(CALLED_BY_OTHERS) or package in offering:
            continue
        if info.ispkg and offers_names(info.name):
            offering.add(info.name)
        yield info.name


def offers_names(package: str) -> bool:
    """Whether the package's `__init__` brings names of its modules with it."""
    here = vars(importlib.import_module(package)).values()
    return any(str(getattr(one, "__module__", "")).startswith(package + ".") for one in here)


def public_callables() -> dict[str, Callable]:
    """Whatever must have a valid call in the fuzzer's table, by its full name."""
    found = {}
    for module_name in modules():
        module = importlib.import_module(module_name)
        for name, thing in vars(module).items():
            own = str(getattr(thing, "__module__", "")).startswith(module_name)
            is_instance = not hasattr(thing, "__qualname__")  # such as `audit`: its class is asked
            if name.startswith("_") or not own or not callable(thing) or is_instance:
                continue
            if inspect.isclass(thing):
                found |= callables_of_class(thing)
            else:
                found[full_name(thing)] = thing
    return {
        name: thing
        for name, thing in found.items()
        if takes_something(thing) and not is_no_door(name)
    }


def is_no_door(name: str) -> bool:
    return name in NO_DOORS or name.rpartition(".")[0] in NO_DOORS


def callables_of_class(cls: type) -> dict[str, Callable]:
    """The constructor, if it has anything to refuse, and the public methods."""
    found = {}
    if is_checked_constructor(cls):
        found[full_name(cls)] = cls
    for name, member in inspect.getmembers(cls):
        function = getattr(member, "__func__", member)
        if name.startswith("_") or name in HOOKS or not inspect.isfunction(function):
            continue
        if not function.__module__.startswith("mialib.") or inspect.isabstract(cls):
            continue
        if "training" in inspect.signature(function).parameters:  # a hook, or called by one
            continue
        found[full_name(function)] = member if inspect.ismethod(member) else without_self(function)
    return found


def is_checked_constructor(cls: type) -> bool:
    """A constructor that was only generated takes anything, and so has nothing to refuse."""
    if issubclass(cls, BaseException | enum.Enum) or inspect.isabstract(cls):
        return False
    if dataclasses.is_dataclass(cls):
        return hasattr(cls, "__post_init__")
    return issubclass(cls, nn.Module) or not issubclass(cls, tuple)


def without_self(function: Callable) -> Callable:
    """A stand-in with the signature of the bound method."""

    def bound(*arguments, **named):
        raise NotImplementedError

    signature = inspect.signature(function)
    _, *parameters = signature.parameters.values()
    bound.__signature__ = signature.replace(parameters=parameters)
    return bound


def takes_something(function: Callable) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except ValueError:  # builtins without a signature
        return False


def full_name(thing: Callable) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
