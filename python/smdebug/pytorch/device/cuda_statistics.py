"""`CudaStatistics`: the statistics of a tensor on a CUDA device, by one kernel.

torch needs 22 launches for them, and temporary tensors of float64 (device_statistics.py). This
kernel reads the tensor once and writes ten numbers straight to pinned host memory. NVRTC, which
torch brings along, compiles it once per process; it is launched through the driver's C interface.
Both are loaded with ctypes, from the library that torch loads for its own kernels. If anything is
missing, `CudaStatistics.create` returns None.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from smdebug.log import get_logger
from smdebug.pytorch.device.device_statistics import NUMBERS
from smdebug.pytorch.private_names import nvrtc_library, raw_stream

_logger = get_logger()

_THREADS = 256
_ELEMENTS_OF_THREAD = 16
# Blocks per multiprocessor. All are resident at once.
_BLOCKS = 4

_KERNELS = {
    torch.float32: "statistics_float32",
    torch.float16: "statistics_float16",
    torch.bfloat16: "statistics_bfloat16",
}

# Each block computes the statistics of its elements; the block that ends last merges them, in the
# order of the blocks, so that the result does not depend on which one it is. Squares are those of
# the distance from one element of the block, which loses no digits however large the mean is.
_SOURCE = r"""
struct Moments { double count, mean, m2; };

__device__ Moments merged(Moments a, Moments b) {
  double count = a.count + b.count;
  if (count == 0) return a;
  double distance = b.mean - a.mean;
  return {count, a.mean + distance * (b.count / count),
          a.m2 + b.m2 + distance * distance * (a.count * (b.count / count))};
}

struct Numbers {
  Moments moments;  // of the finite elements
  double others, signs, infinite, nonzero, least, greatest, sum_abs;
};

__device__ Numbers merged(Numbers a, Numbers b) {
  return {merged(a.moments, b.moments), a.others + b.others, a.signs + b.signs,
          a.infinite + b.infinite, a.nonzero + b.nonzero, fmin(a.least, b.least),
          fmax(a.greatest, b.greatest), a.sum_abs + b.sum_abs};
}

__device__ Numbers merged_in_block(Numbers mine) {
  __shared__ Numbers all[256];
  all[threadIdx.x] = mine;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      all[threadIdx.x] = merged(all[threadIdx.x], all[threadIdx.x + half]);
  }
  __syncthreads();
  return all[0];
}

