// Bindings of include/smdebug/capture: a session, and the slots that its
// adapters keep. A call with a tensor is made once per tensor and step, so it
// first checks whether the tensor is due, and imports it only then.

#include "capture.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/try.h"
#include "smdebug/capture/session.h"
#include "smdebug/capture/termination.h"
#include "smdebug/core/dtype.h"
#include "smdebug/core/statistics.h"

#include "bindings.h"
#include "interrupt.h"
#include "result_caster.h"
#include "tensor_input.h"
#include "tensor_walk.h"
#include "unlocked_waits.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

// Captures the imported tensor, or reports why it could not be imported.
void put_view(const TensorSlot& slot, const TensorImport& tensor,
              const Status& status) {
  if (status) {
    slot.put(tensor.view());
  } else {
    slot.skip(status.error().message);
  }
}

void put_import(const TensorSlot& slot, const TensorImport& tensor,
                const Status& status) {
  if (status) slot.set_placement(tensor.placement());
  put_view(slot, tensor, status);
}

// Captures the tensor, which is due. The session's DeviceTransfer copies
// elements on a device. A tensor that it refuses is copied at once, and the
// call waits.
void put_due(const TensorSlot& slot, nb::handle tensor) {
  TensorImport imported;
  const Status status = imported.load(tensor, TensorImport::OnDevice::stays);
  if (!status || !imported.stays_on_device())
    return put_import(slot, imported, status);
  slot.set_placement(imported.placement());
  if (slot.put_on_device(imported.device_tensor().ptr())) return;
  TensorImport copied;
  const Status was_copied = copied.load(tensor);
  put_import(slot, copied, was_copied);
}

}  // namespace

void put_tensor(const TensorSlot& slot, nb::handle tensor) {
  if (slot.is_due()) put_due(slot, tensor);
}

namespace {

// Avoids creating an array.
void put_number(const TensorSlot& slot, double value) {
  constexpr std::array<std::int64_t, 1> kOne = {1};
  slot.put(
      {DType::float64, reinterpret_cast<const std::byte*>(&value), kOne, {}});
}

void put_copy(const TensorSlot& slot, nb::handle copy) {
  if (!slot.is_due()) return;
  TensorImport imported;
  const Status status = imported.load(copy);
  put_view(slot, imported, status);
}

void put_statistics(const TensorSlot& slot, const std::string& dtype,
                    const std::vector<std::int64_t>& shape,
                    const TensorStatistics& statistics) {
  if (const auto known = find_dtype(dtype)) {
    slot.put_statistics(*known, shape, statistics);
  } else if (slot.is_due()) {
    slot.skip("dtype '" + dtype + "' is not supported");
  }
}

// The slot as a Python object that keeps its session alive.
nb::object to_python(const TensorSlot& slot, Session* session) {
  nb::object object = nb::cast(slot);
  nb::keep_alive_obj(object, nb::find(session));
  return object;
}

// The transfer of an adapter in Python: a function of a slot and a tensor.
class PythonDeviceTransfer : public DeviceTransfer {
 public:
  explicit PythonDeviceTransfer(nb::object take) : take_(std::move(take)) {}

  // The session owns this: it cannot be known earlier.
  void serve(Session* session) { session_ = session; }

