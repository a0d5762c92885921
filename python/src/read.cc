// Bindings of include/smdebug/read: what a run holds. smdebug/trials wraps them
// in the classes that users see, with the names and defaults of the original.

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/printable.h"
#include "smdebug/core/dtype.h"
#include "smdebug/read/trial.h"

#include "bindings.h"
#include "editable_config.h"
#include "interrupt.h"
#include "result_caster.h"
#include "tensor_value.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

std::optional<std::chrono::nanoseconds> from_seconds(
    std::optional<double> seconds) {
  // More than this does not fit into the nanoseconds of a clock.
  constexpr double kForever = 1e9;
  if (!seconds || *seconds > kForever) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(*seconds));
}

// Calls a Python function before each refresh. Prints what it raises: that does
// not keep the run from being read.
std::function<void()> refresh_callback(nb::object call) {
  if (call.is_none()) return {};
  return [call = std::move(call)] {
    const nb::gil_scoped_acquire gil;
    try {
      call();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("smdebug: before_refresh");
    }
  };
}

Result<std::unique_ptr<Trial>> open_trial(const std::string& location,
                                          const std::string& name,
                                          std::optional<Step> first_step,
                                          std::optional<Step> end_step,
                                          std::optional<double> timeout_seconds,
                                          nb::object before_refresh,
                                          bool keep_values) {
  TrialOptions options;
  options.name = name;
  options.first_step = first_step;
  options.end_step = end_step;
  options.timeout = from_seconds(timeout_seconds);
  options.require_all_workers = true;
  options.check_interrupt = &check_interrupt;
  options.before_refresh = refresh_callback(std::move(before_refresh));
  options.keep_values = keep_values;
  options.clock = &unlocked_clock();
  return Trial::open(location, std::move(options));
}

// From here on, bytes that nobody else holds are handed over as they are.
// Below, copying them costs less than the object that would keep them.
constexpr std::size_t kHandedOverBytes = 64 << 10;

nb::object array_over(std::byte* data, std::size_t size, nb::handle owner) {
  return nb::cast(
      nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {size}, owner));
}

// The elements as bytes that the caller may write into, for numpy to see as it
// likes: nothing that is written reaches the run or another value.
nb::object own_bytes(const Bytes& bytes) {
  if (bytes.size() < kHandedOverBytes) {
    return nb::bytearray(bytes.data(), bytes.size());
  }
  if (bytes.is_writable()) {
    const nb::capsule owner(new Bytes(bytes), [](void* p) noexcept {
      delete static_cast<Bytes*>(p);
    });
    return array_over(const_cast<std::byte*>(bytes.data()), bytes.size(),
                      owner);
  }
  auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  std::byte* const data = copy.get();
  const nb::capsule owner(copy.release(), [](void* p) noexcept {
    delete[] static_cast<std::byte*>(p);
  });
  return array_over(data, bytes.size(), owner);
}

// A list of str or of bytes. What is no UTF-8 is shown as "\\xff".
nb::list list_of_strings(const TensorValue& value) {
  nb::list out;
  for (const std::string& element : value.strings()) {
    const auto size = static_cast<Py_ssize_t>(element.size());
    out.append(nb::steal(
        value.dtype() == DType::bytes
            ? PyBytes_FromStringAndSize(element.data(), size)
            : PyUnicode_DecodeUTF8(element.data(), size, "backslashreplace")));
  }
  return out;
}

// A buffer of bytes, or a list of strings.
nb::object elements_of(const TensorValue& value) {
  if (is_string(value.dtype())) return list_of_strings(value);
  return own_bytes(value.bytes());
}

}  // namespace

// (dtype's name, shape, elements)
nb::tuple value_parts(const TensorValue& value) {
  return nb::make_tuple(dtype_name(value.dtype()), nb::cast(value.shape()),
                        elements_of(value));
}

