// Bindings of include/smdebug/capture: a session, and the sites that its
// adapters carry. A call with a tensor is made once per tensor and step, so it
// asks first whether the tensor is due and looks at it only then.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "smdebug/capture/session.h"
#include "smdebug/capture/termination.h"
#include "smdebug/core/dtype.h"
#include "smdebug/core/statistics.h"

#include "bindings.h"
#include "result_caster.h"
#include "tensor_input.h"
#include "tensor_walk.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

// Captures what was borrowed, or says why it could not be.
void put_view(Session& session, Site* site, const LentTensor& lent,
              const Status& status) {
  if (status) {
    session.put(site, lent.view());
  } else {
    session.skip(site, status.error().message);
  }
}

void put_lent(Session& session, Site* site, const LentTensor& lent,
              const Status& status) {
  if (status) session.set_placement(site, lent.placement());
  put_view(session, site, lent, status);
}

bool leave_to_device_copies(Session& session, Site* site,
                            const LentTensor& lent);

void put(Session& session, Site* site, nb::handle tensor) {
  LentTensor lent;
  const Status status = lent.borrow(tensor, LentTensor::OnDevice::left);
  if (!status || !lent.is_left()) {
    put_lent(session, site, lent, status);
  } else if (!leave_to_device_copies(session, site, lent)) {
    LentTensor copied;
    const Status was_copied = copied.borrow(tensor);
    put_lent(session, site, copied, was_copied);
  }
}

void put_if_due(Session& session, Site* site, nb::handle tensor) {
  if (session.is_due(site)) put(session, site, tensor);
}

// One tensor's place in a session.
struct TensorSite {
  Session* session;
  Site* site;

  void put(nb::handle tensor) { put_if_due(*session, site, tensor); }
  // No array is made of it.
  void put_number(double value) {
    constexpr std::array<std::int64_t, 1> kOne = {1};
    session->put(
        site,
        {DType::float64, reinterpret_cast<const std::byte*>(&value), kOne, {}});
  }
  void put_copy(nb::handle copy) {
    if (!session->is_due(site)) return;
    LentTensor lent;
    const Status status = lent.borrow(copy);
    put_view(*session, site, lent, status);
  }
  void put_statistics(const std::string& dtype,
                      const std::vector<std::int64_t>& shape,
                      const TensorStatistics& statistics) {
    if (const auto known = find_dtype(dtype)) {
      session->put_statistics(site, *known, shape, statistics);
    } else if (session->is_due(site)) {
      session->skip(site, "there is no dtype '" + dtype + "' here");
    }
  }
  bool needs_elements() const { return session->needs_elements(site); }
  bool is_due() const { return session->is_due(site); }
  bool is_next_due() const { return session->is_next_due(site); }
  bool can_match() const { return session->can_match(site); }
  void skip(const std::string& reason) { session->skip(site, reason); }
};

nb::object place_of(Session* session, Site* site) {
  nb::object place = nb::cast(TensorSite{session, site});
  nb::keep_alive_obj(place, nb::find(session));
  return place;
}

// Owned for as long as the interpreter lives.
PyObject* device_copies = nullptr;

// Whether the adapter copies the elements that lie on a device, and hands them
// over later in the step.
bool leave_to_device_copies(Session& session, Site* site,
                            const LentTensor& lent) {
  if (device_copies == nullptr) return false;
  session.set_placement(site, lent.placement());
  try {
    return nb::cast<bool>(nb::handle(device_copies)(
        nb::find(&session), place_of(&session, site), lent.device_tensor()));
  } catch (const std::exception&) {
    return false;
  }
}

// The places of tensors that are put together, once per step.
struct TensorSites {
  Session* session;
  std::vector<Site*> sites;

