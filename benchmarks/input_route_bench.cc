// An extension module for benchmarks/input_route.py: the calls that are timed,
// with nothing else in them. Not installed.

#include <cstddef>

#include <nanobind/nanobind.h>

#include "smdebug/reduce/statistics_kernel.h"

#include "tensor_input.h"

namespace nb = nanobind;

namespace smdebug {
namespace {

void empty(nb::handle) {}

// As a hook lends the output of a module.
std::size_t borrow(nb::handle tensor) {
  TensorImport imported;
  if (!imported.load(tensor)) return 0;
  return imported.view().shape.size();
}

// As a step lends all parameters at once.
std::size_t borrow_list(nb::list tensors) {
  std::size_t dimensions = 0;
  for (nb::handle tensor : tensors) {
    TensorImport imported;
    if (!imported.load(tensor)) continue;
    dimensions += imported.view().shape.size();
  }
  return dimensions;
}

nb::tuple statistics(nb::handle tensor) {
  TensorImport imported;
  if (!imported.load(tensor)) {
    return nb::make_tuple();
  }
  const TensorView& view = imported.view();
  const auto count = static_cast<std::size_t>(view.size());
  const TensorStatistics s = statistics_of(view.dtype, view.data, count);
  return nb::make_tuple(s.count, s.min, s.max, s.mean, s.m2, s.sum_abs,
                        s.sum_squares, s.zeros, s.nan);
}

}  // namespace
}  // namespace smdebug

NB_MODULE(input_route_bench, m) {
  m.def("empty", &smdebug::empty, nb::arg("tensor"));
  m.def("borrow", &smdebug::borrow, nb::arg("tensor"));
  m.def("borrow_list", &smdebug::borrow_list, nb::arg("tensors"));
  m.def("statistics", &smdebug::statistics, nb::arg("tensor"));
  m.def("target", &smdebug::statistics_kernel_target);
}
