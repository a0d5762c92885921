"""A simulated accelerator, for tests of the transfer from a device to the core.

While it is `at_work`, the core sees every tensor of this process as a tensor on a device, except
the copies that smdebug makes. For this, torch's exchange table is replaced, which must happen
before the core imports its first tensor. Like a copy on a stream, a copy here has the elements that
its source had when the copy began, and has them only after the program has waited for a later
event; until then it is filled with another byte.
"""

import contextlib
import ctypes

import numpy as np
import torch

from smdebug.pytorch.device import device_copies

UNWRITTEN = 0xAB
_CUDA = 2  # DLPack's number of the device
_DEVICE_OFFSET = 8  # in DLPack's tensor, behind the pointer to the elements
_WORDS_OF_TABLE = 7  # the version as one, the table before, five functions
_BORROW = 5

_Borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_at_work = None
_kept = []


def _replace_table():
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    original = torch.Tensor.__dlpack_c_exchange_api__
    words = ctypes.c_void_p * _WORDS_OF_TABLE
    table = words.from_buffer_copy(words.from_address(pointer_of(original, b"dlpack_exchange_api")))
    lend = _Borrow(table[_BORROW])

    @_Borrow
    def lend_from_device(tensor, out):
        try:
            answer = lend(tensor, out)
        except Exception:  # ctypes passes none on to the caller
            return -1
        address = ctypes.c_void_p.from_address(out).value
        is_asked = answer == 0 and address is not None and _at_work is not None
        if is_asked and not _at_work.is_host(address):
            ctypes.c_int32.from_address(out + _DEVICE_OFFSET).value = _CUDA
        return answer

    table[_BORROW] = ctypes.cast(lend_from_device, ctypes.c_void_p).value
    _kept.extend((original, table, lend_from_device))
    torch.Tensor.__dlpack_c_exchange_api__ = new_capsule(
        ctypes.addressof(table), b"dlpack_exchange_api", None
    )


_replace_table()


class StandIn:
    """Replaces TorchAccelerator. Tests inspect the calls that it received."""

    def __init__(self):
        self.stream = "stream"  # the current one
        self.is_recording = False
        self.fails_at = None  # "copy", "event" or "synchronize"
        self.has_kernels = False  # for the statistics of float32
        self.reduced = 0  # tensors
        self.copied = 0
        self.copied_bytes = []  # of each
        self.events = []
        self.waits = 0  # for an event that had not passed
        self.copied_at_once = 0
        self._queue = []  # (stream, number, copy, elements of the source)
        self._host = []  # storages of copies, kept so that no address is used twice

    # --- calls of DeviceCopies ---

    def serves(self, device):
        return True

    def is_recorded(self, device):
        return self.is_recording

    def copy(self, source, copy):
        self._fail("copy")
        self.add_host(copy)
        copy.view(-1).view(torch.uint8).fill_(UNWRITTEN)
        self.copied += 1
        self.copied_bytes.append(source.nbytes)
        self._queue.append((self.stream, self.copied, copy, source.detach().clone()))
        return self.stream

    def has_kernel_for(self, tensor):
        return self.has_kernels and tensor.dtype == torch.float32 and tensor.numel() > 0

    def reduce(self, tensor, numbers):
        self.reduced += 1
        row = np.ctypeslib.as_array(ctypes.cast(numbers, ctypes.POINTER(ctypes.c_double)), (10,))
        return self.copy(_ten_numbers(tensor.detach().double().numpy()), torch.from_numpy(row))

    def make_event(self, device):
        self._fail("event")
        self.events.append(StandInEvent(self))
        return self.events[-1]

    # --- calls of this module ---

    def is_host(self, address):
        return any(
            each.data_ptr() <= address < each.data_ptr() + each.nbytes() for each in self._host
        )

    def add_host(self, tensor):
        storage = tensor.untyped_storage()
        if all(storage.data_ptr() != each.data_ptr() for each in self._host):
            self._host.append(storage)

    def copy_at_once(self, tensor):
        """Replaces Tensor.cpu."""
        self.copied_at_once += 1
        copy = tensor.detach().clone()
        self.add_host(copy)
        return copy

    def run(self, stream, last):
        """Completes everything on `stream` up to copy number `last`."""
        done = [each for each in self._queue if each[0] == stream and each[1] <= last]
        self.waits += bool(done)
        for each in done:
            self._queue.remove(each)
            _, _, copy, elements = each
            with torch.inference_mode():
                copy.copy_(elements)

    def _fail(self, where):
        if self.fails_at == where:
            raise RuntimeError(f"no {where} today")


def _ten_numbers(values):
    """As a kernel writes them, by numpy."""
    finite = values[np.isfinite(values)]
    infinities = values[np.isinf(values)]
    return torch.tensor(
        [
            *(finite.size, values.size - finite.size, np.sign(infinities).sum()),
            *(infinities.size, np.count_nonzero(finite)),
            *(finite.min(initial=np.inf), finite.max(initial=-np.inf)),
            *((finite.mean(), finite.var() * finite.size) if finite.size else (0, 0)),
            np.abs(finite).sum(),
        ],
        dtype=torch.float64,
    )


class StandInEvent:
    def __init__(self, accelerator):
        self._accelerator = accelerator
        self._mark = None

    def record(self, stream):
        self._mark = stream, self._accelerator.copied

    def synchronize(self):
        self._accelerator._fail("synchronize")
        self._accelerator.run(*self._mark)


@contextlib.contextmanager
def at_work():
    """A context in which tensors are on a device; hooks created in it copy with its StandIn."""
    global _at_work
    accelerator = StandIn()
    torchs_own = device_copies.TorchAccelerator, torch.Tensor.cpu
    device_copies.TorchAccelerator = lambda: accelerator
    torch.Tensor.cpu = lambda tensor: accelerator.copy_at_once(tensor)
    _at_work = accelerator
    try:
        yield accelerator
    finally:
        _at_work = None
        device_copies.TorchAccelerator, torch.Tensor.cpu = torchs_own