  void put(nb::list tensors) {
    const std::size_t count = std::min(sites.size(), nb::len(tensors));
    for (std::size_t i = 0; i < count; ++i) {
      put_if_due(*session, sites[i],
                 PyList_GET_ITEM(tensors.ptr(), static_cast<Py_ssize_t>(i)));
    }
  }
  // One tensor that has all these names.
  void put_shared(nb::handle tensor) {
    if (!is_any_due()) return;
    LentTensor lent;
    if (Status status = lent.borrow(tensor); !status) {
      session->skip(sites.front(), status.error().message);
      return;
    }
    session->put_shared(sites, lent.view());
  }
  bool is_any_due() const {
    return std::ranges::any_of(
        sites, [this](const Site* site) { return session->is_due(site); });
  }
  std::vector<bool> can_match() const {
    std::vector<bool> answers;
    for (const Site* site : sites) answers.push_back(session->can_match(site));
    return answers;
  }
};

// A module's place: its inputs and outputs, counted as they come.
struct ModulePlace {
  Session* session;
  ModuleSite* module;
  bool was_called = false;

  void capture_inputs(nb::handle arguments, nb::handle keywords) {
    was_called = true;
    const auto visit = [this](nb::handle tensor) {
      if (Site* site = session->next_input(module)) put(*session, site, tensor);
    };
    walk_tensors(arguments, visit);
    walk_tensors(keywords, visit);
  }

  void capture_outputs(nb::handle output) {
    was_called = true;
    walk_tensors(output, [this](nb::handle tensor) {
      if (Site* site = session->next_output(module))
        put(*session, site, tensor);
    });
  }

  void capture_call(nb::handle arguments, nb::handle keywords,
                    nb::handle output) {
    capture_inputs(arguments, keywords);
    capture_outputs(output);
  }

  // Each output that backward passes through gets a hook: its gradient is saved
  // where the output itself would be. The hook of a leaf would stay for ever,
  // and a leaf's gradient is that of a parameter.
  void watch_gradients(nb::handle output) {
    walk_tensors(output, [this](nb::handle tensor) {
      Site* const site = session->next_output(module);
      if (site == nullptr) return;
      try {
        watch_gradient(site, tensor);
      } catch (const nb::python_error& error) {
        session->skip(site, error.what());
      }
    });
  }

  // For tensors that walk_tensors does not know: counts one, and gives its
  // place if it is due.
  std::optional<TensorSite> next_input() {
    was_called = true;
    return due(session->next_input(module));
  }
  std::optional<TensorSite> next_output() {
    was_called = true;
    return due(session->next_output(module));
  }

  bool may_match_input() const { return session->may_match_input(module); }
  bool may_match_output() const { return session->may_match_output(module); }
  bool can_match_input() const { return session->can_match_input(module); }
  bool can_match_output() const { return session->can_match_output(module); }

 private:
  std::optional<TensorSite> due(Site* site) const {
    if (site == nullptr) return std::nullopt;
    return TensorSite{session, site};
  }

  void watch_gradient(Site* site, nb::handle tensor) {
    if (!nb::cast<bool>(tensor.attr("requires_grad")) ||
        nb::cast<bool>(tensor.attr("is_leaf"))) {
      return;
    }
    tensor.attr("register_hook")(place_of(session, site).attr("put"));
  }
};

const char* state_name(SessionStatus::State state) {
  switch (state) {
    case SessionStatus::State::active:
      return "active";
    case SessionStatus::State::silent:
      return "silent";
    case SessionStatus::State::failed:
      return "failed";
    case SessionStatus::State::closed:
      return "closed";
  }
  return "";
}