  bool take(const TensorSlot& slot, const void* tensor) override {
    try {
      return nb::cast<bool>(
          take_(to_python(slot, session_),
                nb::handle(static_cast<const PyObject*>(tensor))));
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  nb::object take_;
  Session* session_ = nullptr;
};

// The slots of tensors that are put together, once per step.
struct BoundSlots {
  Session* session;
  std::vector<TensorSlot> slots;

  void put(nb::typed<nb::list, nb::object> tensors) const {
    const std::size_t count = std::min(slots.size(), nb::len(tensors));
    for (std::size_t i = 0; i < count; ++i) {
      put_tensor(slots[i],
                 PyList_GetItem(tensors.ptr(), static_cast<Py_ssize_t>(i)));
    }
  }
  // One tensor that has all these names.
  void put_shared(nb::handle tensor) const {
    if (!is_any_due()) return;
    TensorImport imported;
    if (Status status = imported.load(tensor); !status)
      return slots.front().skip(status.error().message);
    session->put_shared(slots, imported.view());
  }
  bool is_any_due() const {
    return std::ranges::any_of(slots, &TensorSlot::is_due);
  }
  std::vector<bool> can_match() const {
    std::vector<bool> answers;
    for (const TensorSlot& slot : slots) answers.push_back(slot.can_match());
    return answers;
  }
};

// A module as Python holds it.
struct BoundModule {
  Session* session;
  ModuleSlots slots;
  bool was_called = false;

  void capture_inputs(nb::handle arguments, nb::handle keywords) {
    was_called = true;
    const auto visit = [this](nb::handle tensor) {
      if (const auto slot = slots.next_input()) put_due(*slot, tensor);
    };
    walk_tensors(arguments, visit);
    walk_tensors(keywords, visit);
  }

  void capture_outputs(nb::handle output) {
    was_called = true;
    walk_tensors(output, [this](nb::handle tensor) {
      if (const auto slot = slots.next_output()) put_due(*slot, tensor);
    });
  }

  void capture_call(nb::handle arguments, nb::handle keywords,
                    nb::handle output) {
    capture_inputs(arguments, keywords);
    capture_outputs(output);
  }

  // Hooks each output that backward passes through: its gradient is saved in
  // the slot of the output. Leaves are left out: a hook on a leaf would stay
  // forever, and the gradient of a leaf is that of a parameter.
  void watch_gradients(nb::handle output) const {
    walk_tensors(output, [this](nb::handle tensor) {
      const auto slot = slots.next_output();
      if (!slot) return;
      try {
        watch_gradient(*slot, tensor);
      } catch (const nb::python_error& error) {
        slot->skip(error.what());
      }
    });
  }

  // For tensors that walk_tensors does not know.
  std::optional<TensorSlot> next_input() {
    was_called = true;
    return slots.next_input();
  }
  std::optional<TensorSlot> next_output() {
    was_called = true;
    return slots.next_output();
  }

  bool may_match_input() const { return slots.may_match_input(); }
  bool may_match_output() const { return slots.may_match_output(); }
  bool can_match_input() const { return slots.can_match_input(); }
  bool can_match_output() const { return slots.can_match_output(); }

 private:
  void watch_gradient(const TensorSlot& slot, nb::handle tensor) const {
    if (!nb::cast<bool>(tensor.attr("requires_grad")) ||
        nb::cast<bool>(tensor.attr("is_leaf"))) {
      return;
    }
    tensor.attr("register_hook")(to_python(slot, session).attr("put"));
  }
};

void bind_statistics(nb::module_& m) {
  nb::class_<TensorStatistics>(
      m, "TensorStatistics",
      "The statistics of a tensor, or of a part of "
      "it, from one pass. The moments are over its finite "
      "elements, 0 where there are none; `m2` is the "
      "sum of squared distances from `mean`.")
      .def(
          "__init__",
          [](TensorStatistics* self, std::uint64_t count, std::uint64_t nan,
             std::uint64_t positive_inf, std::uint64_t negative_inf,
             std::uint64_t zeros, double min, double max, double mean,
             double m2, double sum_abs, double sum_squares) {
            new (self) TensorStatistics{
                count, nan,  positive_inf, negative_inf, zeros,      min,
                max,   mean, m2,           sum_abs,      sum_squares};
          },
          nb::kw_only(), "count"_a = 0, "nan"_a = 0, "positive_inf"_a = 0,
          "negative_inf"_a = 0, "zeros"_a = 0, "min"_a = 0.0, "max"_a = 0.0,
          "mean"_a = 0.0, "m2"_a = 0.0, "sum_abs"_a = 0.0,
          "sum_squares"_a = 0.0)
      .def("merge", &TensorStatistics::merge, "other"_a,
           "Adds the elements that `other` describes.");
}

void bind_slots(nb::module_& m) {
  nb::class_<ScalarSlot>(m, "ScalarSlot",
                         "The slot of one scalar series, which an adapter "
                         "keeps.")
      .def(
          "note",
          [](const ScalarSlot& self, double value) { self.note(value); },
          "value"_a,
          "Notes the value of the step that was begun last, saved or not. The "
          "last of several values for a step counts. The thread that owns the "
          "step; values from other threads are dropped and counted.")
      .def(
          "note_at",
          [](const ScalarSlot& self, const std::tuple<Step, Mode, Step>& step,
             double value) {
            const auto [global, mode, mode_step] = step;
            self.note({global, mode, mode_step}, value);
          },
          "step"_a, "value"_a,
          nb::sig("def note_at(self, step: tuple[int, ModeKeys, int], value: "
                  "float) -> None"),
          "Does the same for a value that is known late, such as one from a "
          "device. `step` is `Session.step` of its step; any other is dropped "
          "and counted.")
      .def_prop_ro(
          "name",
          [](const ScalarSlot& self) { return std::string(self.name()); },
          "The name of the series.");
  nb::class_<TensorSlot>(m, "TensorSlot",
                         "The slot of one tensor, which an adapter keeps: it "
                         "holds every decision made about the tensor.")
      .def("put", &put_tensor, "tensor"_a,
           "Captures the tensor if it is due. Any thread.")
      .def("put_number", &put_number, "value"_a,
           "Captures the number, a float64 of shape (1,), if it is due.")
      .def("put_copy", &put_copy, "copy"_a,
           "Captures a host copy of the device tensor that was put: see "
           "`device_transfer` of Session.create.")
      .def("needs_elements", &TensorSlot::needs_elements,
           "Returns whether the open step saves more of the tensor than its "
           "statistics. False if it is not due.")
      .def(
          "sample_steps",
          [](const TensorSlot& self, const std::vector<std::int64_t>& shape) {
            return self.sample_steps(shape);
          },
          "shape"_a,
          "Returns the distance between the indices of each dimension that "
          "are saved of a tensor of that shape; empty if all are.")
      .def("put_statistics", &put_statistics, "dtype"_a, "shape"_a,
           "statistics"_a,
           "Captures the statistics of a tensor instead of its elements, if it "
           "is due. `dtype` is numpy's name. If `needs_elements()`, the tensor "
           "is skipped.")
      .def("is_due", &TensorSlot::is_due,
           "Returns whether the open step saves the tensor.")
      .def("is_next_due", &TensorSlot::is_next_due,
           "Returns whether the next step saves the tensor.")
      .def("can_match", &TensorSlot::can_match,
           "Returns whether the plan in use can ever save the tensor.")
      .def("skip", &TensorSlot::skip, "reason"_a,
           "Reports that the tensor cannot be saved, in the status and once in "
           "the log.")
      .def("leave_out", &TensorSlot::leave_out, "reason"_a,
           "Like `skip`, without a log message.");
  nb::class_<BoundSlots>(
      m, "TensorSlots",
      "The slots of tensors that are put together, once per step.")
      .def("put", &BoundSlots::put, "tensors"_a,
           "Captures those that are due, by position.")
      .def("put_shared", &BoundSlots::put_shared, "tensor"_a,
           "Captures one tensor under all these names that are due; it is "
           "stored once.")
      .def("is_any_due", &BoundSlots::is_any_due,
           "Returns whether the open step saves any of them.")
      .def("can_match", &BoundSlots::can_match,
           "Returns, for each of them, whether the plan in use can ever save "
           "it.");
  nb::class_<BoundModule>(
      m, "ModuleSlots",
      "The slots of the inputs and outputs of one module, numbered by step.")
      .def_ro("was_called", &BoundModule::was_called,
              "Whether a call of the module was ever reported.")
      .def("capture_inputs", &BoundModule::capture_inputs, "arguments"_a,
           "keywords"_a,
           "Captures the tensors in the arguments of a call that are due.")
      .def("capture_outputs", &BoundModule::capture_outputs, "output"_a.none(),
           "Captures the tensors in the result of a call that are due.")
      .def("capture_call", &BoundModule::capture_call, "arguments"_a,
           "keywords"_a, "output"_a.none(),
           "Captures the inputs and outputs of a call that are due.")
      .def("watch_gradients", &BoundModule::watch_gradients, "output"_a.none(),
           "Saves the gradient of each tensor in `output` when the backward "
           "pass computes it, if an output is due.")
      .def("next_input", &BoundModule::next_input, nb::keep_alive<0, 1>(),
           "Counts one more input of this step. Returns its slot, or None if "
           "it is not due.")
      .def("next_output", &BoundModule::next_output, nb::keep_alive<0, 1>(),
           "Counts one more output of this step. Returns its slot, or None if "
           "it is not due.")
      .def("may_match_input", &BoundModule::may_match_input,
           "Returns whether the plan of the next step can save an input, "
           "before the module is called.")
      .def("may_match_output", &BoundModule::may_match_output,
           "Returns whether the plan of the next step can save an output, "
           "before the module is called.")
      .def("can_match_input", &BoundModule::can_match_input,
           "Returns whether the plan in use saves any input seen so far; True "
           "before the first call.")
      .def("can_match_output", &BoundModule::can_match_output,
           "Returns whether the plan in use saves any output seen so far; True "
           "before the first call.");
}

Result<std::unique_ptr<Session>> create_session(
    HookConfig config, const Framework& framework,
    std::vector<std::string> command,
    std::map<std::string, std::string> versions,
    std::map<std::string, std::string> environment,
    nb::object device_transfer) {
  std::shared_ptr<PythonDeviceTransfer> transfer;
  if (!device_transfer.is_none())
    transfer = std::make_shared<PythonDeviceTransfer>(device_transfer);
  SessionOptions options;
  options.config = std::move(config);
  options.framework = framework;
  options.process = {std::move(command), std::move(versions),
                     std::move(environment)};
  options.device_transfer = transfer;
  options.check_interrupt = &is_interrupt_pending;
  const UnlockedWaits unlocked;
  SMD_TRY(auto session, Session::create(std::move(options)));
  if (transfer) transfer->serve(session.get());
  return session;
}

}  // namespace

Status save_tensor(Session& session, const std::string& name, nb::handle tensor,
                   const std::vector<std::string>& collections) {
  TensorImport imported;
  if (Status status = imported.load(tensor); !status) {
    session.tensor(name).skip(status.error().message);
    return {};
  }
  if (imported.placement())
    session.tensor(name).set_placement(imported.placement());
  return session.save_tensor(name, imported.view(), collections);
}

namespace {

BoundSlots make_tensor_slots(Session& self,
                             const std::vector<std::string>& names,
                             const std::vector<std::string>& collections) {
  BoundSlots bound{&self, {}};
  for (const std::string& name : names)
    bound.slots.push_back(self.tensor(name, collections));
  return bound;
}

template <TensorSlot (Session::*make)(std::string_view, std::string_view)>
BoundSlots make_slots(Session& self, const std::string& root,
                      const std::vector<std::string>& paths) {
  BoundSlots bound{&self, {}};
  for (const std::string& path : paths)
    bound.slots.push_back((self.*make)(root, path));
  return bound;
}

// Adapters ask the session: the view has no class of its own in Python.
void bind_plan(nb::class_<Session>& session) {
  session
      .def_prop_ro(
          "plan_version",
          [](const Session& self) { return self.plan().version(); },
          "The number of the plan in use. It changes with the configuration.")
      .def(
          "is_next_due",
          [](const Session& self) { return self.plan().is_next_due(); },
          "Returns whether anything is due in the next step.")
      .def(
          "is_next_due",
          [](const Session& self, std::string_view tensor_name,
             std::string_view collection) {
            return self.plan().is_next_due(tensor_name, collection);
          },
          "tensor_name"_a, "collection"_a,
          "Returns the same for one tensor, by its name or its collection.")
      .def(
          "saves",
          [](const Session& self, std::string_view collection) {
            return self.plan().saves(collection);
          },
          "collection"_a,
          "Whether the plan in use saves the collection at all.")
      .def(
          "is_due",
          [](const Session& self, std::string_view tensor_name,
             std::string_view collection) {
            return self.plan().is_due(tensor_name, collection);
          },
          "tensor_name"_a, "collection"_a,
          "Returns whether the open step saves a tensor, by its name or its "
          "collection.")
      .def(
          "due_collections",
          [](const Session& self) { return self.plan().due_collections(); },
          "The names of the collections that the open step saves.");
}

constexpr std::chrono::milliseconds kTurnPoll(1);

// Calls `use` without the GIL, in the turn of this thread. Tensors are captured
// with the GIL, so no other thread captures when the turn is asked for.
template <typename Use>
auto in_turn(Session& session, const Use& use) {
  Session::Turn turn = session.try_turn();
  while (!turn) {
    {
      const nb::gil_scoped_release without_gil;
      std::this_thread::sleep_for(kTurnPoll);
    }
    turn = session.try_turn();
  }
  const nb::gil_scoped_release without_gil;
  return use(turn);
}

void bind_session(nb::module_& m) {
  nb::class_<Session> session(m, "Session", nb::is_weak_referenceable(),
                              "Records one worker's part of a run.");
  bind_plan(session);
  session
      .def_static("create", &create_session, "config"_a, "framework"_a,
                  "command"_a, "versions"_a, "environment"_a,
                  "device_transfer"_a.none() = nb::none(),
                  "Opens a session of the run that `config` describes. "
                  "`device_transfer` copies tensors from a device: a function "
                  "of a slot and the tensor that is due in it. It returns "
                  "whether it will call `put_copy`, `put_statistics` or `skip` "
                  "of the slot before the step ends. If not, the tensor is "
                  "copied at once and the call waits. Raises SMDebugError if "
                  "the configuration is not valid or the run has ended.")
      .def(
          "set_config",
          [](Session& self, HookConfig config) {
            return in_turn(self, [&](Session::Turn& turn) {
              Status set = self.set_config(std::move(config));
              turn.return_ownership();
              return set;
            });
          },
          "config"_a,
          "Sets the configuration, from the next step on. Raises "
          "SMDebugError, and keeps the previous one, if it is not valid.")
      .def("set_worker", &Session::set_worker, "rank"_a, "world_size"_a,
           "name"_a = std::string_view(),
           "Names the worker; by default `worker_<rank>`. Ignored after the "
           "first step has begun.")
      .def("set_mode", &Session::set_mode, "mode"_a,
           "Sets the mode of the next steps.")
      .def_prop_ro("mode", &Session::mode, "The mode of the next steps.")
      .def(
          "begin_step",
          [](Session& self) {
            return in_turn(self, [&](auto&) { return self.begin_step(); });
          },
          "Ends the open step, if any, and begins the next one. Returns "
          "whether anything is due in it.")
      .def("bind_to_current_thread", &Session::bind_to_current_thread,
           "Makes the calling thread the owner of the open step.")
      .def("before_update", &Session::before_update,
           "Lets the rules judge the open step before the optimizer acts.")
      .def(
          "end_step",
          [](Session& self) { in_turn(self, [&](auto&) { self.end_step(); }); },
          "Ends the open step and passes it to the writer.")
      .def_prop_ro(
          "step",
          [](const Session& self) {
            const StepId step = self.step();
            return nb::make_tuple(step.global, step.mode, step.mode_step);
          },
          nb::for_getter(
              nb::sig("def step(self) -> tuple[int, ModeKeys, int]")),
          "(global step, mode, step of the mode) of the open step.")
      .def("set_facts", &Session::set_facts, "facts"_a,
           "Reports what is trained from the open step on. Does nothing if it "
           "equals the facts reported last.")
      .def(
          "scalar",
          [](Session& self, const std::string& name) {
            return self.scalar(name);
          },
          "name"_a, nb::keep_alive<0, 1>(),
          "Returns the slot of a scalar series, which has one number per step, "
          "and creates it on first use. A name that is empty or longer than "
          "1000 bytes is logged, and its samples are ignored.")
      .def("is_capturing", &Session::is_capturing,
           "Returns whether anything is due in the open step.")
      .def(
          "tensor",
          [](Session& self, const std::string& name,
             const std::vector<std::string>& collections) {
            return self.tensor(name, collections);
          },
          "name"_a, "collections"_a = std::vector<std::string>{},
          nb::keep_alive<0, 1>(),
          "Returns the slot of a tensor. It belongs to `collections`, whatever "
          "its name, and to those that match it.")
      .def(
          "gradient",
          [](Session& self, const std::string& root, const std::string& path) {
            return self.gradient(root, path);
          },
          "root"_a, "path"_a, nb::keep_alive<0, 1>(),
          "Returns the slot `gradient/<root>_<path>`.")
      .def("tensors", &make_tensor_slots, "names"_a,
           "collections"_a = std::vector<std::string>{}, nb::keep_alive<0, 1>(),
           "The slots of several tensors that belong to the same "
           "collections, and are put together.")
      .def("parameters", &make_slots<&Session::parameter>, "root"_a, "paths"_a,
           nb::keep_alive<0, 1>(),
           "Returns the slots `<root>_<path>` of the parameters of a model.")
      .def("gradients", &make_slots<&Session::gradient>, "root"_a, "paths"_a,
           nb::keep_alive<0, 1>(),
           "Returns the slots of the gradients of these parameters.")
      .def(
          "module",
          [](Session& self, const std::string& path) {
            return BoundModule{&self, self.module(path)};
          },
          "path"_a, nb::keep_alive<0, 1>(),
          "Returns the slots of the inputs and outputs of the module at "
          "`path`.")
      .def("save_scalar", &Session::save_scalar, "name"_a, "value"_a,
           "wall_seconds"_a = nb::none(),
           "Saves a float as tensor `scalar/<name>` in the current step, due "
           "or not. `wall_seconds` is its time since the epoch; None for that "
           "of the step.")
      .def("save_integer", &Session::save_integer, "name"_a, "value"_a,
           "wall_seconds"_a = nb::none(),
           "Saves an int as tensor `scalar/<name>`: see `save_scalar`.")
      .def("save_tensor", &save_tensor, "name"_a, "tensor"_a, "collections"_a,
           "Saves a copy of a tensor in the current step, due or not, in the "
           "form that the collections ask for. A tensor that cannot be read is "
           "skipped, with a message.")
      .def("explain_empty", &Session::explain_empty, "collection"_a, "reason"_a,
           "Gives the reason that the log reports at the end if no tensor "
           "belongs to a built-in collection that is saved.")
      .def("pause", &Session::pause,
           "Stops recording from the next step on. Steps are still counted.")
      .def("resume", &Session::resume,
           "Resumes recording from the next step on.")
      .def_prop_ro("is_paused", &Session::is_paused,
                   "Whether recording is paused.")
      .def(
          "export_collections",
          [](Session& self) {
            in_turn(self, [&](Session::Turn& turn) {
              self.export_collections();
              turn.return_ownership();
            });
          },
          "Writes the collections file with the tensors seen so far.")
      .def(
          "flush",
          [](Session& self) {
            return in_turn(self, [&](Session::Turn& turn) {
              Status flushed = self.flush();
              turn.return_ownership();
              return flushed;
            });
          },
          "Waits until every finished step can be read. Raises the first "
          "error.")
      .def(
          "close",
          [](Session& self, const std::string& raised) {
            return in_turn(self, [&](auto&) { return self.close(raised); });
          },
          "raised"_a = "",
          "Publishes the open step, writes the end marker and stops the "
          "writer. `raised`: the name of the exception that ends the training. "
          "Raises the first error.")
      .def("status", &Session::status, "Returns the state of the recording.")
      .def("cost", &Session::cost, "Returns the overhead so far.")
      .def_prop_ro("worker", &Session::worker,
                   "The name of the worker in the run.")
      .def("summary", &Session::summary,
           "Returns the collections, patterns and numbers of matched tensors "
           "of the first saved step; empty before it.")
      .def("after_fork_in_child", &Session::after_fork_in_child,
           "Disables recording in the child of a fork: it writes nothing.");
}

}  // namespace

void bind_capture(nb::module_& m) {
  m.def(
      "set_local_part", [](nb::object function) { set_local_part(function); },
      "function"_a,
      "Sets the function that returns this process's part of a tensor that "
      "several processes share: (part, shape of the whole, offsets of the "
      "part), or None for any other tensor.");
  bind_statistics(m);
  bind_slots(m);
  bind_session(m);
  m.def(
      "install_termination_flush", [] { return install_termination_flush(); },
      "Makes SIGTERM publish the finished steps of every session before it "
      "ends the process. Returns False, and changes nothing, if the program "
      "has its own handler.");
}

}  // namespace smdebug