__device__ float as_float(float x) { return x; }
struct bfloat16 { unsigned short bits; };
__device__ float as_float(bfloat16 x) { return __uint_as_float((unsigned)x.bits << 16); }
struct float16 { unsigned short bits; };
__device__ float as_float(float16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

template <typename T>
__device__ void statistics(const T* tensor, unsigned long long size, Numbers* of_blocks,
                           unsigned* ended, double* result) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  const unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x;
  float shift = first < size ? as_float(tensor[first]) : 0.0f;
  if (!isfinite(shift)) shift = 0.0f;
  double sum = 0, squares = 0, sum_abs = 0;
  unsigned long long finite = 0, nan = 0, above = 0, below = 0, nonzero = 0;
  float least = __int_as_float(0x7f800000), greatest = -least;
#pragma unroll 4
  for (unsigned long long i = first + threadIdx.x; i < size; i += step) {
    const float x = as_float(tensor[i]);
    if (isfinite(x)) {
      const double distance = (double)x - shift;
      sum += distance;
      squares += distance * distance;
      sum_abs += fabs((double)x);
      ++finite;
      nonzero += x != 0.0f;
      least = fminf(least, x);
      greatest = fmaxf(greatest, x);
    } else {
      nan += isnan(x);
      above += x > 0.0f;
      below += x < 0.0f;
    }
  }
  // Over the threads, sums of distances from the same element can be added.
  Numbers mine = {{(double)finite, 0, 0}, (double)(nan + above + below),
                  (double)above - (double)below, (double)(above + below), (double)nonzero,
                  least, greatest, sum_abs};
  if (finite) {
    const double mean = sum / finite;
    mine.moments.mean = shift + mean;
    mine.moments.m2 = fmax(squares - sum * mean, 0.0);
  }
  Numbers block = merged_in_block(mine);
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    of_blocks[blockIdx.x] = block;
    __threadfence();
    is_last = atomicInc(ended, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  Numbers all = {{0, 0, 0}, 0, 0, 0, 0, __int_as_float(0x7f800000), -__int_as_float(0x7f800000), 0};
  for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
    all = merged(all, of_blocks[i]);
  all = merged_in_block(all);
  if (threadIdx.x == 0) {
    const double row[] = {all.moments.count, all.others, all.signs, all.infinite, all.nonzero,
                          all.least, all.greatest, all.moments.mean, all.moments.m2, all.sum_abs};
    for (int i = 0; i < 10; ++i) result[i] = row[i];
    __threadfence_system();
  }
}

#define KERNEL(type, name) \
  extern "C" __global__ void __launch_bounds__(256) name( \
      const type* tensor, unsigned long long size, Numbers* of_blocks, unsigned* ended, \
      double* result) { \
    statistics(tensor, size, of_blocks, ended, result); \
  }
KERNEL(float, statistics_float32)
KERNEL(float16, statistics_float16)
KERNEL(bfloat16, statistics_bfloat16)
"""


class _Stream:
    """A stream, and the device memory for the statistics of blocks of its kernels, which run one
    after the other."""

    def __init__(self, device: torch.device, most_blocks: int) -> None:
        self.stream: torch.cuda.Stream = torch.cuda.current_stream(device)
        self.pointer = ctypes.c_void_p(self.stream.cuda_stream)
        # The count of blocks that have ended, which a kernel leaves at 0; then their statistics.
        self._memory = torch.zeros(1 + NUMBERS * most_blocks, dtype=torch.float64, device=device)
        self.ended: int = self._memory.data_ptr()
        self.of_blocks: int = self.ended + 8


class CudaStatistics:
    """The kernels on one device. Not thread-safe."""

    def __init__(
        self, device: torch.device, driver: Any, functions: dict[torch.dtype, Any]
    ) -> None:
        self._device = device
        self._index: int = device.index
        self._launch = driver.cuLaunchKernel
        self._functions = functions
        properties = torch.cuda.get_device_properties(device)
        self._most_blocks: int = _BLOCKS * properties.multi_processor_count
        self._streams: dict[int, _Stream] = {}  # by address
        self._tensor = ctypes.c_void_p()
        self._size = ctypes.c_ulonglong()
        self._of_blocks = ctypes.c_void_p()
        self._ended = ctypes.c_void_p()
        self._result = ctypes.c_void_p()
        arguments = (self._tensor, self._size, self._of_blocks, self._ended, self._result)
        self._arguments = (ctypes.c_void_p * len(arguments))(
            *(ctypes.addressof(argument) for argument in arguments)
        )

    @classmethod
    def create(cls, device: torch.device) -> CudaStatistics | None:
        """Compiles the kernels for a CUDA device. Returns None if that is not possible."""
        if device.type != "cuda" or torch.version.cuda is None:
            return None
        try:
            with torch.cuda.device(device):
                library = _library()
                image = _compiled(library, torch.cuda.get_device_capability(device))
                return cls(device, library, _loaded(library, image))
        except Exception as error:  # a build of torch without them, or another release of them
            _logger.debug("statistics on '%s' are computed by torch: %r", device, error)
            return None

    def takes(self, tensor: torch.Tensor) -> bool:
        """Whether `begin` takes a tensor on this device: its dtype is known, and its elements have
        no gaps."""
        return (
            type(tensor) in (torch.Tensor, torch.nn.Parameter)
            and tensor.dtype in self._functions
            and tensor.numel() > 0
            and not tensor.is_neg()
            and torch.cuda.current_device() == self._index
            and (tensor.is_contiguous() or _has_no_gaps(tensor))
        )

    def begin(self, tensor: torch.Tensor, result: int) -> torch.cuda.Stream:
        """Starts to write the ten numbers of `device_statistics` to the address `result`, in pinned
        memory. Returns the stream, the current one. Raises RuntimeError if the kernel does not
        start."""
        address = raw_stream(self._index)
        stream = self._streams.get(address)
        if stream is None:
            stream = self._streams[address] = _Stream(self._device, self._most_blocks)
        size = tensor.numel()
        self._tensor.value = tensor.data_ptr()
        self._size.value = size
        self._of_blocks.value = stream.of_blocks
        self._ended.value = stream.ended
        self._result.value = result
        blocks = min(self._most_blocks, -(-size // (_THREADS * _ELEMENTS_OF_THREAD)))
        function = self._functions[tensor.dtype]
        _check(
            self._launch(
                *(function, blocks, 1, 1, _THREADS, 1, 1, 0),
                *(stream.pointer, self._arguments, None),
            ),
            "cuLaunchKernel",
        )
        return stream.stream


def _has_no_gaps(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their memory, in any order of dimensions. The gradient of a linear
    layer may be transposed."""
    expected = 1
    for stride, extent in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if extent == 1:
            continue
        if stride != expected:
            return False
        expected *= extent
    return True


def _library() -> Any:
    """NVRTC and the driver: torch's own library links to both."""
    return ctypes.CDLL(nvrtc_library())


def _compiled(library: Any, capability: tuple[int, int]) -> bytes:
    """Machine code for devices of that capability."""
    program = ctypes.c_void_p()
    _check(
        library.nvrtcCreateProgram(
            ctypes.byref(program), _SOURCE.encode(), b"statistics.cu", 0, None, None
        ),
        "nvrtcCreateProgram",
    )
    try:
        major, minor = capability
        options = (ctypes.c_char_p * 2)(
            f"--gpu-architecture=sm_{major}{minor}".encode(), b"--std=c++17"
        )
        if library.nvrtcCompileProgram(program, len(options), options):
            raise RuntimeError(_text(library, program, "nvrtcGetProgramLog"))
        return _bytes(library, program, "nvrtcGetCUBIN")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(library: Any, program: Any, function: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(library, function + "Size")(program, ctypes.byref(size)), function)
    image = ctypes.create_string_buffer(size.value)
    _check(getattr(library, function)(program, image), function)
    return image.raw


def _text(library: Any, program: Any, function: str) -> str:
    return _bytes(library, program, function).decode(errors="replace").rstrip("\0")


def _loaded(library: Any, image: bytes) -> dict[torch.dtype, Any]:
    """The kernels, in the current context. They stay loaded as long as the process lives."""
    module = ctypes.c_void_p()
    _check(library.cuModuleLoadData(ctypes.byref(module), image), "cuModuleLoadData")
    functions = {}
    for dtype, name in _KERNELS.items():
        function = ctypes.c_void_p()
        _check(
            library.cuModuleGetFunction(ctypes.byref(function), module, name.encode()),
            "cuModuleGetFunction",
        )
        functions[dtype] = function
    return functions


def _check(result: int, function: str) -> None:
    if result:
        raise RuntimeError(f"{function} failed with error {result}")
