"""The examples of Keras run as they are."""

import os
import subprocess
import sys

from conftest import REPOSITORY


def run(name, out_dir):
    """The lines that an example prints."""
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "examples/tensorflow" / name), out_dir],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_the_first_run_of_the_readme_shows_its_losses(out_dir):
    saved, losses = run("keras_fit.py", out_dir)
    assert saved == "Saved these tensors: ['batch', 'loss']"
    assert losses.startswith("Loss values during evaluation were {0: ")


def test_collections_hold_what_was_added_to_them(out_dir):
    lines = run("keras_collections.py", out_dir)
    counts = dict(line.split() for line in lines[:5])
    assert counts == {
        "gradients": "4",
        "hidden_outputs": "1",
        "score_weights": "1",
        "biases_only": "2",
        "metrics": "0",
    }
    assert float(lines[5].split()[-1]) > 0
