"""Every dtype through a run: written by the core, read by `create_trial`, compared with numpy."""

import fractions
import json
import math
import pathlib
import secrets
import shutil
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest
import torch

from conftest import read, run_script
from smdebug import _core
from smdebug.exceptions import SMDebugRuntimeError, TensorUnavailableForStep

GOLDEN = pathlib.Path(__file__).parents[2] / "tests/golden"

FLOATS = ["float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
COMPLEX = ["complex64", "complex128"]
NUMBERS = [*FLOATS, *INTEGERS, *COMPLEX, "bool"]
REDUCTIONS = ["min", "max", "mean", "median", "std", "variance", "sum", "prod", "l1", "l2"]
OPS = [prefix + name for prefix in ("", "abs_") for name in REDUCTIONS]


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, name))


class Recording:
    """A session without a hook: puts arrays of any kind into one step, then reads the run."""

    def __init__(self, out_dir, reductions="", raw=True):
        config = _core.HookConfig(
            out_dir,
            reduction_config=_core.ReductionConfig.from_dict(
                {"reductions": reductions, "save_raw_tensor": raw}
            ),
            include_regex=["."],
            include_collections=[],
            save_all=False,
            dry_run=False,
            all_workers=False,
            collections=[],
        )
        self.out_dir = out_dir
        self.session = _core.Session.create(config, _core.pytorch_framework(), [], {}, {})
        self.session.begin_step()

    def put(self, name, array):
        self.session.tensor(name).put(array)

    def skipped(self):
        return self.session.status().skipped

    def read(self):
        self.session.close()
        assert self.session.status().error is None
        return read(self.out_dir)


def record(out_dir, arrays, **options):
    recording = Recording(out_dir, **options)
    for name, array in arrays.items():
        recording.put(name, array)
    trial = recording.read()
    assert recording.skipped() == {}
    return trial


def seeded():
    """A generator, and the seed to name in a failure."""
    seed = secrets.randbits(32)
    return np.random.default_rng(seed), seed


def random_elements(rng, dtype, count):
    """Elements of which some are as odd as the dtype allows."""
    if dtype == "str":
        alphabet = np.array(["a", "é", "日", "🙂", " ", "\n", '"', "\\"])
        return np.array(["".join(rng.choice(alphabet, rng.integers(5))) for _ in range(count)], "U")
    if dtype == "bytes":
        return np.array([rng.bytes(rng.integers(5)).rstrip(b"\0") for _ in range(count)], "S")
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(2, size=count).astype(bool)
    if dtype in INTEGERS or rng.random() < 0.3:  # any bits at all, NaN with payloads too
        return np.frombuffer(rng.bytes(count * kind.itemsize), kind)
    if dtype in COMPLEX:
        real, imaginary = (random_elements(rng, "float64", count) for _ in range(2))
        with np.errstate(all="ignore"):
            return (real + 1j * imaginary).astype(kind)
    elements = rng.normal(size=count) * 10.0 ** rng.integers(-3, 4)
    odd = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324], size=count)
    with np.errstate(all="ignore"):
        return np.where(rng.random(count) < 0.1, odd, elements).astype(kind)


def random_view(rng, dtype):
    """An array of random rank and shape, over a larger one: any strides, negative and zero too."""
    rank = rng.integers(0, 5)
    base_shape = rng.integers(0 if rng.random() < 0.1 else 1, 6, size=rank)
    array = random_elements(rng, dtype, int(np.prod(base_shape))).reshape(base_shape)
    array = array.transpose(rng.permutation(rank))
    slices = [slice(None, None, int(rng.choice([1, 1, 2, -1, -2]))) for _ in range(rank)]
    array = array[(*slices, ...)]
    if rng.random() < 0.2:
        array = np.broadcast_to(array, (3, *array.shape))
    if rng.random() < 0.1:
        array = np.asfortranarray(array)
    return array


def assert_same(read_back, array, where):
    assert read_back.shape == array.shape, where
    if array.dtype.kind in "US":
        assert read_back.dtype.kind == array.dtype.kind, where
        assert read_back.tolist() == array.tolist(), where
    else:
        assert read_back.dtype == array.dtype, where
        assert read_back.tobytes() == array.tobytes(), where


@pytest.mark.parametrize("dtype", [*NUMBERS, "str", "bytes"])
def test_any_array_comes_back_bit_by_bit(out_dir, dtype):
    rng, seed = seeded()
    arrays = {f"t{i}": random_view(rng, dtype) for i in range(60)}
    trial = record(out_dir, arrays)
    for name, array in arrays.items():
        tensor = trial.tensor(name)
        where = f"{name}: {dtype} {array.shape} {array.strides}, seed {seed}"
        assert_same(tensor.value(0), array, where)
        assert tensor.shape(0) == array.shape, where
        assert tensor.statistics(0)["count"] == array.size, where


