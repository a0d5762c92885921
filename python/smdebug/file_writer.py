"""`FileWriter`: writes tensors of one step into a run, for programs that have no hook."""

import os

import numpy as np

from smdebug import _core
from smdebug._core import ModeKeys
from smdebug.array_values import as_array
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugValueError,
)
from smdebug.log import get_logger

logger = get_logger()

_KINDS = ("events", "tensorboard")
_CHECKSUMS = ("constant", "crc32c")
# TensorFlow's quantized types are numpy structs of one field, named after the type.
_QUANTIZED = ("qint8", "quint8", "qint16")
_STRUCTS = (*_QUANTIZED, "quint16", "qint32")


class FileWriter:
    """One event file and its index file: the tensors that one worker saves at one step.

    No file appears before the first tensor or shape; until `close` they end in `.tmp`. Then the
    event file gets its name first, and the index file after it. A writer that is dropped without
    `close` publishes nothing. A file that cannot be written raises SMDebugRuntimeError, here and
    in every later call. Methods may be called from several threads.

    `trial_dir` is the folder of the run, `worker` the name of the process among its workers,
    `step` the global step, 0 or more. With `write_checksum=True`, or `checksum="crc32c"`, records
    have the true checksum, which TFRecord tools verify and the original's Trial does not read; else
    they have the constant that it reads. `max_queue`, `flush_secs` and `verbose` are taken for the
    sake of old scripts, and change nothing: records are written by the call that makes them.

    With `wtype="tensorboard"` it is one file for TensorBoard instead, in the folder of `mode` below
    `trial_dir`: it takes the summaries and no tensor, and `wtype="events"`, where `mode` changes
    nothing, the other way round. What does not fit raises SMDebugValueError.
    """

    def __init__(
        self,
        trial_dir,
        worker,
        step=0,
        wtype="events",
        mode=ModeKeys.GLOBAL,
        max_queue=10,
        flush_secs=120,
        verbose=False,
        write_checksum=False,
        checksum=None,
    ):
        if wtype not in _KINDS:
            raise SMDebugValueError(f"wtype must be one of {_KINDS}, found {wtype!r}")
        if checksum not in (None, *_CHECKSUMS):
            raise SMDebugValueError(f"checksum must be one of {_CHECKSUMS}, found {checksum!r}")
        self._core = _core.FileWriter.create(
            os.fspath(trial_dir),
            step,
            worker,
            bool(write_checksum) or checksum == "crc32c",
            wtype == "tensorboard",
            _check_mode(mode),
        )

    def write_tensor(
        self,
        tdata,
        tname,
        write_index=True,
        mode=ModeKeys.GLOBAL,
        mode_step=None,
        timestamp=None,
    ):
        """Appends a tensor under the name `tname`.

        `tdata` is an array or tensor of any strides, a list or tuple of numbers or texts, or a
        single number or text, which gets shape (1,). Arrays and tensors of no dimension keep
        shape (). Lists of Python's floats are float64, of its ints int64, as in numpy. Where a
        name comes twice, readers take the later value.

        `mode_step` is by default the step, `timestamp` (seconds since the epoch) the present time.
        With `write_index=False` only `FileReader` finds the tensor.

        Raises SMDebugTypeError for what is no tensor or has a dtype that cannot be written,
        SMDebugValueError for a mode that is none or a tensor of more than 2 GiB.
        """
        label = (_check_mode(mode), mode_step, timestamp or None, bool(write_index))
        array = _as_tensor(tname, tdata)
        array, is_quantized = _without_struct(array)
        self._core.write_tensor(tname, array, *label, is_quantized)

    def write_shape(self, name, shape, mode=ModeKeys.GLOBAL, mode_step=None, original_name=None):
        """Notes the shape of a tensor, a sequence of whole numbers, without its value.

        `original_name` is what the framework calls it, by default `name`.
        """
        extents = [int(extent) for extent in shape]
        self._core.write_shape(name, extents, original_name or "", _check_mode(mode), mode_step)

    def write_scalar_summary(self, name, value, global_step=None, timestamp=None):
        """Appends a number, or an array of one element, for TensorBoard; kept as float32.

        `global_step` is by default the writer's step. In `name` what TensorBoard does not take
        becomes `_`.
        """
        number = float(np.asarray(value).item())
        self._core.write_scalar_summary(name, number, global_step, timestamp or None)

    def write_histogram_summary(
        self, tdata, tname, global_step=None, bins="default", timestamp=None
    ):
        """Appends the histogram of a tensor's elements for TensorBoard.

        They are counted between TensorBoard's own edges; `bins` other than "default" raises
        SMDebugNotImplementedError. A tensor of which nothing can be drawn (no elements, bool,
        strings, NaN alone) is left out with a warning.
        """
        if not (isinstance(bins, str) and bins == "default"):
            raise SMDebugNotImplementedError(
                f"write_histogram_summary counts between TensorBoard's own edges: leave out "
                f"bins={bins!r}"
            )
        array, _ = _without_struct(_as_tensor(tname, tdata))
        if not self._core.write_histogram_summary(tname, array, global_step, timestamp or None):
            logger.warning("tensor '%s' has no histogram: it holds no number to draw", tname)

    def write_summary(self, summary, global_step=None):
        """Appends a tensorboard.Summary: the message, or its bytes."""
        self._core.write_summary(_encoded(summary), global_step)

    def write_graph(self, graph):
        """Appends a tensorflow.GraphDef: the message, or its bytes."""
        self._core.write_graph(_encoded(graph))

    def flush(self):
        """Hands everything written so far to the operating system, in the `.tmp` file."""
        self._core.flush()

    def close(self):
        """Publishes the files. A second call does nothing."""
        self._core.close()

    def name(self):
        """Where the event file lies once the writer is closed.

        Raises SMDebugRuntimeError before the first tensor.
        """
        return self._core.name()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def _encoded(message):
    """The bytes of a protobuf message, of whichever package."""
    return message if isinstance(message, bytes) else message.SerializeToString()


def _check_mode(mode):
    if not isinstance(mode, ModeKeys):
        raise SMDebugValueError(f"mode must be one of smdebug.modes, found {mode!r}")
    return mode


def _as_tensor(name, value):
    """`value` as the core takes it: an array of numbers or texts, or a framework's tensor."""
    if isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        value = as_array(name, [value])
    elif isinstance(value, (list, tuple)):
        value = as_array(name, value)
    if not isinstance(value, np.ndarray):
        return value
    if not value.dtype.isnative and value.dtype.names is None:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def _without_struct(array):
    """(the integers of an array of a quantized type, whether their type has its own number)."""
    names = getattr(array, "dtype", None) and getattr(array.dtype, "names", None)
    if names and len(names) == 1 and names[0] in _STRUCTS:
        return array[names[0]], names[0] in _QUANTIZED
    return array, False
