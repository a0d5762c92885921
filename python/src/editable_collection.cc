// `Collection`, as users edit it.

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "smdebug/config/collection.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/config/plan.h"

#include "editable_config.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug::editable {
namespace {

// Only the plan compiles patterns, so that there is one definition of validity.
void check_pattern(const std::string& collection, const std::string& pattern) {
  HookConfig config;
  config.collections = {
      smdebug::Collection{{collection, {pattern}, {}}, {}, {}}};
  if (auto plan = Plan::build(config, plain_framework()); !plan) {
    unwrap(Status(plan.error()));
  }
}

// `value` for a message: its type if its repr could read a tensor's elements.
std::string shown(nb::handle value) {
  return nb::cast<std::string>(
      nb::module_::import_("smdebug.hook_arguments").attr("shown")(value));
}

// What to pass in place of a compiled pattern; empty if there is none.
std::string pattern_hint(nb::handle patterns) {
  return nb::cast<std::string>(nb::module_::import_("smdebug.hook_arguments")
                                   .attr("pattern_hint")(patterns));
}

// Raises for text that cannot be encoded in UTF-8, such as half of a surrogate
// pair.
void check_encodable(const std::string& collection, nb::handle text) {
  if (PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) != nullptr) return;
  PyErr_Clear();
  raise_value_error("collection '" + collection + "': " + repr_of(text) +
                    " cannot be encoded in UTF-8; write it without escapes of "
                    "surrogates");
}

void check_tensor_name(const std::string& collection, nb::handle name) {
  if (!PyUnicode_Check(name.ptr())) {
    raise_type_error("collection '" + collection +
                     "' takes the name of a tensor, found " + shown(name));
  }
  check_encodable(collection, name);
}

bool is_list(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) ||
         PyAnySet_Check(value.ptr());
}

bool is_list_of_text(nb::handle value) {
  if (!is_list(value)) return false;
  for (nb::handle each : value) {
    if (!PyUnicode_Check(each.ptr())) return false;
  }
  return true;
}

// One pattern, or a list, tuple or set of patterns; each compiles.
nb::list checked_patterns(const std::string& collection, nb::handle patterns) {
  nb::list found;
  if (PyUnicode_Check(patterns.ptr())) {
    found.append(patterns);
  } else if (is_list_of_text(patterns)) {
    found = nb::list(nb::borrow(patterns));
  } else {
    raise_type_error("collection '" + collection +
                     "' takes a pattern or a list of patterns, found " +
                     shown(patterns) + pattern_hint(patterns));
  }
  for (nb::handle pattern : found) {
    check_encodable(collection, pattern);
    check_pattern(collection, nb::cast<std::string>(pattern));
  }
  return found;
}

