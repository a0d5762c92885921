// Bindings of include/smdebug/read: the content of a run. smdebug/trials wraps
// them in the classes for users, with the names and defaults of the original.

#include <algorithm>
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

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"
#include "smdebug/core/dtype.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/read/statistics_table.h"
#include "smdebug/read/trial.h"

#include "bindings.h"
#include "editable_config.h"
#include "interrupt.h"
#include "result_caster.h"
#include "tensor_value.h"
#include "unlocked_waits.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

// The name of the capsule in the Arrow PyCapsule interface.
constexpr const char* kStreamCapsule = "arrow_array_stream";

std::optional<std::chrono::nanoseconds> from_seconds(
    std::optional<double> seconds) {
  // More than this does not fit into the nanoseconds of a clock.
  constexpr double kForever = 1e9;
  if (!seconds || *seconds > kForever) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(*seconds));
}

// Releases a stream that no caller has taken over.
void free_stream(PyObject* capsule) noexcept {
  auto* stream = static_cast<ArrowArrayStream*>(
      PyCapsule_GetPointer(capsule, kStreamCapsule));
  if (stream->release) stream->release(stream);
  delete stream;
}

Result<std::pair<nb::object, std::string>> statistics_stream(
    Trial& self, Mode mode, const std::vector<std::string>& names) {
  auto stream = std::make_unique<ArrowArrayStream>();
  SMD_TRY(std::string unreadable,
          export_statistics(self, names, mode, stream.get()));
  nb::object capsule =
      nb::steal(PyCapsule_New(stream.get(), kStreamCapsule, free_stream));
  if (!capsule.is_valid()) throw nb::python_error();
  stream.release();
  return std::pair(std::move(capsule), std::move(unreadable));
}

// Calls a Python function before each refresh. Prints its exceptions: they do
// not prevent reading the run. A Ctrl-C during the call interrupts what
// follows.
std::function<void()> refresh_callback(nb::object call) {
  if (call.is_none()) return {};
  return [call = std::move(call)] {
    const nb::gil_scoped_acquire gil;
    try {
      call();
    } catch (nb::python_error& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) {
        PyErr_SetInterrupt();
      } else {
        error.discard_as_unraisable("smdebug: before_refresh");
      }
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
  const UnlockedWaits unlocked;
  return Trial::open(location, std::move(options));
}

// From this size on, bytes without another owner are passed on without a copy.
// Below, a copy costs less than the object that would keep them alive.
constexpr std::size_t kHandedOverBytes = 64 << 10;

nb::object array_over(std::byte* data, std::size_t size, nb::handle owner) {
  return nb::cast(
      nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {size}, owner));
}

// Returns the elements as bytes that the caller may change: neither the run nor
// another value shares them.
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

std::string worker_list(const std::vector<WorkerSeries>& series) {
  std::string text;
  for (const WorkerSeries& one : series)
    text += (text.empty() ? "'" : ", '") + printable(one.worker) + "'";
  return text;
}

// Returns pairs (step of `mode`, value) of one worker; in mode `global`, of all
// steps.
Result<std::vector<std::pair<Step, double>>> series_samples(
    Trial& trial, std::string_view name, Mode mode,
    const std::optional<std::string>& worker) {
  SMD_TRY(const auto all, trial.series(name));
  const auto chosen =
      worker ? std::ranges::find(all, *worker, &WorkerSeries::worker)
             : all.begin();
  if (chosen == all.end()) {
    return Error{Error::Code::not_found,
                 "no samples of '" + printable(name) + "' by worker '" +
                     printable(*worker) + "'; there are those of " +
                     worker_list(all)};
  }
  std::vector<std::pair<Step, double>> samples;
  for (const ScalarSample& one : chosen->samples) {
    if (mode == Mode::global) {
      samples.emplace_back(one.step.global, one.value);
    } else if (one.step.mode == mode) {
      samples.emplace_back(one.step.mode_step, one.value);
    }
  }
  return samples;
}