@pytest.mark.parametrize("dtype", NUMBERS)
def test_any_tensor_of_torch_comes_back_bit_by_bit(out_dir, dtype):
    rng, seed = seeded()
    tensors = {}
    for i in range(20):
        shape = tuple(rng.integers(0, 5, size=rng.integers(0, 5)))
        bits = rng.bytes(int(np.prod(shape)) * numpy_dtype(dtype).itemsize)
        if dtype == "bool":
            bits = bytes(byte & 1 for byte in bits)
        kind = getattr(torch, dtype)
        flat = torch.frombuffer(bytearray(bits), dtype=kind) if bits else torch.empty(0, dtype=kind)
        tensors[f"t{i}"] = flat.reshape(shape).permute(rng.permutation(len(shape)).tolist())
    trial = record(out_dir, tensors)
    for name, tensor in tensors.items():
        where = f"{name}: {dtype} {tuple(tensor.shape)}, seed {seed}"
        value = trial.tensor(name).value(0)
        assert value.dtype == numpy_dtype(dtype), where
        assert value.shape == tuple(tensor.shape), where
        bits = tensor.contiguous().flatten().view(torch.uint8).numpy()
        assert value.tobytes() == bits.tobytes(), where


@pytest.mark.parametrize("dtype", [*NUMBERS, "str", "bytes"])
def test_an_empty_array_comes_back_empty(out_dir, dtype):
    kind = numpy_dtype(dtype) if dtype in NUMBERS else {"str": "U1", "bytes": "S1"}[dtype]
    arrays = {"a": np.zeros((0,), kind), "b": np.zeros((3, 0, 2), kind)}
    trial = record(out_dir, arrays, reductions=",".join(OPS))
    for name, array in arrays.items():
        assert_same(trial.tensor(name).value(0), array, name)
        assert trial.tensor(name).reduction_values(0) == {}
        with pytest.raises(TensorUnavailableForStep):
            trial.tensor(name).reduction_value(0, "mean")


def test_a_tensor_of_64_dimensions_comes_back(out_dir):
    shape = [1] * 64
    shape[0] = shape[20] = shape[63] = 2
    array = np.arange(8, dtype="int16").reshape(shape[::-1]).T
    trial = record(out_dir, {"numpy": array, "torch": torch.from_numpy(array)})
    assert_same(trial.tensor("numpy").value(0), array, "numpy")
    assert_same(trial.tensor("torch").value(0), array, "torch")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(-3, 3, dtype=">i4"),
        np.array([1.5, np.nan], ">f8"),
        np.array([[1 + 2j]], ">c8"),
        np.array(["ab", "é"], ">U2"),
        np.array(["a", "bc"], object),
        np.array([b"a", b"bc"], object),
        np.zeros(3, [("a", "f4"), ("b", "u2")])["a"],
        np.str_("text"),
        np.bytes_(b"bytes"),
        b"bytes",
        bytearray(b"numbers"),
        memoryview(np.arange(6, dtype="int16"))[::-2],
        np.float32(2.5),
    ],
    ids=repr,
)
def test_what_lies_oddly_in_memory_is_converted(out_dir, array):
    value = record(out_dir, {"t": array}).tensor("t").value(0)
    assert value.shape == np.shape(array)
    assert value.dtype.isnative
    np.testing.assert_array_equal(value, array)


def test_strings_keep_the_nuls_that_they_end_in(out_dir):
    arrays = {
        "str": np.array(["a\0", "b"], object),
        "bytes": np.array([[b"\0\0", b""]], object),
    }
    trial = record(out_dir, arrays)
    for name, array in arrays.items():
        assert trial.tensor(name).value(0).tolist() == array.tolist()


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.array(["a", 1], object), "element 1 is of type 'int'"),
        (np.array([b"a", "a"], object), "element 1 is of type 'str'"),
        (np.array(None), "element 0 is of type 'NoneType'"),
        (np.array(["a", "\ud800"], object), "element 1 has half of a surrogate pair"),
        (np.zeros(2, "f4,i4"), "put its fields one by one, they are ('f0', 'f1')"),
        (np.zeros(2, np.longdouble), "convert them to float64"),
        (np.array(["2020-01-01"], "M8[D]"), "'datetime64[D]' are times"),
        (np.zeros(2, "m8[s]"), "'timedelta64[s]' are times"),
        (np.zeros(2, ml_dtypes.int4), "'int4' are not supported"),
        (np.zeros(2, "V3"), "'void24' are not supported"),
        ({"a": 1}, "type 'dict' is not a tensor"),
        ("text", "type 'str' is not a tensor"),
    ],
    ids=str,
)
def test_what_has_no_dtype_is_skipped_and_said_once(out_dir, capfd, array, reason):
    recording = Recording(out_dir)
    for _ in range(3):
        recording.put("odd", array)
        recording.put("sound", np.ones(2))
        recording.session.begin_step()
    trial = recording.read()
    assert reason in recording.skipped()["odd"]
    assert capfd.readouterr().err.count("'odd' is not saved") == 1
    assert trial.tensor_names() == ["sound"]


