#pragma once

// The configuration objects that users hold and edit. They are shared by
// reference: a user, several collections and a hook may hold the same
// `SaveConfig`, and each sees the edits of the others. Every edit is counted,
// so that a hook learns of it by comparing one number (`ConfigRevision`).
//
// `value()` returns a snapshot: the struct of include/smdebug/config with the
// same name, which the core reads without the GIL. It throws a Python exception
// if a list contains an element of the wrong type. The casters at the end turn
// snapshots that the core returns into new objects.
//
// Everything here needs the GIL.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "smdebug/config/collection.h"
#include "smdebug/config/reduction_config.h"
#include "smdebug/config/save_config.h"

namespace smdebug::editable {

namespace nb = nanobind;

// The edits of one object and of the lists that it holds.
struct Edits {
  std::uint64_t count = 0;
};
using SharedEdits = std::shared_ptr<Edits>;

struct SaveConfigMode {
  explicit SaveConfigMode(const smdebug::SaveConfigMode& value = {});

  smdebug::SaveConfigMode value() const;
  std::uint64_t edits_made() const { return edits->count; }

  SharedEdits edits;
  Step save_interval;
  Step start_step;
  std::optional<Step> end_step;
  nb::object save_steps;  // an EditedList
};

struct SaveConfig {
  SaveConfig() = default;  // no mode has a configuration
  explicit SaveConfig(const smdebug::SaveConfig& value);

  smdebug::SaveConfig value() const;
  std::uint64_t edits_made() const;

  /// Returns the configuration of a mode, or nullptr.
  SaveConfigMode* find(Mode mode) const;
  void set(Mode mode, nb::object config);

  nb::dict modes;  // Mode -> SaveConfigMode or None, in the order given
  std::uint64_t edits = 0;
};

struct ReductionConfig {
  explicit ReductionConfig(const smdebug::ReductionConfig& value = {});

  smdebug::ReductionConfig value() const;
  std::uint64_t edits_made() const { return edits->count; }

  SharedEdits edits;
  // EditedLists of names without "abs_" and "_norm".
  nb::object reductions;
  nb::object abs_reductions;
  nb::object norms;
  nb::object abs_norms;
  bool save_raw_tensor;
  bool save_shape;
  bool summary;
};

struct Collection {
  explicit Collection(const smdebug::Collection& value);

  smdebug::Collection value() const;
  std::uint64_t edits_made() const;

  SharedEdits edits;
  std::string name;
  nb::object include_regex;                  // an EditedList
  nb::object tensor_names;                   // an EditedSet
  nb::object save_config = nb::none();       // or a SaveConfig
  nb::object reduction_config = nb::none();  // or a ReductionConfig
  nb::object inherited =
      nb::none();  // the hook's SaveConfig, until there is one
  bool save_histogram;
  bool is_optional;
  std::int64_t max_elements = 0;
};

// --- shared by the bindings of these classes ---

/// Return an EditedList or EditedSet of `values` that counts its edits in
/// `edits`.
nb::object edited_list(nb::handle values, const SharedEdits& edits);
nb::object edited_set(nb::handle values, const SharedEdits& edits);

/// Returns the strings in a list or set; throws SMDebugTypeError, naming
/// `field`, if an element is not a string.
std::vector<std::string> texts(const char* field, nb::handle values);

std::string repr_of(nb::handle value);

[[noreturn]] void raise_type_error(const std::string& message);
[[noreturn]] void raise_value_error(const std::string& message);

/// Throws SMDebugTypeError for the first of the keyword arguments that `known`,
/// those of the constructor of `class_name`, lacks.
void refuse_unknown(const char* class_name, const nb::kwargs& unknown,
                    const std::vector<std::string>& known);

/// Returns the value of a `Result`, or throws the exception of its error.
template <class T>
T unwrap(Result<T> result);

/// Defines a class method; `function` takes the class as its first argument.
template <class Class, class Function, class... Extra>
void def_class_method(Class& cls, const char* name, Function&& function,
                      const Extra&... extra) {
  const nb::object made =
      nb::cpp_function(std::forward<Function>(function), nb::name(name),
                       nb::scope(cls), extra...);
  cls.attr(name) = nb::module_::import_("builtins").attr("classmethod")(made);
}

/// Defines `to_json`, the text of the class's `to_json_dict`.
template <class Class>
void def_to_json(Class& cls, const char* doc) {
  cls.def(
      "to_json",
      [](nb::handle_t<typename Class::Type> self) {
        return nb::module_::import_("json").attr("dumps")(
            self.attr("to_json_dict")());
      },
      nb::sig("def to_json(self) -> str"), doc);
}

/// Defines `__eq__`; `equal` compares two objects of the class.
template <class Class, class Equal>
void def_equality(Class& cls, const Equal& equal) {
  using Self = typename Class::Type;
  cls.def(
      "__eq__",
      [equal](const Self& self, nb::handle other) -> nb::object {
        const Self* same = nullptr;
        if (!nb::try_cast(other, same, false) || !same)
          return nb::borrow(Py_NotImplemented);
        return nb::bool_(equal(self, *same));
      },
      nb::arg("other").none(),
      nb::sig("def __eq__(self, other: object) -> bool"));
}

/// Defines `from_json`, which parses the text and calls the class's
/// `from_dict`.
template <class Class>
void def_from_json(Class& cls) {
  def_class_method(
      cls, "from_json",
      [](nb::handle self, nb::handle json_str) {
        return self.attr("from_dict")(
            nb::module_::import_("json").attr("loads")(json_str));
      },
      nb::arg("cls"), nb::arg("json_str").none(),
      nb::sig("def from_json(cls, json_str: str) -> typing.Self"),
      "Makes one from the text of `to_json`.");
}

/// Return and restore a copy of the attributes that Python code added to an
/// object, for pickling.
nb::dict attributes(nb::handle self);
void set_attributes(nb::handle self, nb::handle attributes);

void bind_edits(nb::module_& m);
void bind_save_config(nb::module_& m);       // editable_save_config.cc
void bind_reduction_config(nb::module_& m);  // editable_reduction_config.cc
void bind_collection(nb::module_& m);        // editable_collection.cc

/// Returns `value` itself if it is a SaveConfig, or a new SaveConfig from None,
/// a SaveConfigMode or a dict; throws SMDebugTypeError for anything else.
nb::object parse_save_config(nb::handle cls, nb::handle value);

}  // namespace smdebug::editable

#include "result_caster.h"

template <class T>
T smdebug::editable::unwrap(Result<T> result) {
  if (!result) {
    set_python_error(result.error());
    throw nb::python_error();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <class Snapshot, class Editable>
struct snapshot_caster {
  NB_TYPE_CASTER(Snapshot, make_caster<Editable>::Name)

  static handle from_cpp(const Snapshot& snapshot, rv_policy,
                         cleanup_list*) noexcept {
    try {
      return cast(Editable(snapshot)).release();
    } catch (python_error& error) {
      error.restore();
      return handle();
    }
  }
};

template <>
struct type_caster<smdebug::SaveConfig>
    : snapshot_caster<smdebug::SaveConfig, smdebug::editable::SaveConfig> {};
template <>
struct type_caster<smdebug::ReductionConfig>
    : snapshot_caster<smdebug::ReductionConfig,
                      smdebug::editable::ReductionConfig> {};
template <>
struct type_caster<smdebug::Collection>
    : snapshot_caster<smdebug::Collection, smdebug::editable::Collection> {};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
