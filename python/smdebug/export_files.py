"""Writes the files of `smdebug export` for which the core has no library."""

from __future__ import annotations

import importlib
import pathlib
import zipfile
from collections.abc import Iterator, Sequence

import numpy as np

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugError, SMDebugRuntimeError, SMDebugValueError
from smdebug.log import get_logger
from smdebug.trials import create_trial


def write_export(
    format: str, source: str, out: str, tensors: Sequence[str], step: int | None, mode: ModeKeys
) -> None:
    """Writes the file `out` as `format`: "parquet" from the Arrow file `source`; "npz" or
    "safetensors" from the run `source`, with the tensors of one step whose names match one of the
    patterns. Without `step`, it is the last one of `mode` that has such tensors.

    Raises SMDebugRuntimeError if a library is missing, SMDebugValueError if there is no such
    tensor, and what reading or writing raises."""
    if format == "parquet":
        _write_parquet(source, out)
        return
    write = {"npz": _write_npz, "safetensors": _write_safetensors}[format]
    write(out, _values(source, tensors, step, mode))


def _has(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _write_parquet(source: str, out: str) -> None:
    if _has("pyarrow.parquet"):
        import pyarrow.feather
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.feather.read_table(source), out)
    elif _has("polars"):
        import polars

        polars.read_ipc(source, memory_map=False).write_parquet(out)
    else:
        raise SMDebugRuntimeError(
            "Parquet files need the package pyarrow or polars: pip install pyarrow; or use "
            "--format arrow"
        )


def _values(
    run: str, tensors: Sequence[str], step: int | None, mode: ModeKeys
) -> Iterator[tuple[str, np.ndarray]]:
    """The names and values of the tensors of a step. Logs once how many have no value to write, and
    why the first has none. Raises SMDebugValueError if that holds for all of them."""
    trial = create_trial(run)
    patterns = list(tensors) or None
    steps = trial.steps(mode=mode)[::-1] if step is None else [step]
    for one in steps:
        names = trial.tensor_names(step=one, mode=mode, regex=patterns)
        if names:
            break
    else:
        wanted = f"the names {', '.join(tensors)}" if tensors else "any name"
        at = f"{mode.name} step {step}" if step is not None else "any step"
        raise SMDebugValueError(f"run '{run}' has no tensor with {wanted} at {at}")
    reasons: dict[str, str] = {}
    for name in names:
        try:
            value = trial.tensor(name).value(one, mode=mode)
        except SMDebugError as error:
            reasons[name] = str(error)
            continue
        if value.dtype.kind in "OSU":
            reasons[name] = f"tensor '{name}' is text"
            continue
        yield name, value
    if not reasons:
        return
    text = f"{len(reasons)} of {len(names)} tensors of step {one} cannot be written: "
    text += next(iter(reasons.values()))
    if len(reasons) == len(names):
        raise SMDebugValueError(text)
    get_logger().warning("%s", text)


def _write_npz(out: str, values: Iterator[tuple[str, np.ndarray]]) -> None:
    """One value at a time is in memory. numpy has no bfloat16 and no float8: they become float32,
    without a loss."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, value in values:
            if value.dtype.type.__module__ != "numpy":
                value = value.astype(np.float32)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, value, allow_pickle=False)


def _write_safetensors(out: str, values: Iterator[tuple[str, np.ndarray]]) -> None:
    if not _has("safetensors.numpy"):
        raise SMDebugRuntimeError(
            "safetensors files need the package of that name: pip install safetensors; or use "
            "--format npz"
        )
    from safetensors.numpy import save

    data = save({name: np.ascontiguousarray(value) for name, value in values})
    pathlib.Path(out).write_bytes(data)  # `save_file` hides it from other users
