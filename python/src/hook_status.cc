// Bindings of include/smdebug/capture/session_status.h: `HookStatus` and
// `HookCost`, which users read. Both are immutable, compare by value and can be
// pickled, since workers send them to other processes.

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "smdebug/capture/session_status.h"

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

// --- the fields: a name, a member and a docstring each, in the order of repr

template <class Report>
struct Fields;

template <>
struct Fields<SessionStatus> {
  template <class Visit>
  static void visit(const Visit& visit) {
    using S = SessionStatus;
    visit("state", &S::state,
          "\"active\", \"silent\" (another process writes the run), \"failed\" "
          "or \"closed\".");
    visit("error", &S::error, "The first error, or None.");
    visit("error_step", &S::error_step,
          "The global step of `error`; None without an error.");
    visit("tensorboard_error", &S::tensorboard_error,
          "The first error in writing TensorBoard files, with its step, or "
          "None. The run is still written.");
    visit("reason", &S::reason,
          "Why `state` is \"silent\" or \"closed\", if there is a reason.");
    visit("last_step", &S::last_step,
          "The newest global step; -1 before the first one.");
    visit("steps", &S::steps, "Steps that have begun.");
    visit("steps_saved", &S::steps_saved, "Steps in which tensors were due.");
    visit("steps_published", &S::steps_published, "Steps that can be read.");
    visit("tensors", &S::tensors, "Captured tensors.");
    visit("records", &S::records, "Written records.");
    visit("bytes", &S::bytes, "Written bytes.");
    visit("removed_steps", &S::removed_steps,
          "Published steps that `max_run_bytes` removed.");
    visit("first_kept_step", &S::first_kept_step,
          "The lowest step that is left; None if none was removed.");
    visit("replaced_tensors", &S::replaced_tensors,
          "Written tensors that a later one of the same name and step "
          "replaced.");
    visit("dropped_tensors", &S::dropped_tensors,
          "Tensors dropped because the write queue was full.");
    visit("dropped_bytes", &S::dropped_bytes, "Bytes of the dropped tensors.");
    visit("dropped_scalars", &S::dropped_scalars,
          "Scalars that came from another thread or had an unknown step.");
    visit("calls_after_failure", &S::calls_after_failure,
          "Calls that were ignored after the first error.");
    visit("skipped", &S::skipped,
          "Tensors that could not be captured: name to reason.");
  }
};

template <>
struct Fields<SessionCost> {
  template <class Visit>
  static void visit(const Visit& visit) {
    using C = SessionCost;
    visit("step_thread_seconds", &C::step_thread_seconds,
          "Seconds that smdebug took from the training thread, waits "
          "included.");
    visit("wait_seconds", &C::wait_seconds,
          "Seconds of these in which the training waited.");
    visit("writer_cpu_seconds", &C::writer_cpu_seconds,
          "CPU seconds of the writer thread.");
    visit("bytes_captured", &C::bytes_captured, "Captured bytes.");
    visit("bytes_written", &C::bytes_written, "Written bytes.");
    visit("steps", &C::steps, "Steps that have begun.");
    visit("run_seconds", &C::run_seconds,
          "Seconds since the first step began.");
  }
};

// --- the values of fields in Python

constexpr std::pair<const char*, SessionStatus::State> kStates[] = {
    {"active", SessionStatus::State::active},
    {"silent", SessionStatus::State::inactive},
    {"failed", SessionStatus::State::failed},
    {"closed", SessionStatus::State::closed},
};

template <class T>
T to_python(const T& value) {
  return value;
}

std::string to_python(SessionStatus::State state) {
  for (const auto& [name, known] : kStates) {
    if (known == state) return name;
  }
  return "";
}

std::optional<std::string> to_python(const std::optional<Error>& error) {
  return error ? std::optional(error->message) : std::nullopt;
}

template <class T>
bool from_python(nb::handle value, T& field) {
  return nb::try_cast(value, field);
}

