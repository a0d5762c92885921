"""The snippets of docs/trainers.md are files of examples/trainers, which run as they are."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/trainers"


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        (
            "transformers_trainer.py",
            [
                "TRAIN: [0, 2, 4]",
                "EVAL: [0, 1, 2, 3]",
                "PREDICT: [0]",
                "updates with a loss: [0, 2, 4]",
            ],
        ),
        ("lightning_trainer.py", ["stopped after 9 updates"]),
        ("accelerate_loop.py", ["16 batches, updates [0, 1, 2, 3]"]),
        (
            "ignite_engine.py",
            ["TRAIN: [0, 1, 2, 3, 4, 5, 6, 7]", "EVAL: [0, 1]", "scalar/mse at [0, 1]"],
        ),
    ],
)
def test_the_example_prints_what_the_document_says(tmp_path, script, lines):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "the training has ended" in done.stderr
    said = done.stdout.splitlines()
    assert [line for line in said if line.startswith(tuple(x[:5] for x in lines))] == lines


def test_the_document_names_every_example():
    document = (ROOT / "docs/trainers.md").read_text()
    examples = list(EXAMPLES.glob("*.py"))
    assert len(examples) >= 4
    for example in examples:
        assert f"../examples/trainers/{example.name}" in document
