// Bindings of include/smdebug/capture/session_group.h. An adapter uses a group
// as it uses one session, so the methods have the names and the arguments of
// `Session` in capture.cc.

#include "smdebug/capture/session_group.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/try.h"

#include "bindings.h"
#include "capture.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

using Group = nb::class_<SessionGroup>;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

// Keeps `worker` selected between enter and exit.
struct WorkerContext {
  SessionGroup* group;
  std::optional<std::size_t> worker;
  std::optional<std::size_t> before;

  void enter() { before = group->select(worker); }
  void exit(const nb::args&) { group->select(before); }
};

void put(const GroupSlot& slot, nb::handle tensor) {
  slot.for_each_selected(
      [&](const TensorSlot& each, std::size_t) { put_tensor(each, tensor); });
}

Status put_each(const GroupSlot& slot,
                nb::typed<nb::list, nb::object> tensors) {
  if (nb::len(tensors) != slot.size()) {
    return Error{Error::Code::invalid_argument,
                 "there must be one tensor for each worker"};
  }
  slot.for_each_selected([&](const TensorSlot& each, std::size_t worker) {
    put_tensor(each, tensors[worker]);
  });
  return {};
}

Status spread(SessionGroup& self, const std::vector<Session*>& further,
              const std::vector<std::string>& workers) {
  SMD_CHECK_OK(self.spread(further, workers));
  for (Session* each : further)
    nb::keep_alive_obj(nb::find(&self), nb::find(each));
  return {};
}

Status save_tensor_in_each(SessionGroup& self, const std::string& name,
                           nb::handle tensor,
                           const std::vector<std::string>& collections) {
  return for_each_session(self.selected(), [&](Session& session) {
    return save_tensor(session, name, tensor, collections);
  });
}

void bind_group_slot(nb::module_& m) {
  nb::class_<GroupSlot>(m, "GroupSlot",
                        "The slots of one tensor, one for each worker of a "
                        "SessionGroup. The first selected worker answers.")
      .def("put", &put, "tensor"_a,
           "Captures the tensor for the selected workers, where it is due.")
      .def("put_each", &put_each, "tensors"_a,
           "Captures a list of tensors, one of each worker, for the selected "
           "workers. Raises SMDebugValueError for a list of another length.")
      .def("is_due", &GroupSlot::is_due,
           "Returns whether the open step saves the tensor.")
      .def("is_next_due", &GroupSlot::is_next_due,
           "Returns whether the next step saves it.")
      .def("can_match", &GroupSlot::can_match,
           "Returns whether the plan in use can ever save it.")
      .def("skip", &GroupSlot::skip, "reason"_a,
           "Reports, once, that the tensor cannot be saved.")
      .def("leave_out", &GroupSlot::leave_out, "reason"_a,
           "Like `skip`, without a log message.");
}

void bind_workers(Group& group) {
  group
      .def(nb::init<Session&>(), "first"_a, nb::keep_alive<1, 2>(),
           "Makes a group of one session.")
      .def("spread", &spread, "further"_a, "workers"_a,
           "Adds the sessions `further` of the same run, and names all "
           "workers, the first session's included. Raises SMDebugValueError "
           "if the numbers do not match, after a step has begun, and in a "
           "second call.")
      .def_prop_ro("size", &SessionGroup::size, "The number of workers.")
      .def_prop_ro("has_begun", &SessionGroup::has_begun,
                   "Whether a step has begun.")
      .def("has_worker", &SessionGroup::has_worker, "worker"_a,
           "Returns whether the worker of that number has a session.")
      .def(
          "for_worker",
          [](SessionGroup& self, std::optional<std::size_t> worker) {
            return WorkerContext{&self, worker, {}};
          },
          "worker"_a.none(), nb::keep_alive<0, 1>(),
          "A context in which the steps and tensors of this thread belong to "
          "one worker; None means to all workers.")
      .def(
          "tensor",
          [](SessionGroup& self, const std::string& name,
             const std::vector<std::string>& collections) {
            return self.tensor(name, collections);
          },
          "name"_a, "collections"_a = std::vector<std::string>{},
          nb::keep_alive<0, 1>(),
          "Returns the slots of a tensor. It belongs to `collections`, "
          "whatever its name, and to those that match it.");
}