# ---- Reductions ----


def float64_of(array):
    """What an element counts for: its value, or its absolute value where it is complex."""
    flat = np.asarray(array).ravel()
    with np.errstate(invalid="ignore"):  # NaN that signal
        if flat.dtype.kind == "c":
            return np.hypot(*(part.astype("float64") for part in (flat.real, flat.imag)))
        return flat.astype("float64")


def exact_product(elements):
    """np.prod, but for products whose parts leave the range of float64 on the way."""
    if not np.isfinite(elements).all():
        return np.prod(np.where(np.isfinite(elements), np.sign(elements), elements))
    product = math.prod(map(fractions.Fraction, elements.tolist()))
    try:
        return float(product)
    except OverflowError:
        return np.inf if product > 0 else -np.inf


def by_numpy(op, elements, ddof):
    """The reduction of float64 elements."""
    x = np.abs(elements) if op.startswith("abs_") else elements
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "min": np.min,
            "max": np.max,
            "mean": np.mean,
            "median": np.median,
            "std": lambda x: np.std(x, ddof=ddof),
            "variance": lambda x: np.var(x, ddof=ddof),
            "sum": np.sum,
            "prod": exact_product,
            "l1": lambda x: np.linalg.norm(x, 1),
            "l2": lambda x: np.linalg.norm(x, 2),
        }[op.removeprefix("abs_")](x)


def tolerance_of(op, elements):
    """Sums that cancel, and deviations of equal elements, are as exact as the largest element."""
    finite = np.abs(elements[np.isfinite(elements)])
    if not finite.size:
        return 0
    largest = 1e-14 * finite.max()
    scale = {"sum": elements.size, "mean": 1, "std": 1, "variance": largest}
    return largest * scale.get(op.removeprefix("abs_"), 0)


def moderate_view(rng, dtype):
    """A random view whose squares and products stay within float64."""
    while True:
        array = random_view(rng, dtype)
        size = np.abs(float64_of(array))
        size = size[np.isfinite(size)]
        if array.size and not (size > 1e100).any() and not ((size < 1e-100) & (size > 0)).any():
            return array


@pytest.mark.parametrize("dtype", NUMBERS)
def test_reductions_computed_on_reading_are_those_of_numpy_in_float64(out_dir, dtype):
    rng, seed = seeded()
    arrays = {f"t{i}": moderate_view(rng, dtype) for i in range(25)}
    trial = record(out_dir, arrays)
    for name, array in arrays.items():
        elements = float64_of(array)
        for op in OPS:
            expected = by_numpy(op, elements, ddof=0)
            found = trial.tensor(name)._core.reduction(0, _core.ModeKeys.GLOBAL, None, op)
            where = f"{op} of {name}: {dtype} {array.shape}, seed {seed}"
            np.testing.assert_allclose(
                found, expected, rtol=1e-9, atol=tolerance_of(op, elements), err_msg=where
            )