void bind_status(nb::module_& m) {
  nb::class_<SessionStatus>(m, "SessionStatus",
                            "Where a hook stands: nothing here raises.")
      .def_prop_ro(
          "state",
          [](const SessionStatus& self) { return state_name(self.state); })
      .def_prop_ro("error",
                   [](const SessionStatus& self) -> nb::object {
                     if (!self.error) return nb::none();
                     return nb::cast(self.error->message);
                   })
      .def_prop_ro("error_step",
                   [](const SessionStatus& self) -> nb::object {
                     if (!self.error_step) return nb::none();
                     return nb::cast(*self.error_step);
                   })
      .def_prop_ro("tensorboard_error",
                   [](const SessionStatus& self) -> nb::object {
                     if (!self.tensorboard_error) return nb::none();
                     return nb::cast(self.tensorboard_error->message);
                   })
      .def_ro("reason", &SessionStatus::reason)
      .def_ro("last_step", &SessionStatus::last_step)
      .def_ro("steps", &SessionStatus::steps)
      .def_ro("steps_saved", &SessionStatus::steps_saved)
      .def_ro("steps_published", &SessionStatus::steps_published)
      .def_ro("tensors", &SessionStatus::tensors)
      .def_ro("records", &SessionStatus::records)
      .def_ro("bytes", &SessionStatus::bytes)
      .def_ro("replaced_tensors", &SessionStatus::replaced_tensors)
      .def_ro("removed_steps", &SessionStatus::removed_steps)
      .def_ro("first_kept_step", &SessionStatus::first_kept_step)
      .def_ro("dropped_tensors", &SessionStatus::dropped_tensors)
      .def_ro("dropped_bytes", &SessionStatus::dropped_bytes)
      .def_ro("calls_after_failure", &SessionStatus::calls_after_failure)
      .def_ro("skipped", &SessionStatus::skipped);

  nb::class_<SessionCost>(m, "SessionCost", "What watching has cost so far.")
      .def_ro("step_thread_seconds", &SessionCost::step_thread_seconds)
      .def_ro("wait_seconds", &SessionCost::wait_seconds)
      .def_ro("writer_cpu_seconds", &SessionCost::writer_cpu_seconds)
      .def_ro("bytes_captured", &SessionCost::bytes_captured)
      .def_ro("bytes_written", &SessionCost::bytes_written)
      .def_ro("steps", &SessionCost::steps)
      .def_ro("run_seconds", &SessionCost::run_seconds);
}

void bind_statistics(nb::module_& m) {
  nb::class_<TensorStatistics>(m, "TensorStatistics",
                               "What one pass over a tensor, or a part of it, "
                               "leaves behind. The moments are over its finite "
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
           "Adds the elements behind `other`.");
}

void bind_sites(nb::module_& m) {
  nb::class_<TensorSite>(m, "TensorSite")
      .def("put", &TensorSite::put, "tensor"_a,
           "Captures the tensor if it is due. Any thread.")
      .def("put_number", &TensorSite::put_number, "value"_a,
           "Captures the number, a float64 of shape (1,), if it is due.")
      .def("put_copy", &TensorSite::put_copy, "copy"_a,
           "Captures a copy in host memory of what lay on a device when it was "
           "put: see set_device_copies.")
      .def("needs_elements", &TensorSite::needs_elements,
           "Whether more is kept of a tensor that is put now than its "
           "statistics hold. False where it is not due.")
      .def("put_statistics", &TensorSite::put_statistics, "dtype"_a, "shape"_a,
           "statistics"_a,
           "Captures a tensor by the statistics of its elements, which lie "
           "elsewhere, if it is due. `dtype` is numpy's name. Ask "
           "`needs_elements` first: where they are, it is skipped.")
      .def("is_due", &TensorSite::is_due)
      .def("is_next_due", &TensorSite::is_next_due)
      .def("can_match", &TensorSite::can_match)
      .def("skip", &TensorSite::skip, "reason"_a,
           "Says that the tensor cannot be saved: once, in the status and the "
           "log.");
  nb::class_<TensorSites>(m, "TensorSites")
      .def("put", &TensorSites::put, "tensors"_a,
           "Captures those that are due, by position.")
      .def("put_shared", &TensorSites::put_shared, "tensor"_a,
           "Captures one tensor under all these names that are due; it is "
           "stored once.")
      .def("is_any_due", &TensorSites::is_any_due)
      .def("can_match", &TensorSites::can_match);
  nb::class_<ModulePlace>(m, "ModuleSite")
      .def_ro("was_called", &ModulePlace::was_called)
      .def("capture_inputs", &ModulePlace::capture_inputs, "arguments"_a,
           "keywords"_a)
      .def("capture_outputs", &ModulePlace::capture_outputs, "output"_a.none())
      .def("capture_call", &ModulePlace::capture_call, "arguments"_a,
           "keywords"_a, "output"_a.none())
      .def("watch_gradients", &ModulePlace::watch_gradients, "output"_a.none(),
           "Saves the gradient of each tensor in `output` when backward comes "
           "to it, if an output is due.")
      .def("next_input", &ModulePlace::next_input, nb::keep_alive<0, 1>(),
           "Counts one more input of this step. Returns its place, or None "
           "where it is not due.")
      .def("next_output", &ModulePlace::next_output, nb::keep_alive<0, 1>(),
           "The same of an output.")
      .def("may_match_input", &ModulePlace::may_match_input)
      .def("may_match_output", &ModulePlace::may_match_output)
      .def("can_match_input", &ModulePlace::can_match_input)
      .def("can_match_output", &ModulePlace::can_match_output);
}

