"""The package answers about runs of the original as the original did (README.md)."""

import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from common import array

from smdebug.exceptions import TensorUnavailableForStep
from smdebug.trials import create_trial

HERE = pathlib.Path(__file__).parent
CASES = sorted(path.parent.name for path in HERE.glob("*/expected.json"))
TINY = 1e-300


def run_check(*arguments):
    return subprocess.run(
        [sys.executable, HERE / "check.py", *arguments], capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def open_case(tmp_path):
    def open_copy(case):
        packed = HERE / case / "run.tar.gz"
        if packed.exists():
            tarfile.open(packed).extractall(tmp_path, filter="data")
        else:
            shutil.copytree(HERE / case / "run", tmp_path / "run")
        return create_trial(tmp_path / "run")

    return open_copy


def expected(case):
    return json.loads((HERE / case / "expected.json").read_text())


def test_answers_about_the_originals_runs_are_the_originals():
    check = run_check("--accept", HERE / "differences.toml")
    assert check.returncode == 0, check.stdout + check.stderr
    assert check.stdout.count("answers, 0 differ") == len(CASES) == 24


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('where = "trial/no such place"\nrow = "l1, l2"', "accepted but not seen"),
        ('where = "trial/tensor_names_by_mode/*"\nrow = "no such row"', "without a row"),
        (
            'where = "trial/tensor_names_by_mode/*"\nrow = "l1, l2"\nraised = "TypeError"',
            "accepted but not seen",
        ),
    ],
)
def test_a_difference_is_accepted_only_where_it_is_seen_and_meant(tmp_path, entry, complaint):
    text = (HERE / "differences.toml").read_text()
    path = tmp_path / "differences.toml"
    path.write_text(f'{text}\n[[difference]]\ncase = "core_devices"\n{entry}\n')
    check = run_check("--accept", path)
    assert check.returncode == 1 and complaint in check.stdout


def by_numpy(value, op):
    """The reduction in float64, of the flattened array."""
    x = value.astype(np.float64).ravel()
    if op.startswith("abs_"):
        x, op = np.abs(x), op[4:]
    with np.errstate(all="ignore"):
        return {
            "min": np.min,
            "max": np.max,
            "mean": np.mean,
            "median": np.median,
            "std": np.std,
            "variance": np.var,
            "sum": np.sum,
            "prod": np.prod,
            "l1": lambda x: np.abs(x).sum(),
            "l2": lambda x: np.sqrt(np.square(x).sum()),
        }[op](x)


def as_the_dtype_holds_it(value, number):
    """In float16, say, a large sum is infinite."""
    if value.dtype.kind != "f":
        return number
    with np.errstate(over="ignore"):
        return float(value.dtype.type(number))


def allowed_error(value, op):
    """What rounding may do: of the answer to the tensor's dtype, of float64 sums that cancel."""
    is_float = value.dtype.kind == "f" and value.dtype.itemsize < 8
    relative = np.finfo(value.dtype).eps if is_float else 1e-12
    magnitudes = np.abs(value.astype(np.float64))
    cancelling = {"sum": magnitudes.sum(), "mean": magnitudes.mean()}.get(op, 0)
    return relative, 1e-13 * cancelling + TINY


@pytest.mark.parametrize("case", CASES)
def test_reductions_computed_on_reading_are_those_of_numpy_in_float64(open_case, case):
    trial = open_case(case)
    compared = 0
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for step in tensor.steps()[-3:]:
            for worker in tensor.workers(step):
                compared += compare_reductions(tensor, step, worker)
    without_numbers = ("core_strings", "mxnet_reductions", "keras_save_all")
    assert compared > 0 or case in without_numbers


def compare_reductions(tensor, step, worker):
    try:
        value = tensor.value(step, worker=worker)
    except TensorUnavailableForStep:
        return 0
    if value.dtype.kind not in "fiub" or value.size == 0 or not np.isfinite(value).all():
        return 0
    saved = tensor.reduction_values(step, worker=worker)
    ops = ("min", "max", "mean", "median", "std", "variance", "sum", "prod", "l1", "l2")
    for op in ops:
        for absolute in (False, True):
            if (op, absolute) in saved:
                continue
            full_op = f"abs_{op}" if absolute else op
            got = tensor.reduction_value(step, op, worker=worker, abs=absolute)
            relative, error = allowed_error(value, op)
            want = by_numpy(value, full_op)
            np.testing.assert_allclose(
                float(got), as_the_dtype_holds_it(value, want), relative, error, err_msg=f"{tensor.name} {step} {full_op}"
            )
    return 1


def test_every_dtype_is_read_as_it_was_given_to_the_writer(open_case):
    trial = open_case("core_dtypes")
    given = expected("core_dtypes")["numpy"]
    assert len(given) == 26
    for name, answer in given.items():
        value = trial.tensor(name).value(0)
        if "struct" in answer:  # quantized: numpy has structs of one integer for them
            assert (value.dtype.name, value.tolist()) == (name.removeprefix("q"), answer["value"])
        else:
            assert json.loads(json.dumps(array(value))) == answer, name


def test_text_is_read_as_the_originals_file_reader_read_it(open_case):
    trial = open_case("core_strings")
    read = expected("core_strings")["read_tensors"]
    assert len(read) == 4
    for name, step, texts, _, _ in read:
        assert list(map(str, trial.tensor(name).value(step))) == texts


def test_a_tensor_saved_with_its_shape_reads_as_its_event_file_says(open_case):
    trial = open_case("pytorch_raw_and_shape")
    stored = expected("pytorch_raw_and_shape")["in_event_file_of_step_0"]
    raw = {name: answer for name, answer in stored.items() if "smdebug/reductions" not in name}
    assert "Net_conv.weight" in raw
    for name, answer in raw.items():
        assert json.loads(json.dumps(array(trial.tensor(name).value(0)))) == answer