bool from_python(nb::handle value, SessionStatus::State& state) {
  for (const auto& [name, known] : kStates) {
    if (!value.equal(nb::str(name))) continue;
    state = known;
    return true;
  }
  return false;
}

bool from_python(nb::handle value, std::optional<Error>& error) {
  std::optional<std::string> message;
  if (!nb::try_cast(value, message)) return false;
  error.reset();
  if (message) error = Error{Error::Code::internal, *message};
  return true;
}

// --- the classes

template <class Report>
nb::dict values_of(const Report& report) {
  nb::dict values;
  Fields<Report>::visit([&](const char* name, auto member, const char*) {
    values[name] = to_python(report.*member);
  });
  return values;
}

// Returns `report` with other values in the fields that `changes` names.
template <class Report>
Report replaced(Report report, const nb::dict& changes) {
  std::vector<std::string> known;
  Fields<Report>::visit([&](const char* name, auto member, const char*) {
    known.emplace_back(name);
    if (!changes.contains(name)) return;
    if (!from_python(changes[name], report.*member))
      throw nb::type_error((known.back() + " has another type").c_str());
  });
  for (const auto [key, value] : changes) {
    const auto name = nb::cast<std::string>(key);
    if (std::ranges::find(known, name) == known.end())
      throw nb::type_error(("there is no field '" + name + "'").c_str());
  }
  return report;
}

template <class Report>
std::string repr_of(nb::handle self) {
  std::string text = nb::cast<std::string>(self.type().attr("__name__")) + "(";
  const char* separator = "";
  for (const auto [name, value] : values_of(nb::cast<const Report&>(self))) {
    text += separator + nb::cast<std::string>(name) + "=" +
            nb::cast<std::string>(nb::repr(value));
    separator = ", ";
  }
  return text + ")";
}

template <class Report>
void bind_report(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Report> cls(m, name, doc);
  Fields<Report>::visit([&](const char* field, auto member,
                            const char* field_doc) {
    cls.def_prop_ro(
        field, [member](const Report& self) { return to_python(self.*member); },
        field_doc);
  });
  cls.def(
         "__init__",
         [](Report* self, const nb::kwargs& fields) {
           new (self) Report(replaced(Report(), fields));
         },
         nb::sig("def __init__(self, **fields: typing.Any) -> None"),
         "Fields that are left out are 0, empty or None. Raises TypeError for "
         "a field that does not exist.")
      .def(
          "replace",
          [](const Report& self, const nb::kwargs& changes) {
            return replaced(self, changes);
          },
          nb::sig("def replace(self, **changes: typing.Any) -> typing.Self"),
          "Returns a copy with other values in these fields. Raises TypeError "
          "for a field that does not exist.")
      .def(
          "__eq__",
          [](const Report& self, nb::handle other) -> nb::object {
            const Report* same = nullptr;
            if (!nb::try_cast(other, same, false) || !same)
              return nb::borrow(Py_NotImplemented);
            return nb::bool_(values_of(self).equal(values_of(*same)));
          },
          "other"_a.none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__repr__", &repr_of<Report>, nb::sig("def __repr__(self) -> str"))
      .def("__getstate__", &values_of<Report>,
           nb::sig("def __getstate__(self) -> dict[str, typing.Any]"))
      .def(
          "__setstate__",
          [](Report* self, const nb::dict& state) {
            new (self) Report(replaced(Report(), state));
          },
          nb::sig("def __setstate__(self, state: dict[str, typing.Any]) -> "
                  "None"));
  cls.attr("__hash__") = nb::none();
}

}  // namespace

void bind_status(nb::module_& m) {
  bind_report<SessionStatus>(
      m, "HookStatus",
      "The state of a hook: totals since it was created, and its first "
      "error.\n\nImmutable; compares by value.");
  bind_report<SessionCost>(
      m, "HookCost",
      "The overhead of a hook so far. Immutable; compares by value.");
}

}  // namespace smdebug