Result<std::unique_ptr<Session>> create_session(
    HookConfig config, const Framework& framework,
    std::vector<std::string> command,
    std::map<std::string, std::string> versions,
    std::map<std::string, std::string> environment) {
  SessionOptions options;
  options.config = std::move(config);
  options.framework = framework;
  options.process = {std::move(command), std::move(versions),
                     std::move(environment)};
  return Session::create(std::move(options));
}

Status save_tensor(Session& self, const std::string& name, nb::handle tensor,
                   const std::vector<std::string>& collections) {
  LentTensor lent;
  SMD_CHECK_OK(lent.borrow(tensor));
  if (lent.placement()) self.set_placement(self.tensor(name), lent.placement());
  return self.save_tensor(name, lent.view(), collections);
}

TensorSites make_tensor_sites(Session& self,
                              const std::vector<std::string>& names,
                              const std::vector<std::string>& collections) {
  TensorSites sites{&self, {}};
  for (const std::string& name : names)
    sites.sites.push_back(self.tensor(name, collections));
  return sites;
}

template <Site* (Session::*make)(std::string_view, std::string_view)>
TensorSites make_sites(Session& self, const std::string& root,
                       const std::vector<std::string>& paths) {
  TensorSites sites{&self, {}};
  for (const std::string& path : paths) {
    sites.sites.push_back((self.*make)(root, path));
  }
  return sites;
}

