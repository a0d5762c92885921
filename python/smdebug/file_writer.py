"""`FileWriter`: writes the tensors of one step into a run, for programs without a hook."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from smdebug import _core
from smdebug._core import ModeKeys
from smdebug.array_values import as_array
from smdebug.aws_credentials import use_boto3_credentials
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugValueError,
)
from smdebug.log import get_logger
from smdebug.trials.arguments import checked_mode

if TYPE_CHECKING:
    from typing import Self

_logger = get_logger()

_KINDS = ("events", "tensorboard")
_CHECKSUMS = ("constant", "crc32c")
# TensorFlow's quantized types are numpy structs of one field, named after the type.
_QUANTIZED = ("qint8", "quint8", "qint16")
_STRUCTS = (*_QUANTIZED, "quint16", "qint32")


class FileWriter:
    """One event file and its index file: the tensors that one worker saves at one step.

    The files appear with the first tensor or shape and end in `.tmp` until `close`, which renames
    the event file first and then the index file. A writer that is dropped without `close` publishes
    nothing. If a file cannot be written, the call and every later one raise SMDebugRuntimeError.
    Methods may be called from several threads.

    `trial_dir` is the folder of the run, `worker` the name of the process among its workers, and
    `step` the global step, 0 or more. With `write_checksum=True` or `checksum="crc32c"`, records
    have the true checksum, which TFRecord tools verify but the original's Trial does not read;
    otherwise they have the constant that it reads. `max_queue`, `flush_secs` and `verbose` are
    accepted for compatibility and have no effect, because each call writes its record.

    With `wtype="tensorboard"` the writer makes one file for TensorBoard instead, in the folder of
    `mode` below `trial_dir`. It accepts summaries and no tensors. With `wtype="events"`, where
    `mode` has no effect, it accepts tensors and no summaries. Raises SMDebugValueError otherwise.
    """

    def __init__(
        self,
        trial_dir: str | os.PathLike[str],
        worker: str,
        step: int = 0,
        wtype: str = "events",
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        max_queue: int = 10,
        flush_secs: int = 120,
        verbose: bool = False,
        write_checksum: bool = False,
        checksum: str | None = None,
    ) -> None:
        if wtype not in _KINDS:
            raise SMDebugValueError(f"wtype must be one of {_KINDS}, found {wtype!r}")
        if checksum not in (None, *_CHECKSUMS):
            raise SMDebugValueError(f"checksum must be one of {_CHECKSUMS}, found {checksum!r}")
        folder = os.fspath(trial_dir)
        use_boto3_credentials(folder)
        self._core = _core.FileWriter.create(
            folder,
            step,
            worker,
            bool(write_checksum) or checksum == "crc32c",
            wtype == "tensorboard",
            checked_mode(mode),
        )

    def write_tensor(
        self,
        tdata: Any,
        tname: str,
        write_index: bool = True,
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        mode_step: int | None = None,
        timestamp: float | None = None,
    ) -> None:
        """Appends a tensor under the name `tname`.

        `tdata` is an array or tensor of any strides, a list or tuple of numbers or texts, or a
        single number or text, which gets shape (1,). Arrays and tensors without dimensions keep
        shape (). Lists of Python floats are float64 and of ints int64, as in numpy. If a name is
        written twice, readers return the later value.

        `mode_step` defaults to the step, and `timestamp` (seconds since the epoch) to the current
        time. With `write_index=False`, only `FileReader` finds the tensor.

        Raises SMDebugTypeError for a value that is not a tensor or has an unsupported dtype, and
        SMDebugValueError for an invalid mode or a tensor of more than 2 GiB.
        """
        label = (checked_mode(mode), mode_step, timestamp or None, bool(write_index))
        array = _as_tensor(tname, tdata)
        array, is_quantized = _without_struct(array)
        self._core.write_tensor(tname, array, *label, is_quantized)

    def write_shape(
        self,
        name: str,
        shape: Iterable[int],
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        mode_step: int | None = None,
        original_name: str | None = None,
    ) -> None:
        """Writes the shape of a tensor without its value.

        `original_name` is its name in the framework, by default `name`.
        """
        extents = [int(extent) for extent in shape]
        self._core.write_shape(name, extents, original_name or "", checked_mode(mode), mode_step)

    def write_scalar_summary(
        self,
        name: str,
        value: Any,
        global_step: int | None = None,
        timestamp: float | None = None,
    ) -> None:
        """Appends a number, or an array of one element, for TensorBoard, as float32.

        `global_step` defaults to the step of the writer. Characters in `name` that TensorBoard does
        not accept become `_`.
        """
        number = float(np.asarray(value).item())
        self._core.write_scalar_summary(name, number, global_step, timestamp or None)

    def write_histogram_summary(
        self,
        tdata: Any,
        tname: str,
        global_step: int | None = None,
        bins: str = "default",
        timestamp: float | None = None,
    ) -> None:
        """Appends the histogram of the elements of a tensor for TensorBoard.

        The bins are TensorBoard's; a value of `bins` other than "default" raises
        SMDebugNotImplementedError. A tensor without numbers to plot (no elements, bool, strings,
        only NaN) is skipped with a warning.
        """
        if not (isinstance(bins, str) and bins == "default"):
            raise SMDebugNotImplementedError(
                f"write_histogram_summary uses the bins of TensorBoard; remove bins={bins!r}"
            )
        array, _ = _without_struct(_as_tensor(tname, tdata))
        if not self._core.write_histogram_summary(tname, array, global_step, timestamp or None):
            _logger.warning("tensor '%s' has no histogram: it contains no numbers to plot", tname)

    def write_summary(
        self, summ: Any, global_step: int | None = None, timestamp: float | None = None
    ) -> None:
        """Appends a tensorboard.Summary: the message, or its bytes."""
        self._core.write_summary(_encoded(summ), global_step, timestamp or None)

    def write_graph(self, graph: Any) -> None:
        """Appends a tensorflow.GraphDef: the message, or its bytes."""
        self._core.write_graph(_encoded(graph))

    def flush(self) -> None:
        """Writes everything so far to the `.tmp` file."""
        self._core.flush()

    def close(self) -> None:
        """Publishes the files. A second call does nothing."""
        self._core.close()

    def name(self) -> str:
        """The path of the event file after `close`.

        Raises SMDebugRuntimeError before the first tensor.
        """
        return self._core.name()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _encoded(message: Any) -> bytes:
    """The bytes of a protobuf message of any package."""
    return message if isinstance(message, bytes) else message.SerializeToString()


def _as_tensor(name: str, value: Any) -> Any:
    """`value` in a form that the core accepts: an array of numbers or texts, or a tensor of a
    framework."""
    if isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        value = as_array(name, [value])
    elif isinstance(value, (list, tuple)):
        value = as_array(name, value)
    if not isinstance(value, np.ndarray):
        return value
    if not value.dtype.isnative and value.dtype.names is None:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def _without_struct(array: Any) -> tuple[Any, bool]:
    """(the integers of an array of a quantized type, whether their type has its own number)."""
    names = getattr(array, "dtype", None) and getattr(array.dtype, "names", None)
    if names and len(names) == 1 and names[0] in _STRUCTS:
        return array[names[0]], names[0] in _QUANTIZED
    return array, False