// The first selected worker answers.
void bind_questions(Group& group) {
  group
      .def_prop_ro(
          "mode",
          [](const SessionGroup& self) { return self.first_selected().mode(); },
          "The mode of the next steps.")
      .def_prop_ro(
          "step",
          [](const SessionGroup& self) {
            const StepId step = self.first_selected().step();
            return nb::make_tuple(step.global, step.mode, step.mode_step);
          },
          nb::for_getter(
              nb::sig("def step(self) -> tuple[int, ModeKeys, int]")),
          "(global step, mode, step of the mode) of the open step.")
      .def_prop_ro(
          "plan_version",
          [](const SessionGroup& self) {
            return self.first_selected().plan().version();
          },
          "The number of the plan in use. It changes with the configuration.")
      .def(
          "is_capturing",
          [](const SessionGroup& self) {
            return self.first_selected().is_capturing();
          },
          "Returns whether anything is due in the open step.")
      .def(
          "is_next_due",
          [](const SessionGroup& self) {
            return self.first_selected().plan().is_next_due();
          },
          "Returns whether anything is due in the next step.")
      .def(
          "is_next_due",
          [](const SessionGroup& self, std::string_view tensor_name,
             std::string_view collection) {
            return self.first_selected().plan().is_next_due(tensor_name,
                                                            collection);
          },
          "tensor_name"_a, "collection"_a,
          "Returns the same for one tensor, by its name or its collection.")
      .def(
          "is_due",
          [](const SessionGroup& self, std::string_view tensor_name,
             std::string_view collection) {
            return self.first_selected().plan().is_due(tensor_name, collection);
          },
          "tensor_name"_a, "collection"_a,
          "Returns whether the open step saves a tensor, by its name or its "
          "collection.")
      .def(
          "summary",
          [](const SessionGroup& self) {
            return self.first_selected().summary();
          },
          "Returns the collections, patterns and numbers of matched tensors of "
          "the first saved step; empty before it.");
}

void bind_steps_and_values(Group& group) {
  group
      .def("begin_step", &SessionGroup::begin_step, WithoutGil(),
           "Ends the open step, if any, and begins the next one. Returns "
           "whether anything is due in it.")
      .def("before_update", &SessionGroup::before_update,
           "Lets the rules judge the open step before the optimizer acts.")
      .def("end_step", &SessionGroup::end_step, WithoutGil(),
           "Ends the open step and passes it to the writer.")
      .def("bind_to_current_thread", &SessionGroup::bind_to_current_thread,
           "Makes the calling thread the owner of the open step.")
      .def("save_scalar", &SessionGroup::save_scalar, "name"_a, "value"_a,
           "wall_seconds"_a = nb::none(),
           "Saves a float as tensor `scalar/<name>` in the current step, due "
           "or not. `wall_seconds` is its time since the epoch; None for that "
           "of the step.")
      .def("save_integer", &SessionGroup::save_integer, "name"_a, "value"_a,
           "wall_seconds"_a = nb::none(),
           "Saves an int as tensor `scalar/<name>`: see `save_scalar`.")
      .def("save_tensor", &save_tensor_in_each, "name"_a, "tensor"_a,
           "collections"_a,
           "Saves a copy of a tensor in the current step, due or not, in the "
           "form that the collections ask for.");
}

void bind_all_workers(Group& group) {
  group
      .def("set_config", &SessionGroup::set_config, "config"_a,
           "Sets the configuration, from the next step on. Raises "
           "SMDebugError, and keeps the previous one, if it is not valid.")
      .def("set_worker", &SessionGroup::set_worker, "rank"_a, "world_size"_a,
           "Names the worker of a group of one. Ignored once the workers have "
           "names.")
      .def("set_mode", &SessionGroup::set_mode, "mode"_a,
           "Sets the mode of the next steps.")
      .def("pause", &SessionGroup::pause,
           "Stops recording from the next step on. Steps are still counted.")
      .def("resume", &SessionGroup::resume,
           "Resumes recording from the next step on.")
      .def("export_collections", &SessionGroup::export_collections,
           WithoutGil(),
           "Writes the collections file with the tensors seen so far.")
      .def("explain_empty", &SessionGroup::explain_empty, "collection"_a,
           "reason"_a,
           "Gives the reason that the log reports at the end if no tensor "
           "belongs to a built-in collection that is saved.")
      .def("flush", &SessionGroup::flush, WithoutGil(),
           "Waits until every finished step can be read. Raises the first "
           "error.")
      .def(
          "close", &SessionGroup::close, "raised"_a = "", WithoutGil(),
          "Publishes the open step, writes the end marker and stops the "
          "writer. `raised`: the name of the exception that ends the training. "
          "Raises the first error.")
      .def("after_fork_in_child", &SessionGroup::after_fork_in_child,
           "Disables recording in the child of a fork: it writes nothing.")
      .def("status", &SessionGroup::status,
           "Returns the status of the first session that failed, or of the "
           "first session if none did. Counts of tensors and bytes are sums "
           "over all sessions.")
      .def("cost", &SessionGroup::cost,
           "Returns the overhead of all sessions together.");
}

}  // namespace

void bind_session_group(nb::module_& m) {
  bind_group_slot(m);
  nb::class_<WorkerContext>(m, "WorkerContext",
                            "Keeps one worker selected for the current thread.")
      .def("__enter__", &WorkerContext::enter)
      .def("__exit__", &WorkerContext::exit,
           nb::sig("def __exit__(self, *exception: object) -> None"));
  Group group(
      m, "SessionGroup",
      "Drives the sessions of several workers in one process as one "
      "session: each worker has files of its own. Steps and values "
      "apply to the worker that the calling thread selected, or to all.");
  bind_workers(group);
  bind_questions(group);
  bind_steps_and_values(group);
  bind_all_workers(group);
}

}  // namespace smdebug