# The dtype that a saved reduction has; float64 for all others.
SAVED_DTYPE = {
    **{name: name for name in ("float16", "bfloat16", "float32", "float64")},
    **dict.fromkeys(("complex64", "float8_e4m3fn", "float8_e5m2"), "float32"),
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_saved_reductions_are_those_of_numpy_with_torchs_deviation(out_dir, dtype):
    rng, seed = seeded()
    arrays = {f"t{i}": moderate_view(rng, dtype) for i in range(25)}
    trial = record(out_dir, arrays, reductions=",".join(OPS), raw=False)
    kind = numpy_dtype(SAVED_DTYPE.get(dtype, "float64"))
    for name, array in arrays.items():
        saved = trial.tensor(name).reduction_values(0)
        assert len(saved) == len(OPS)
        elements = float64_of(array)
        for op in OPS:
            number = saved[op.removeprefix("abs_"), op.startswith("abs_")]
            where = f"{op} of {name}: {dtype} {array.shape}, seed {seed}"
            assert number.shape == () and number.dtype == kind, where
            with np.errstate(over="ignore"):
                expected = np.asarray(by_numpy(op, elements, ddof=1)).astype(kind)
            digits = 1e-9 if kind == np.float64 else 2 * float(ml_dtypes.finfo(kind).eps)
            np.testing.assert_allclose(
                number.astype("float64"),
                expected.astype("float64"),
                rtol=digits,
                atol=tolerance_of(op, elements) + 2 * float(ml_dtypes.finfo(kind).tiny),
                err_msg=where,
            )


def test_strings_are_counted_and_not_reduced(out_dir):
    arrays = {"str": np.array(["a", ""]), "bytes": np.array([b"a"])}
    trial = record(out_dir, arrays, reductions=",".join(OPS))
    for name, array in arrays.items():
        tensor = trial.tensor(name)
        statistics = tensor.statistics(0)
        assert statistics.pop("count") == array.size
        assert set(statistics.values()) == {0}
        assert tensor.reduction_values(0) == {}
        for op in REDUCTIONS:
            with pytest.raises(TensorUnavailableForStep, match="no numbers"):
                tensor.reduction_value(0, op)


def test_the_command_line_shows_strings_without_statistics(out_dir):
    record(out_dir, {"t": np.array(["a", ""]), "n": np.array([1.5, 2.5])})
    rows = {}
    for name in ("t", "n"):
        command = [sys.executable, "-m", "smdebug", "tensor", out_dir, name, "--step=0", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        (rows[name],) = json.loads(done.stdout)["rows"]
    assert rows["t"]["statistics"] is None
    assert rows["t"]["dtype"] == "str" and rows["t"]["elements"] == "['a', '']"
    assert rows["n"]["statistics"]["mean"] == 2


# ---- Reading ----


def test_without_ml_dtypes_bfloat16_and_float8_are_widened_without_loss(out_dir, tmp_path):
    arrays = {  # every value of each dtype
        "bfloat16": np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16),
        "float8_e5m2": np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2),
        "float8_e4m3fn": np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn),
    }
    record(out_dir, {name: array.reshape(2, -1) for name, array in arrays.items()})
    done = run_script(
        tmp_path,
        """
        import sys
        sys.modules["ml_dtypes"] = None  # as if it were not installed
        import numpy as np
        from smdebug.trials import create_trial
        trial = create_trial(sys.argv[1], timeout=5)
        values = {name: trial.tensor(name).value(0) for name in trial.tensor_names()}
        assert all(trial.tensor(name).dtype(0) == values[name].dtype for name in values)
        np.savez(sys.argv[2], **values)
        """,
        arguments=[out_dir, str(tmp_path / "read.npz")],
    )
    read = np.load(tmp_path / "read.npz")
    for name, array in arrays.items():
        wider = np.float32 if name == "bfloat16" else np.float16
        assert read[name].dtype == wider and read[name].shape == (2, array.size // 2)
        np.testing.assert_array_equal(read[name].ravel(), array.astype(wider))
        assert f"{name} elements are read as {np.dtype(wider)}" in done.stderr


def event_file(out_dir):
    return next(pathlib.Path(out_dir).glob("events/*/*.tfevents"))


def test_a_damaged_string_is_never_read(out_dir):
    record(out_dir, {"t": np.array(["healthy"])})
    path = event_file(out_dir)
    path.write_bytes(path.read_bytes().replace(b"healthy", b"heal\x00hy"))
    with pytest.raises(SMDebugRuntimeError, match="checksum"):
        read(out_dir).tensor("t").value(0)


def test_text_that_is_no_unicode_is_shown_escaped(out_dir):
    # Only another library could write it, without the checksums of ours.
    record(out_dir, {"t": np.array(["caf_"])})
    path = event_file(out_dir)
    path.write_bytes(path.read_bytes().replace(b"caf_", b"caf\xe9"))
    index = next(pathlib.Path(out_dir).glob("index/*/*.json"))
    content = json.loads(index.read_text())
    del content["smdebug"]
    index.write_text(json.dumps(content))
    assert read(out_dir).tensor("t").value(0).tolist() == ["caf\\xe9"]


def golden_run(case, tmp_path):
    folder = GOLDEN / case
    if not folder.exists():
        pytest.skip(f"the run of the original '{case}' is not among tests/golden")
    shutil.copytree(folder / "run", tmp_path / "golden")
    return read(tmp_path / "golden"), json.loads((folder / "expected.json").read_text())


def plain(value):
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    return value


def test_what_was_given_to_the_original_is_read(tmp_path):
    trial, expected = golden_run("core_dtypes", tmp_path)
    assert len(expected["numpy"]) == 26
    for name, given in expected["numpy"].items():
        value = trial.tensor(name).value(0)
        assert list(value.shape) == given["shape"], name
        kind = given.get("dtype") or given["struct"].removeprefix("q")
        assert value.dtype == kind, name
        if "value" in given:
            assert plain(value.tolist()) == given["value"], name


def test_the_originals_strings_are_read(tmp_path):
    trial, expected = golden_run("core_strings", tmp_path)
    assert len(expected["trial"]["tensors"]) == 4
    for name, tensor in expected["trial"]["tensors"].items():
        for step, at in tensor["at"].items():
            value = trial.tensor(name).value(int(step))
            assert value.tolist() == at["algo-1"]["value"]["value"], name