// Returns a list of str or of bytes. Bytes that are not UTF-8 are shown as
// "\\xff".
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
  nb::class_<Tensor>(m, "Tensor",
                     "The steps and values of one tensor of a run. Arguments "
                     "`worker` name a worker; None stands for the first one "
                     "that saved the tensor at the step.")
      .def_prop_ro("name", &Tensor::name, "The name of the tensor.")
      .def_prop_ro("original_name", &Tensor::original_name,
                   "The framework's name for it, if it differs from `name`.")
      .def("steps", one_at_a_time(&Tensor::steps), "mode"_a, "incomplete"_a,
           "Returns the steps of `mode` at which any worker saved the tensor, "
           "ascending; with `incomplete`, also steps that workers are still "
           "writing.")
      .def("prev_steps", one_at_a_time(&Tensor::prev_steps), "step"_a, "n"_a,
           "mode"_a,
           "Returns the last `n` steps up to and including `step`, ascending; "
           "all of them if `n` is 0.")
      .def("workers", one_at_a_time(&Tensor::workers), "step"_a, "mode"_a,
           "Returns the names of the workers that saved the tensor at this "
           "step, sorted.")
      .def("value",
           one_at_a_time(
               [](Tensor& self, Step step, Mode mode,
                  std::optional<std::string> worker) -> Result<nb::tuple> {
                 SMD_TRY(const TensorValue value,
                         self.value({step, mode, std::move(worker)}));
                 return value_parts(value);
               }),
           "step"_a, "mode"_a, "worker"_a.none(),
           nb::sig("def value(self, step: int, mode: ModeKeys, worker: str | "
                   "None) -> tuple[str, list[int], typing.Any]"),
           "Returns (dtype, shape, elements). The elements are bytes in C "
           "order, or a list of str or bytes.")
      .def("values", one_at_a_time(&values_parts), "mode"_a, "worker"_a.none(),
           nb::sig("def values(self, mode: ModeKeys, worker: str | None) -> "
                   "list[tuple[str, list[int], list[int], list[typing.Any]]]"),
           "Returns the values at all steps of `mode` as groups of consecutive "
           "steps that have the same dtype and shape: (dtype, shape, steps, "
           "elements of each step).")
      .def("dtype",
           one_at_a_time(
               [](Tensor& self, Step step, Mode mode,
                  std::optional<std::string> worker) -> Result<std::string> {
                 SMD_TRY(const DType dtype,
                         self.dtype({step, mode, std::move(worker)}));
                 return std::string(dtype_name(dtype));
               }),
           "step"_a, "mode"_a, "worker"_a.none(),
           "Returns numpy's name of the dtype.")
      .def("shape",
           one_at_a_time([](Tensor& self, Step step, Mode mode,
                            std::optional<std::string> worker) {
             return self.shape({step, mode, std::move(worker)});
           }),
           "step"_a, "mode"_a, "worker"_a.none(), "Returns the shape.")
      .def(
          "saved_reductions",
          one_at_a_time([](Tensor& self, Step step, Mode mode,
                           std::optional<std::string> worker) {
            return saved_reductions(self, {step, mode, std::move(worker)});
          }),
          "step"_a, "mode"_a, "worker"_a.none(),
          nb::sig("def saved_reductions(self, step: int, mode: ModeKeys, "
                  "worker: str | None) -> dict[tuple[str, bool], tuple[str, "
                  "list[int], typing.Any]]"),
          "Returns the reductions that the run holds: {(name, is_abs): (dtype, "
          "shape, elements)}.")
      .def(
          "reduction",
          one_at_a_time([](Tensor& self, Step step, Mode mode,
                           std::optional<std::string> worker,
                           const std::string& op) -> Result<double> {
            const auto parsed = find_reduction_op(op);
            if (!parsed) {
              return Error{Error::Code::invalid_argument,
                           "no reduction '" + op + "'"};
            }
            return self.reduction({step, mode, std::move(worker)}, *parsed);
          }),
          "step"_a, "mode"_a, "worker"_a.none(), "op"_a,
          "Returns the reduction `op`, such as \"abs_max\" or \"l2_norm\": the "
          "saved one, or computed from the statistics or the elements.")
      .def("placement",
           one_at_a_time(
               [](Tensor& self, Step step, Mode mode,
                  std::optional<std::string> worker) -> Result<nb::object> {
                 SMD_TRY(const auto placement,
                         self.placement({step, mode, std::move(worker)}));
                 if (!placement) return nb::object(nb::none());
                 return nb::object(nb::make_tuple(
                     nb::tuple(nb::cast(placement->global_shape)),
                     nb::tuple(nb::cast(placement->offsets))));
               }),
           "step"_a, "mode"_a, "worker"_a.none(),
           "Returns (shape of the whole tensor, offsets of the saved part in "
           "it); None for a whole tensor.")
      .def("merged_statistics",
           one_at_a_time(
               [](Tensor& self, Step step, Mode mode) -> Result<nb::dict> {
                 SMD_TRY(const TensorStatistics statistics,
                         self.merged_statistics(step, mode));
                 return statistics_dict(statistics);
               }),
           "step"_a, "mode"_a,
           nb::sig("def merged_statistics(self, step: int, mode: ModeKeys) -> "
                   "dict[str, int | float]"),
           "Returns the statistics of the whole tensor, merged from the shards "
           "of all workers, as a dict.")
      .def(
          "statistics",
          one_at_a_time(
              [](Tensor& self, Step step, Mode mode,
                 std::optional<std::string> worker) -> Result<nb::dict> {
                SMD_TRY(const TensorStatistics statistics,
                        self.statistics({step, mode, std::move(worker)}));
                return statistics_dict(statistics);
              }),
          "step"_a, "mode"_a, "worker"_a.none(),
          nb::sig("def statistics(self, step: int, mode: ModeKeys, worker: str "
                  "| None) -> dict[str, int | float]"),
          "Returns the statistics of the elements as a dict: those of the "
          "index, or computed from the elements.");
}

}  // namespace

