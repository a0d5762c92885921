// The common parts of the bindings of the editable configuration objects, and
// `ConfigRevision`, which shows edits to a hook.

#include "editable_config.h"

#include <utility>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug::editable {
namespace {

// Imported at the first use, since that module imports this extension. The
// reference is kept for the life of the process.
PyObject* edited_class(const char* name) {
  return nb::object(nb::module_::import_("smdebug.edited").attr(name))
      .release()
      .ptr();
}

[[noreturn]] void raise(const char* exception, const std::string& message) {
  const nb::object cls =
      nb::module_::import_("smdebug.exceptions").attr(exception);
  PyErr_SetObject(cls.ptr(), nb::cast(message).ptr());
  throw nb::python_error();
}

// The edits of a hook's configuration, as one number that only grows.
class ConfigRevision {
 public:
  void follow(const nb::iterable& objects) {
    std::vector<Followed> followed;
    for (nb::handle each : objects) followed.push_back(followed_object(each));
    before_ = number() + 1;  // so that no replacement brings back a number
    followed_ = std::move(followed);
  }

  void add() { ++before_; }

  std::uint64_t number() const {
    std::uint64_t sum = before_;
    for (const Followed& each : followed_) sum += each.edits_made(each.object);
    return sum;
  }

 private:
  struct Followed {
    nb::object keep;
    const void* object;
    std::uint64_t (*edits_made)(const void*);
  };

  template <class T>
  static Followed as(nb::handle object) {
    return {nb::borrow(object), nb::inst_ptr<T>(object), [](const void* self) {
              return static_cast<const T*>(self)->edits_made();
            }};
  }

  static Followed followed_object(nb::handle object) {
    if (nb::isinstance<Collection>(object)) return as<Collection>(object);
    if (nb::isinstance<SaveConfig>(object)) return as<SaveConfig>(object);
    if (nb::isinstance<ReductionConfig>(object)) {
      return as<ReductionConfig>(object);
    }
    raise_type_error("a revision follows configuration objects, found " +
                     repr_of(object));
  }

  std::vector<Followed> followed_;
  std::uint64_t before_ = 0;
};

}  // namespace

nb::object edited_list(nb::handle values, const SharedEdits& edits) {
  static PyObject* const cls = edited_class("EditedList");
  return nb::handle(cls)(values, edits);
}

nb::object edited_set(nb::handle values, const SharedEdits& edits) {
  static PyObject* const cls = edited_class("EditedSet");
  return nb::handle(cls)(values, edits);
}

std::vector<std::string> texts(const char* field, nb::handle values) {
  std::vector<std::string> found;
  for (nb::handle each : values) {
    if (!PyUnicode_Check(each.ptr())) {
      raise_type_error(std::string(field) + " must hold text, found " +
                       repr_of(each));
    }
    found.push_back(nb::cast<std::string>(each));
  }
  return found;
}

std::string repr_of(nb::handle value) {
  return nb::cast<std::string>(nb::repr(value));
}

void raise_type_error(const std::string& message) {
  raise("SMDebugTypeError", message);
}

void refuse_unknown(const char* class_name, const nb::kwargs& unknown,
                    const std::vector<std::string>& known) {
  if (unknown.size() == 0) return;
  nb::module_::import_("smdebug.unknown_arguments")
      .attr("refuse_unknown_arguments")(class_name, unknown, nb::cast(known));
}

void raise_value_error(const std::string& message) {
  set_python_error(Error{Error::Code::invalid_config, message});
  throw nb::python_error();
}

nb::dict attributes(nb::handle self) {
  nb::dict copy;
  copy.update(nb::cast<nb::dict>(self.attr("__dict__")));
  return copy;
}

void set_attributes(nb::handle self, nb::handle attributes) {
  nb::cast<nb::dict>(self.attr("__dict__"))
      .update(nb::cast<nb::dict>(attributes));
}

void bind_edits(nb::module_& m) {
  nb::class_<Edits>(m, "Edits",
                    "Counts the edits of one configuration object and of the "
                    "lists that it holds.")
      .def(nb::init<>())
      .def(
          "add", [](Edits& self) { ++self.count; }, "Counts one edit.")
      .def_ro("count", &Edits::count, "The number of edits.");
}

void bind_config_revision(nb::module_& m) {
  nb::class_<ConfigRevision>(
      m, "ConfigRevision",
      "The edits of a hook's configuration, as one number that only grows. A "
      "hook compares it once per step.")
      .def(nb::init<>())
      .def("follow", &ConfigRevision::follow, "objects"_a,
           nb::sig("def follow(self, objects: collections.abc.Iterable["
                   "Collection | SaveConfig | ReductionConfig]) -> None"),
           "Counts the edits of these objects from here on, and of no others. "
           "Counts as an edit itself.")
      .def("add", &ConfigRevision::add,
           "Counts an edit of anything else that decides what is saved.")
      .def_prop_ro("number", &ConfigRevision::number,
                   "The number of edits so far.");
}

}  // namespace smdebug::editable

namespace smdebug {

void bind_editable_config(nb::module_& m) {
  editable::bind_edits(m);
  editable::bind_save_config(m);
  editable::bind_reduction_config(m);
  editable::bind_collection(m);
  editable::bind_config_revision(m);
}

}  // namespace smdebug