bool is_true(nb::handle value) {
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

void set_include_regex(Collection& self, nb::handle value) {
  const bool may_be_empty = value.is_none() || PyUnicode_Check(value.ptr()) ||
                            PyBool_Check(value.ptr()) || is_list(value);
  const nb::list patterns = may_be_empty && !is_true(value)
                                ? nb::list()
                                : checked_patterns(self.name, value);
  self.include_regex = edited_list(patterns, self.edits);
  ++self.edits->count;
}

void set_tensor_names(Collection& self, nb::handle value) {
  if (!value.is_none() && !is_list(value)) {
    raise_type_error("tensor_names must be a list or a set, found " +
                     shown(value));
  }
  if (!value.is_none()) {
    for (nb::handle name : value) check_tensor_name(self.name, name);
  }
  self.tensor_names =
      edited_set(value.is_none() ? nb::tuple() : nb::borrow(value), self.edits);
  ++self.edits->count;
}

void set_save_config(Collection& self, nb::handle value) {
  nb::object config = value.is_none()
                          ? nb::none()
                          : parse_save_config(nb::type<SaveConfig>(), value);
  // More than before, whatever the two configurations have counted.
  self.edits->count = self.edits_made() + 1;
  self.save_config = std::move(config);
}

void set_reduction_config(Collection& self, nb::handle value) {
  if (!value.is_none() && !nb::isinstance<ReductionConfig>(value)) {
    raise_type_error("reduction_config must be a ReductionConfig, found " +
                     shown(value));
  }
  self.edits->count = self.edits_made() + 1;
  self.reduction_config = nb::borrow(value);
}

void set_save_histogram(Collection& self, nb::handle value) {
  static constexpr const char* kField = "save_histogram";
  self.save_histogram =
      PyBool_Check(value.ptr())
          ? value.is(Py_True)
          : nb::cast<bool>(nb::module_::import_("smdebug.booleans")
                               .attr("as_flag")(kField, value));
  ++self.edits->count;
}

void set_max_elements(Collection& self, nb::handle value) {
  std::int64_t most = -1;
  if (!PyLong_CheckExact(value.ptr()) || !nb::try_cast(value, most, false) ||
      most < 0) {
    raise_value_error("max_elements of collection '" + self.name +
                      "' must be a whole number of 0 or more, found " +
                      repr_of(value) + "; 0 saves all elements");
  }
  self.max_elements = most;
  ++self.edits->count;
}

nb::object save_config_of(Collection& self) {
  if (self.save_config.is_none() && !self.inherited.is_none()) {
    self.save_config = self.inherited.attr("copy")();
  }
  return self.save_config;
}

Collection made_collection(nb::handle name, nb::handle include_regex,
                           nb::handle tensor_names, nb::handle reduction_config,
                           nb::handle save_config, nb::handle save_histogram) {
  if (!PyUnicode_Check(name.ptr())) {
    raise_type_error("a collection's name must be text, found " +
                     repr_of(name));
  }
  smdebug::Collection value;
  value.tensors.name = nb::cast<std::string>(name);
  Collection made(value);
  set_include_regex(made, include_regex);
  set_tensor_names(made, tensor_names);
  set_reduction_config(made, reduction_config);
  set_save_config(made, save_config);
  set_save_histogram(made, save_histogram);
  return made;
}

nb::object dict_of(const nb::object& config) {
  return config.is_none() ? nb::none()
                          : nb::object(config.attr("to_json_dict")());
}

nb::object sorted(nb::handle values) {
  return nb::module_::import_("builtins").attr("sorted")(values);
}

nb::dict collection_dict(const Collection& self) {
  nb::dict made;
  made["name"] = self.name;
  made["include_regex"] = nb::list(self.include_regex);
  made["tensor_names"] = sorted(self.tensor_names);
  made["reduction_config"] = dict_of(self.reduction_config);
  made["save_config"] = dict_of(self.save_config);
  made["save_histogram"] = self.save_histogram;
  return made;
}

nb::object collection_from_dict(nb::handle cls, nb::dict params) {
  if (!params.contains("name")) {
    raise_value_error("a collection needs a name, found " + repr_of(params));
  }
  nb::dict fields;
  fields.update(params);
  const auto make = [&fields](const char* key, nb::handle type) {
    const nb::object given = fields.get(key, nb::none());
    if (!given.is_none()) fields[key] = type.attr("from_dict")(given);
  };
  make("reduction_config", nb::type<ReductionConfig>());
  make("save_config", nb::type<SaveConfig>());
  return cls(**fields);
}

nb::object from_collection(nb::handle cls, const Collection& other) {
  return cls(other.name, other.include_regex, other.tensor_names,
             other.reduction_config, other.save_config, other.save_histogram);
}

void def_members(nb::class_<Collection>& cls) {
  using Self = Collection;
  cls.def(
         "include",
         [](Self& self, nb::args patterns, nb::object t) {
           const auto add = [&self](nb::handle given) {
             self.include_regex.attr("extend")(
                 checked_patterns(self.name, given));
           };
           for (nb::handle each : patterns) add(each);
           if (!t.is_none()) add(t);
         },
         "patterns"_a, "t"_a.none() = nb::none(),
         nb::sig("def include(self, *patterns: str | list[str] | tuple[str, "
                 "...] | set[str], t: str | list[str] | tuple[str, ...] | "
                 "set[str] | None = None) -> None"),
         "Adds the tensors whose name contains a match of a pattern, or of any "
         "pattern of a list. `t` is one more.\n\n"
         "Raises SMDebugValueError for a pattern that does not compile.")
      .def(
          "add_tensor_name",
          [](Self& self, nb::object tname) {
            check_tensor_name(self.name, tname);
            self.tensor_names.attr("add")(tname);
          },
          "tname"_a.none(),
          nb::sig("def add_tensor_name(self, tname: str) -> None"),
          "Adds the tensor of that name.")
      .def(
          "remove_tensor_name",
          [](Self& self, nb::object tname) {
            check_tensor_name(self.name, tname);
            self.tensor_names.attr("discard")(tname);
          },
          "tname"_a.none(),
          nb::sig("def remove_tensor_name(self, tname: str) -> None"),
          "Removes a name from `tensor_names`, if present. Patterns may still "
          "match the tensor.")
      .def(
          "has_tensor_name",
          [](const Self& self, nb::object tname) {
            return PyUnicode_Check(tname.ptr()) &&
                   PySet_Contains(self.tensor_names.ptr(), tname.ptr()) == 1;
          },
          "tname"_a.none(),
          nb::sig("def has_tensor_name(self, tname: str) -> bool"),
          "Returns whether `tensor_names` holds a name. Patterns do not count.")
      .def(
          "has_members",
          [](const Self& self) {
            return is_true(self.include_regex) || is_true(self.tensor_names);
          },
          "Returns whether the collection has a pattern or a tensor name.")
      .def(
          "inherit",
          [](Self& self, nb::object save_config) {
            self.inherited = std::move(save_config);
          },
          "save_config"_a.none(),
          nb::sig("def inherit(self, save_config: SaveConfig | None) -> None"),
          "Sets the configuration that `save_config` starts as a copy of, if "
          "the collection has none.")
      .def(
          "mark_edited", [](Self& self) { ++self.edits->count; },
          "Makes the hooks that hold the collection check it for edits.");
}

void def_properties(nb::class_<Collection>& cls) {
  using Self = Collection;
  cls.def_ro("name", &Self::name, "The name; it cannot be changed.")
      .def_prop_rw(
          "include_regex", [](const Self& self) { return self.include_regex; },
          [](Self& self, nb::object value) { set_include_regex(self, value); },
          nb::for_getter(nb::sig("def include_regex(self) -> list[str]")),
          nb::for_setter(nb::arg("value").none()),
          nb::for_setter(nb::sig("def include_regex(self, value: str | "
                                 "list[str] | tuple[str, ...] | set[str] | "
                                 "None) -> None")),
          "Regular expressions: a tensor belongs to the collection if one "
          "matches in its name. May be edited in place.")
      .def_prop_rw(
          "tensor_names", [](const Self& self) { return self.tensor_names; },
          [](Self& self, nb::object value) { set_tensor_names(self, value); },
          nb::for_getter(nb::sig("def tensor_names(self) -> set[str]")),
          nb::for_setter(nb::arg("value").none()),
          nb::for_setter(nb::sig(
              "def tensor_names(self, value: list[str] | tuple[str, ...] | "
              "set[str] | frozenset[str] | None) -> None")),
          "Names of tensors that belong to the collection. May be edited in "
          "place.")
      .def_prop_rw(
          "save_config", &save_config_of,
          [](Self& self, nb::object value) { set_save_config(self, value); },
          nb::for_getter(nb::sig("def save_config(self) -> SaveConfig | None")),
          nb::for_setter(nb::arg("value").none()),
          nb::for_setter(nb::sig(
              "def save_config(self, value: SaveConfig | SaveConfigMode | "
              "dict[typing.Any, typing.Any] | None) -> None")),
          "When it is saved. In a hook it starts as a copy of the hook's, and "
          "may be edited in place.")
      .def_prop_rw(
          "reduction_config",
          [](const Self& self) { return self.reduction_config; },
          [](Self& self, nb::object value) {
            set_reduction_config(self, value);
          },
          nb::for_getter(
              nb::sig("def reduction_config(self) -> ReductionConfig | None")),
          nb::for_setter(nb::arg("value").none()),
          nb::for_setter(nb::sig("def reduction_config(self, value: "
                                 "ReductionConfig | None) -> None")),
          "The reductions to save instead of the elements; None for the "
          "hook's.")
      .def_prop_rw(
          "save_histogram",
          [](const Self& self) { return self.save_histogram; },
          [](Self& self, nb::object value) { set_save_histogram(self, value); },
          nb::for_setter(nb::arg("value").none()),
          nb::for_setter(
              nb::sig("def save_histogram(self, value: bool) -> None")),
          "Whether TensorBoard shows histograms of its tensors.")
      .def_prop_rw(
          "is_optional", [](const Self& self) { return self.is_optional; },
          [](Self& self, bool value) {
            self.is_optional = value;
            ++self.edits->count;
          },
          "Whether the hook stays silent if the collection matches no tensor.")
      .def_prop_rw(
          "max_elements", [](const Self& self) { return self.max_elements; },
          [](Self& self, nb::object value) { set_max_elements(self, value); },
          nb::for_setter(nb::arg("value").none()),
          nb::for_setter(nb::sig("def max_elements(self, value: int) -> None")),
          "The most elements of each tensor that are saved; 0 saves all. Of a "
          "larger tensor, every n-th index of each dimension is saved, unless "
          "another collection saves the whole tensor at that step.");
}

void def_json(nb::class_<Collection>& cls) {
  cls.def("to_json_dict", &collection_dict,
          nb::sig("def to_json_dict(self) -> dict[str, typing.Any]"),
          "Returns the arguments of the constructor, in the order of "
          "collections files.");
  def_to_json(cls,
              "Returns the text of this collection in a collections file.");
  def_class_method(
      cls, "from_dict", &collection_from_dict, "cls"_a, "params"_a.none(),
      nb::sig("def from_dict(cls, params: dict[str, typing.Any]) -> "
              "typing.Self"),
      "Makes one from the keys of `to_json_dict`.\n\n"
      "Raises SMDebugValueError without a `name`.");
  def_class_method(
      cls, "from_json",
      [](nb::handle self, nb::handle json_str) {
        return self.attr("from_dict")(
            nb::module_::import_("json").attr("loads")(json_str));
      },
      "cls"_a, "json_str"_a.none(),
      nb::sig("def from_json(cls, json_str: str) -> typing.Self"),
      "Makes one from the text of `to_json`.");
  def_class_method(cls, "from_collection", &from_collection, "cls"_a, "other"_a,
                   nb::sig("def from_collection(cls, other: Collection) -> "
                           "typing.Self"),
                   "Makes one of this class with the fields of another. The "
                   "two share the configurations of `other`.");
}

nb::tuple collection_state(nb::pointer_and_handle<Collection> self) {
  const Collection& c = *self.p;
  return nb::make_tuple(c.name, nb::list(c.include_regex),
                        nb::list(c.tensor_names), c.reduction_config,
                        c.save_config, c.save_histogram, c.inherited,
                        c.is_optional, attributes(self.h), c.max_elements);
}

void set_collection_state(nb::pointer_and_handle<Collection> self,
                          const nb::tuple& state) {
  Collection made = made_collection(state[0], nb::none(), state[2], state[3],
                                    state[4], state[5]);
  made.include_regex = edited_list(state[1], made.edits);  // as it was
  made.inherited = state[6];
  made.is_optional = nb::cast<bool>(state[7]);
  made.max_elements = nb::cast<std::int64_t>(state[9]);
  new (self.p) Collection(std::move(made));
  set_attributes(self.h, state[8]);
}

void def_object(nb::class_<Collection>& cls) {
  def_equality(cls, [](const Collection& a, const Collection& b) {
    return collection_dict(a).equal(collection_dict(b));
  });
  cls.def("__hash__",
          [](const Collection& self) {
            return PyObject_Hash(nb::cast(self.name).ptr());
          })
      .def("__repr__",
           [](nb::pointer_and_handle<Collection> self) {
             return nb::cast<std::string>(self.h.type().attr("__name__")) +
                    "(" + repr_of(nb::cast(self.p->name)) + ", " +
                    repr_of(nb::list(self.p->include_regex)) + ")";
           })
      .def("__getstate__", &collection_state,
           nb::sig("def __getstate__(self) -> tuple[typing.Any, ...]"))
      .def("__setstate__", &set_collection_state,
           nb::sig("def __setstate__(self, state: tuple[typing.Any, ...]) -> "
                   "None"));
}

}  // namespace