void bind_session(nb::module_& m) {
  using WithoutGil = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Session>(m, "Session", nb::is_weak_referenceable())
      .def_static("create", &create_session, "config"_a, "framework"_a,
                  "command"_a, "versions"_a, "environment"_a)
      .def("set_config", &Session::set_config, "config"_a)
      .def_prop_ro("plan_version", &Session::plan_version)
      .def("set_worker", &Session::set_worker, "rank"_a, "world_size"_a,
           "name"_a = std::string_view())
      .def("set_mode", &Session::set_mode, "mode"_a)
      .def_prop_ro("mode", &Session::mode)
      .def("begin_step", &Session::begin_step, WithoutGil())
      .def("is_next_due",
           nb::overload_cast<>(&Session::is_next_due, nb::const_))
      .def("is_next_due",
           nb::overload_cast<std::string_view, std::string_view>(
               &Session::is_next_due, nb::const_),
           "tensor_name"_a, "collection"_a,
           "The same of one tensor, by its name or its collection.")
      .def("take_over", &Session::take_over,
           "Makes the calling thread the owner of the open step.")
      .def("before_update", &Session::before_update)
      .def("end_step", &Session::end_step, WithoutGil())
      .def_prop_ro("step",
                   [](const Session& self) {
                     const StepId step = self.step();
                     return nb::make_tuple(step.global, step.mode,
                                           step.mode_step);
                   })
      .def("is_capturing", &Session::is_capturing)
      .def(
          "tensor",
          [](Session& self, const std::string& name,
             const std::vector<std::string>& collections) {
            return TensorSite{&self, self.tensor(name, collections)};
          },
          "name"_a, "collections"_a = std::vector<std::string>{},
          nb::keep_alive<0, 1>(),
          "The place of a tensor. It belongs to `collections`, whatever its "
          "name, beside those that match it.")
      .def(
          "gradient",
          [](Session& self, const std::string& root, const std::string& path) {
            return TensorSite{&self, self.gradient(root, path)};
          },
          "root"_a, "path"_a, nb::keep_alive<0, 1>())
      .def("tensors", &make_tensor_sites, "names"_a,
           "collections"_a = std::vector<std::string>{}, nb::keep_alive<0, 1>(),
           "The places of several tensors that belong to the same "
           "collections, and are put together.")
      .def("parameters", &make_sites<&Session::parameter>, "root"_a, "paths"_a,
           nb::keep_alive<0, 1>())
      .def("gradients", &make_sites<&Session::gradient>, "root"_a, "paths"_a,
           nb::keep_alive<0, 1>())
      .def(
          "module",
          [](Session& self, const std::string& path) {
            return ModulePlace{&self, self.module(path)};
          },
          "path"_a, nb::keep_alive<0, 1>())
      .def("save_scalar", &Session::save_scalar, "name"_a, "value"_a,
           "wall_seconds"_a = nb::none())
      .def("save_integer", &Session::save_integer, "name"_a, "value"_a,
           "wall_seconds"_a = nb::none())
      .def("save_tensor", &save_tensor, "name"_a, "tensor"_a, "collections"_a)
      .def("pause", &Session::pause)
      .def("resume", &Session::resume)
      .def_prop_ro("is_paused", &Session::is_paused)
      .def("saves", &Session::saves, "collection"_a,
           "Whether the plan in use saves the collection at all.")
      .def("is_due",
           nb::overload_cast<std::string_view, std::string_view>(
               &Session::is_due, nb::const_),
           "tensor_name"_a, "collection"_a)
      .def("due_collections", &Session::due_collections,
           "The names of the collections that the open step saves.")
      .def("export_collections", &Session::export_collections, WithoutGil())
      .def("flush", &Session::flush, WithoutGil())
      .def("close", &Session::close, WithoutGil())
      .def("status", &Session::status)
      .def("cost", &Session::cost)
      .def_prop_ro("worker", &Session::worker)
      .def("summary", &Session::summary)
      .def("after_fork_in_child", &Session::after_fork_in_child);
}

}  // namespace

void bind_capture(nb::module_& m) {
  m.def(
      "set_local_part", [](nb::object function) { set_local_part(function); },
      "function"_a,
      "Sets what shows this process's part of a tensor that is spread over "
      "several: a function of a tensor that returns None for any other, else "
      "(part, shape of the whole, offsets of the part).");
  m.def(
      "set_device_copies",
      [](nb::object function) {
        Py_XDECREF(device_copies);
        device_copies = function.release().ptr();
      },
      "function"_a,
      "Sets what copies tensors that lie on a device: a function of a session, "
      "the place of a tensor that is put there, and the tensor. It returns "
      "whether it will call `put_copy` or `put_statistics` of that place "
      "before "
      "the step ends; where it will not, the elements are copied at once, and "
      "waited for.");
  bind_status(m);
  bind_statistics(m);
  bind_sites(m);
  bind_session(m);
  m.def(
      "install_termination_flush", [] { return install_termination_flush(); },
      "From now on SIGTERM lets every session publish the steps that ended "
      "before the process dies of it. Returns False, and changes nothing, "
      "where the program has its own handler.");
}

}  // namespace smdebug