// (dtype's name, shape, steps, elements of each step), once for all steps that
// follow each other and are alike: thousands of small tuples would keep
// Python's collector busy.
Result<nb::list> values_parts(Tensor& tensor, Mode mode,
                              std::optional<std::string> worker) {
  SMD_TRY(const std::vector<StepValue> values,
          tensor.values(mode, std::move(worker)));
  nb::list groups;
  for (std::size_t i = 0; i < values.size();) {
    const TensorValue& first = values[i].value;
    nb::list steps, elements;
    for (; i < values.size() && values[i].value.dtype() == first.dtype() &&
           values[i].value.shape() == first.shape();
         ++i) {
      steps.append(values[i].step);
      elements.append(elements_of(values[i].value));
    }
    groups.append(nb::make_tuple(dtype_name(first.dtype()),
                                 nb::cast(first.shape()), steps, elements));
  }
  return groups;
}

namespace {

nb::dict statistics_dict(const TensorStatistics& statistics) {
  nb::dict out;
  out["count"] = statistics.count;
  out["nan"] = statistics.nan;
  out["positive_inf"] = statistics.positive_inf;
  out["negative_inf"] = statistics.negative_inf;
  out["zeros"] = statistics.zeros;
  out["min"] = statistics.min;
  out["max"] = statistics.max;
  out["mean"] = statistics.mean;
  out["m2"] = statistics.m2;
  out["sum_abs"] = statistics.sum_abs;
  out["sum_squares"] = statistics.sum_squares;
  return out;
}

Result<nb::dict> saved_reductions(Tensor& tensor, const StepQuery& query) {
  SMD_TRY(const auto saved, tensor.saved_reductions(query));
  nb::dict out;
  for (const auto& [op, value] : saved) {
    out[nb::make_tuple(reduction_name(op.reduction), op.abs)] =
        value_parts(value);
  }
  return out;
}

void bind_tensor(nb::module_& m) {
  nb::class_<Tensor>(m, "Tensor")
      .def_prop_ro("name", &Tensor::name)
      .def_prop_ro("original_name", &Tensor::original_name)
      .def("steps", &Tensor::steps, "mode"_a, "incomplete"_a)
      .def("prev_steps", &Tensor::prev_steps, "step"_a, "n"_a, "mode"_a)
      .def("workers", &Tensor::workers, "step"_a, "mode"_a)
      .def(
          "value",
          [](Tensor& self, Step step, Mode mode,
             std::optional<std::string> worker) -> Result<nb::tuple> {
            SMD_TRY(const TensorValue value,
                    self.value({step, mode, std::move(worker)}));
            return value_parts(value);
          },
          "step"_a, "mode"_a, "worker"_a.none())
      .def("values", &values_parts, "mode"_a, "worker"_a.none())
      .def(
          "dtype",
          [](Tensor& self, Step step, Mode mode,
             std::optional<std::string> worker) -> Result<std::string> {
            SMD_TRY(const DType dtype,
                    self.dtype({step, mode, std::move(worker)}));
            return std::string(dtype_name(dtype));
          },
          "step"_a, "mode"_a, "worker"_a.none())
      .def(
          "shape",
          [](Tensor& self, Step step, Mode mode,
             std::optional<std::string> worker) {
            return self.shape({step, mode, std::move(worker)});
          },
          "step"_a, "mode"_a, "worker"_a.none())
      .def(
          "saved_reductions",
          [](Tensor& self, Step step, Mode mode,
             std::optional<std::string> worker) {
            return saved_reductions(self, {step, mode, std::move(worker)});
          },
          "step"_a, "mode"_a, "worker"_a.none())
      .def(
          "reduction",
          [](Tensor& self, Step step, Mode mode,
             std::optional<std::string> worker,
             const std::string& op) -> Result<double> {
            const auto parsed = find_reduction_op(op);
            if (!parsed) {
              return Error{Error::Code::invalid_argument,
                           "no reduction '" + op + "'"};
            }
            return self.reduction({step, mode, std::move(worker)}, *parsed);
          },
          "step"_a, "mode"_a, "worker"_a.none(), "op"_a)
      .def(
          "placement",
          [](Tensor& self, Step step, Mode mode,
             std::optional<std::string> worker) -> Result<nb::object> {
            SMD_TRY(const auto placement,
                    self.placement({step, mode, std::move(worker)}));
            if (!placement) return nb::object(nb::none());
            return nb::object(
                nb::make_tuple(nb::tuple(nb::cast(placement->global_shape)),
                               nb::tuple(nb::cast(placement->offsets))));
          },
          "step"_a, "mode"_a, "worker"_a.none())
      .def(
          "merged_statistics",
          [](Tensor& self, Step step, Mode mode) -> Result<nb::dict> {
            SMD_TRY(const TensorStatistics statistics,
                    self.merged_statistics(step, mode));
            return statistics_dict(statistics);
          },
          "step"_a, "mode"_a)
      .def(
          "statistics",
          [](Tensor& self, Step step, Mode mode,
             std::optional<std::string> worker) -> Result<nb::dict> {
            SMD_TRY(const TensorStatistics statistics,
                    self.statistics({step, mode, std::move(worker)}));
            return statistics_dict(statistics);
          },
          "step"_a, "mode"_a, "worker"_a.none());
}

}  // namespace