Collection::Collection(const smdebug::Collection& value)
    : edits(std::make_shared<Edits>()),
      name(value.name()),
      include_regex(edited_list(nb::cast(value.tensors.include_regex), edits)),
      tensor_names(edited_set(nb::cast(value.tensors.tensor_names), edits)),
      save_histogram(value.save_histogram),
      is_optional(value.is_optional),
      max_elements(value.max_elements) {
  if (value.save_config) save_config = nb::cast(SaveConfig(*value.save_config));
  if (value.reduction_config) {
    reduction_config = nb::cast(ReductionConfig(*value.reduction_config));
  }
}

smdebug::Collection Collection::value() const {
  smdebug::Collection value;
  value.tensors = {name, texts("include_regex", include_regex),
                   texts("tensor_names", tensor_names)};
  std::ranges::sort(value.tensors.tensor_names);
  if (!save_config.is_none()) {
    value.save_config = nb::inst_ptr<SaveConfig>(save_config)->value();
  }
  if (!reduction_config.is_none()) {
    value.reduction_config =
        nb::inst_ptr<ReductionConfig>(reduction_config)->value();
  }
  value.save_histogram = save_histogram;
  value.is_optional = is_optional;
  value.max_elements = max_elements;
  return value;
}

std::uint64_t Collection::edits_made() const {
  std::uint64_t sum = edits->count;
  if (!save_config.is_none()) {
    sum += nb::inst_ptr<SaveConfig>(save_config)->edits_made();
  }
  if (!reduction_config.is_none()) {
    sum += nb::inst_ptr<ReductionConfig>(reduction_config)->edits_made();
  }
  return sum;
}