void bind_read(nb::module_& m) {
  nb::enum_<StepState>(m, "StepState", "Whether a step can be read.")
      .value("UNAVAILABLE", StepState::unavailable)
      .value("AVAILABLE", StepState::available)
      .value("NOT_YET_AVAILABLE", StepState::not_yet_available);
  bind_tensor(m);
  m.def("has_end_marker", &has_end_marker, "location"_a,
        "Returns whether the run at a path or URL has its end marker. Raises "
        "SMDebugError if that cannot be found out.");

  nb::class_<Attempt>(m, "Attempt",
                      "A start of the training in the folder of a run.")
      .def_ro("number", &Attempt::number,
              "Counts from 1; 0: before the first that is recorded.")
      .def_ro("started_seconds", &Attempt::started_seconds,
              "When it began, in seconds since the epoch.")
      .def_ro("ended_seconds", &Attempt::ended_seconds,
              "When it ended; None if it runs or was killed.")
      .def_ro("first_step", &Attempt::first_step, "Its first global step.")
      .def_ro("status", &Attempt::status,
              "\"running\", \"finished\", or its first error.")
      .def_ro("raised", &Attempt::raised,
              "The exception that ended its training, as \"ValueError\"; \"\": "
              "none did.")
      .def_ro("location", &Attempt::location,
              "The run with its steps that later attempts replaced; \"\" if "
              "there are none.");
  nb::class_<Trial>(m, "Trial", "Reads a run. smdebug.trials.Trial wraps it.")
      .def_static(
          "open", &open_trial, "location"_a, "name"_a, "first_step"_a.none(),
          "end_step"_a.none(), "timeout_seconds"_a.none(),
          "before_refresh"_a.none(), "keep_values"_a,
          "Opens the run at a path or URL, limited to steps in [`first_step`, "
          "`end_step`). Waits up to `timeout_seconds` until every worker has "
          "written its collections; None waits without a limit. Calls "
          "`before_refresh` before each refresh.")
      .def_prop_ro("name", &Trial::name, "The name of the trial.")
      .def_prop_ro("location", &Trial::location, "The path or URL of the run.")
      .def("refresh", one_at_a_time(&Trial::refresh),
           "Loads new steps. Does nothing after the end of the run.")
      .def_prop_rw("is_refreshing", &Trial::is_refreshing,
                   &Trial::set_refreshing,
                   "Whether queries refresh the trial first.")
      .def("has_ended", one_at_a_time(&Trial::has_ended),
           "Returns whether the end marker exists and every file is loaded.")
      .def(
          "tensor_names",
          one_at_a_time([](Trial& self, std::optional<Step> step, Mode mode,
                           std::vector<std::string> regexes,
                           std::vector<std::string> names) {
            return self.tensor_names({step, mode, std::move(regexes),
                                      std::nullopt, std::move(names)});
          }),
          "step"_a.none(), "mode"_a, "regexes"_a, "names"_a,
          "Returns the names that match one of `regexes` or are in `names`, "
          "sorted; all names if both are empty. `step` limits them to those of "
          "one step.")
      .def("statistics_stream", one_at_a_time(&statistics_stream), "mode"_a,
           "names"_a,
           nb::sig("def statistics_stream(self, mode: ModeKeys, names: "
                   "Sequence[str]) -> tuple[types.CapsuleType, str]"),
           "Returns the statistics of the tensors `names` as a capsule of the "
           "Arrow PyCapsule interface, and the reason why the first value that "
           "was skipped cannot be read; empty if none was.")
      .def("tensor", one_at_a_time(&Trial::tensor), "name"_a,
           nb::keep_alive<0, 1>(),
           "Returns the tensor of that name. Raises TensorUnavailable if there "
           "is none.")
      .def("has_tensor", one_at_a_time(&Trial::has_tensor), "name"_a,
           "Returns whether the run has a tensor of that name.")
      .def("steps", one_at_a_time(&Trial::steps), "mode"_a, "incomplete"_a,
           "Returns the steps of `mode`, ascending; with `incomplete`, also "
           "steps that not every worker has written.")
      .def("modes", one_at_a_time(&Trial::modes),
           "Returns the modes that have steps, never GLOBAL.")
      .def("step_id", one_at_a_time([](Trial& self, Step global_step) {
             std::optional<std::pair<Mode, Step>> found;
             if (const auto id = self.step_id(global_step)) {
               found.emplace(id->mode, id->mode_step);
             }
             return found;
           }),
           "global_step"_a,
           "Returns (mode, step of the mode) of a global step; None if the run "
           "has no such step.")
      .def("global_step", one_at_a_time(&Trial::global_step), "mode"_a,
           "mode_step"_a,
           "Returns the global step of a step of a mode; None if the run has "
           "no such step.")
      .def("workers", one_at_a_time(&Trial::workers),
           "Returns the names of the workers that have written files, sorted.")
      .def_prop_ro("num_workers", one_at_a_time(&Trial::num_workers),
                   "The number of workers that the collections files state.")
      .def_prop_ro("last_complete_step",
                   one_at_a_time(&Trial::last_complete_step),
                   "The last global step that is complete or no longer waited "
                   "for; -1 if there is none.")
      .def_prop_ro(
          "last_index_token", one_at_a_time(&Trial::last_index_token),
          "The key of the index file from which the original would list next.")
      .def("collections_version", one_at_a_time(&Trial::collections_version),
           "Returns a number that changes with the collections.")
      .def("collections", one_at_a_time(&Trial::collections),
           "Returns the collections in the order of the collections file.")
      .def("has_passed_step", one_at_a_time(&Trial::has_passed_step), "step"_a,
           "mode"_a,
           "Returns whether a step can be read now, may still appear, or never "
           "will.")
      .def("wait_for_steps",
           one_at_a_time([](Trial& self, const std::vector<Step>& steps,
                            Mode mode, std::optional<double> timeout_seconds) {
             return self.wait_for_steps(steps, mode,
                                        from_seconds(timeout_seconds));
           }),
           "steps"_a, "mode"_a, "timeout_seconds"_a.none(),
           "Waits until all of `steps` can be read. Raises for a step that "
           "never will be, and after `timeout_seconds`; None waits without a "
           "limit.")
      .def_prop_ro("attempt", one_at_a_time(&Trial::attempt),
                   "The number of the attempt that this trial shows; 0 if the "
                   "run has no run.json. Does not refresh.")
      .def("facts", one_at_a_time(&Trial::facts),
           "Returns what each worker trains, sorted by the step from which on "
           "it holds; empty for a run without facts.")
      .def("series_names", one_at_a_time(&Trial::series_names),
           "Returns the names of the scalar series, sorted.")
      .def("series", one_at_a_time(&series_samples), "name"_a, "mode"_a,
           "worker"_a.none(),
           nb::sig("def series(self, name: str, mode: ModeKeys, worker: str | "
                   "None) -> list[tuple[int, float]]"),
           "Returns pairs (step of the mode, value) of a scalar series, "
           "ascending. None: of the first worker that recorded it.")
      .def("attempts", one_at_a_time(&Trial::attempts),
           "Returns every attempt, in order; none for a run without run.json.")
      .def("refused_writer", one_at_a_time([](Trial& self) {
             auto text = self.refused_writer();
             if (text) *text = printable(*text);
             return text;
           }),
           "Returns a sentence about the last writer that was refused because "
           "another one wrote the run, or None.")
      .def("damage", one_at_a_time([](Trial& self) {
             std::vector<std::pair<std::string, std::string>> rows;
             for (const Damage& part : self.damage()) {
               // A file's name need not be UTF-8, as a str must.
               rows.emplace_back(printable(part.key), printable(part.what));
             }
             return rows;
           }),
           "Returns a pair (file, description) for each file that was skipped "
           "because it is damaged.")
      .def_prop_ro("dropped_tensors", one_at_a_time(&Trial::dropped_tensors),
                   "The number of tensors that the writer dropped because its "
                   "buffer was full.")
      .def("bytes", one_at_a_time(&Trial::bytes),
           "Returns the number of bytes in the files of the run.")
      .def("run_file_text", one_at_a_time(&Trial::run_file_text),
           "Returns the content of run.json as text.");
  m.def(
      "find_names", &find_names, "names"_a, "patterns"_a,
      "Returns those of `names` that match one of `patterns`, in their order.");
}

}  // namespace smdebug
