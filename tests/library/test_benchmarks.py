"""`mialib bench`: what it measures on this device, and how it is told."""

from subprocess import CalledProcessError

import numpy as np
import pytest
import torch

from mialib import benchmarks, cli
from mialib.benchmarks import machine, measuring, pipeline, starting, training, writing
from mialib.benchmarks.timing import Row

CPU = torch.device("cpu")


def test_the_bare_loop_and_fit_train_the_same_network():
    row = training.fit_row("resnet20", training.noise_images(16), device=CPU, rounds=1)
    assert row.seconds > 0
    assert row.aim == training.AIM
    assert "resnet20, float32" in row.what


def test_the_bare_loop_moves_the_weights():
    records = training.noise_images(32)
    model = training.models.build("mlp", shape=records.x.shape[1:], classes=10, widths=(8,))
    before = [weight.detach().clone() for weight in model.parameters()]
    x = torch.tensor(records.x, dtype=torch.float32)
    y = torch.tensor(records.y)
    training.bare_loop(model, x, y, training.Recipe(epochs=1, lr=0.01))
    assert any(
        not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True)
    )


def test_a_precision_that_the_device_lacks_is_left_out_with_the_reason(monkeypatch):
    monkeypatch.setattr(training, "has_bfloat16", lambda device: False)
    found = training.precisions(CPU)
    assert found["float32"] == ""
    assert "none of its own" in found["bfloat16"]
    assert "CUDA" in found["float16"]


def test_models_per_minute_follow_from_seconds_per_epoch(monkeypatch):
    monkeypatch.setattr(training.rehearsal, "seconds_per_epoch", lambda configuration: 2.0)
    (speed,) = training.training_speeds(CPU, names=("quick",))
    epochs = training.profiles.load("quick").images.recipe.epochs
    assert speed.models_per_minute == pytest.approx(60 / (2.0 * epochs))
    assert speed.images_per_second > 0


def test_an_epoch_of_the_pipeline_sees_every_image_once():
    x = torch.rand(300, 3, 32, 32)
    assert pipeline.epoch(x, torch.zeros(300)) == 300


def test_importing_and_a_slider_are_measured_against_their_limits():
    row = starting.import_row(rounds=1)
    assert row.baseline == starting.IMPORT_LIMIT
    assert 0 < row.seconds < 60
    assert starting.slider_row().baseline == starting.SLIDER_LIMIT


@pytest.mark.parametrize("error", [RuntimeError("no memory"), CalledProcessError(1, "python")])
def test_a_part_that_fails_is_left_out_with_the_reason(error, monkeypatch):
    def broken(measured):
        raise error

    monkeypatch.setitem(measuring.PARTS, "models", broken)
    found = benchmarks.measure("cpu", only=["models"])
    assert found.skipped == {"models": f"{type(error).__name__}: {error}"}
    assert "left out: models" in benchmarks.as_text(found)
    assert "left out: models" in benchmarks.as_markdown(found)


def test_the_command_prints_tables_and_the_line_to_send(monkeypatch, tmp_path, capsys):
    def fit(measured):
        measured.rows.append(Row("fit() against the bare loop", 1.0, 1.0, 0.97))
        measured.images_per_second["float32"] = 1234.4

    monkeypatch.setitem(measuring.PARTS, "fit", fit)
    page = tmp_path / "bench.md"
    assert cli.main(["bench", "--device", "cpu", "--only", "fit", "--out", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "The line to send us:\nmialib bench: cpu" in printed
    assert f"torch {torch.__version__}; resnet20 float32 1,234 images/s" in printed
    assert "| fit() against the bare loop | 1 s | 1 s | 1 | 0.97 |" in page.read_text("utf-8")


def test_unknown_parts_and_devices_are_refused_with_what_there_is(capsys):
    assert cli.main(["bench", "--only", "speed"]) == 1
    assert "fit, models, pipeline, start" in capsys.readouterr().err
    assert cli.main(["bench", "--device", "toaster", "--only", "start"]) == 1
    assert "auto" in capsys.readouterr().err


def test_the_facts_name_no_host_and_no_path():
    told = " ".join(machine.facts(CPU).values())
    assert "/" not in told
    assert machine.platform.node() not in told.split()
    assert "cores" in told


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.234e-5, "12.3 µs"), (0.0123, "12.3 ms"), (12.34, "12.3 s")]
)
def test_seconds_are_told_in_three_digits(seconds, text):
    assert writing.told_seconds(np.float64(seconds)) == text