void bind_collection(nb::module_& m) {
  nb::class_<Collection> cls(
      m, "Collection", nb::dynamic_attr(), nb::is_weak_referenceable(),
      "A name for the tensors that are listed or whose name a regex "
      "matches.\n\n"
      "Every property may be changed at any time, and its lists edited in "
      "place; a hook that holds the\ncollection applies the edit when its next "
      "step begins. If an edit is not valid, such as a\npattern that "
      "does not compile, the hook logs a warning and keeps the previous "
      "configuration.");
  cls.def(
      "__init__",
      [](Collection* self, nb::object name, nb::object include_regex,
         nb::object tensor_names, nb::object reduction_config,
         nb::object save_config, nb::object save_histogram,
         const nb::kwargs& unknown) {
        refuse_unknown("Collection", unknown,
                       {"name", "include_regex", "tensor_names",
                        "reduction_config", "save_config", "save_histogram"});
        if (name.is(nb::ellipsis()))
          raise_type_error("Collection needs the argument 'name'");
        new (self) Collection(made_collection(name, include_regex, tensor_names,
                                              reduction_config, save_config,
                                              save_histogram));
      },
      "name"_a.none() = nb::ellipsis(), "include_regex"_a = nb::none(),
      "tensor_names"_a = nb::none(), "reduction_config"_a = nb::none(),
      "save_config"_a = nb::none(), "save_histogram"_a.none() = true,
      "unknown"_a,
      nb::sig("def __init__(self, name: str, include_regex: str | list[str] | "
              "tuple[str, ...] | set[str] | None = None, tensor_names: "
              "list[str] | tuple[str, ...] | set[str] | frozenset[str] | None "
              "= None, reduction_config: ReductionConfig | None = None, "
              "save_config: SaveConfig | SaveConfigMode | dict[typing.Any, "
              "typing.Any] | None = None, save_histogram: bool = True) -> "
              "None"),
      "Lists are copied; the configurations are kept, so later edits of them "
      "count.\n\n"
      "Raises SMDebugTypeError for an argument of the wrong kind, and "
      "SMDebugValueError for a pattern\nthat does not compile.");
  def_properties(cls);
  def_members(cls);
  def_json(cls);
  def_object(cls);
}

}  // namespace smdebug::editable