void bind_read(nb::module_& m) {
  nb::enum_<StepState>(m, "StepState", "Whether a step can be read.")
      .value("UNAVAILABLE", StepState::unavailable)
      .value("AVAILABLE", StepState::available)
      .value("NOT_YET_AVAILABLE", StepState::not_yet_available);
  bind_tensor(m);

  nb::class_<Trial>(m, "Trial")
      .def_static("open", &open_trial, "location"_a, "name"_a,
                  "first_step"_a.none(), "end_step"_a.none(),
                  "timeout_seconds"_a.none(), "before_refresh"_a.none(),
                  "keep_values"_a)
      .def_prop_ro("name", &Trial::name)
      .def_prop_ro("location", &Trial::location)
      .def("refresh", &Trial::refresh)
      .def_prop_rw("is_refreshing", &Trial::is_refreshing,
                   &Trial::set_refreshing)
      .def("has_ended", &Trial::has_ended)
      .def(
          "tensor_names",
          [](Trial& self, std::optional<Step> step, Mode mode,
             std::vector<std::string> regexes, std::vector<std::string> names) {
            return self.tensor_names({step, mode, std::move(regexes),
                                      std::nullopt, std::move(names)});
          },
          "step"_a.none(), "mode"_a, "regexes"_a, "names"_a)
      .def("tensor", &Trial::tensor, "name"_a, nb::keep_alive<0, 1>())
      .def("has_tensor", &Trial::has_tensor, "name"_a)
      .def("steps", &Trial::steps, "mode"_a, "incomplete"_a)
      .def("modes", &Trial::modes)
      .def(
          "step_id",
          [](Trial& self, Step global_step) {
            std::optional<std::pair<Mode, Step>> found;
            if (const auto id = self.step_id(global_step)) {
              found.emplace(id->mode, id->mode_step);
            }
            return found;
          },
          "global_step"_a)
      .def("global_step", &Trial::global_step, "mode"_a, "mode_step"_a)
      .def("workers", &Trial::workers)
      .def_prop_ro("num_workers", &Trial::num_workers)
      .def_prop_ro("last_complete_step", &Trial::last_complete_step)
      .def_prop_ro("last_index_token", &Trial::last_index_token)
      .def("collections", &Trial::collections)
      .def("has_passed_step", &Trial::has_passed_step, "step"_a, "mode"_a)
      .def(
          "wait_for_steps",
          [](Trial& self, const std::vector<Step>& steps, Mode mode,
             std::optional<double> timeout_seconds) {
            return self.wait_for_steps(steps, mode,
                                       from_seconds(timeout_seconds));
          },
          "steps"_a, "mode"_a, "timeout_seconds"_a.none())
      .def("damage",
           [](Trial& self) {
             std::vector<std::pair<std::string, std::string>> rows;
             for (const Damage& part : self.damage()) {
               // A file's name need not be UTF-8, as a str must.
               rows.emplace_back(printable(part.key), printable(part.what));
             }
             return rows;
           })
      .def_prop_ro("dropped_tensors", &Trial::dropped_tensors)
      .def("bytes", &Trial::bytes)
      .def("run_file_text", &Trial::run_file_text);
  m.def("find_names", &find_names, "names"_a, "patterns"_a,
        "Those of `names` that one of `patterns` finds, in their order.");
}

}  // namespace smdebug
