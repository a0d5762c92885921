// `ReductionConfig`, as users edit it.

#include <array>
#include <new>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "smdebug/config/reduction_config.h"

#include "editable_config.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug::editable {
namespace {

// One of the four lists of names.
struct NameList {
  const char* field;
  nb::object ReductionConfig::*list;
  bool is_abs;
  bool holds_norms;
};

// In the order of writing: see `ReductionConfig::ordered_ops`.
constexpr std::array<NameList, 4> kLists = {{
    {"reductions", &ReductionConfig::reductions, false, false},
    {"norms", &ReductionConfig::norms, false, true},
    {"abs_reductions", &ReductionConfig::abs_reductions, true, false},
    {"abs_norms", &ReductionConfig::abs_norms, true, true},
}};

bool is_norm(Reduction reduction) {
  return reduction == Reduction::l1 || reduction == Reduction::l2;
}

const char* allowed(bool norms) {
  return norms ? "l1 or l2"
               : "min, max, median, mean, std, variance, sum or prod";
}

// Names the list that takes a reduction, and its name there, as in
// "abs_reductions=['mean']"; empty for text that names no reduction.
std::string place_of(const std::string& name) {
  const auto op = find_reduction_op(name);
  if (!op) return "";
  for (const NameList& list : kLists) {
    if (list.is_abs == op->abs && list.holds_norms == is_norm(op->reduction)) {
      return std::string(list.field) + "=['" +
             std::string(reduction_name(op->reduction)) + "']";
    }
  }
  return "";
}

Reduction reduction_of(const NameList& list, nb::handle name) {
  std::string place;
  if (PyUnicode_Check(name.ptr())) {
    const auto text = nb::cast<std::string>(name);
    const auto found = find_reduction(text);
    if (found && is_norm(*found) == list.holds_norms) return *found;
    place = place_of(text);
  }
  if (!place.empty()) {
    raise_value_error(list.field + (" does not take " + repr_of(name)) +
                      "; did you mean " + place + "?");
  }
  raise_value_error(repr_of(name) + " in " + list.field +
                    " is not a reduction; use " + allowed(list.holds_norms));
}

nb::object name_list(const NameList& list, nb::handle names,
                     const SharedEdits& edits) {
  nb::list found;
  if (names.is_none()) return edited_list(found, edits);
  if (!PyList_Check(names.ptr()) && !PyTuple_Check(names.ptr())) {
    raise_value_error(std::string(list.field) +
                      " must be a list of names, found " + repr_of(names));
  }
  for (nb::handle name : names) {
    found.append(nb::cast(reduction_name(reduction_of(list, name))));
  }
  return edited_list(found, edits);
}

bool flag(const char* field, nb::handle value) {
  if (PyBool_Check(value.ptr())) return value.is(Py_True);
  raise_value_error(std::string(field) + " must be True or False, found " +
                    repr_of(value));
}

// "true" and "False" in text are accepted, as in configurations in JSON.
bool flag_or_text(const char* field, nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) return flag(field, value);
  const auto word =
      nb::cast<std::string>(value.attr("strip")().attr("lower")());
  if (word != "true" && word != "false") return flag(field, value);
  return word == "true";
}

std::string ops_text(const ReductionConfig& self) {
  std::string text;
  for (const NameList& list : kLists) {
    for (nb::handle name : self.*list.list) {
      if (!text.empty()) text += ',';
      if (list.is_abs) text += "abs_";
      text += nb::cast<std::string>(nb::str(name));
      if (list.holds_norms) text += "_norm";
    }
  }
  return text;
}

nb::dict reduction_dict(const ReductionConfig& self) {
  nb::dict made;
  made["save_raw_tensor"] = self.save_raw_tensor;
  made["reductions"] = ops_text(self);
  made["save_shape"] = self.save_shape;
  if (self.summary) made["summary"] = true;
  return made;
}

// The arguments of a class that hold what `value` does.
nb::dict arguments(const smdebug::ReductionConfig& value) {
  const ReductionConfig made(value);
  nb::dict arguments;
  for (const NameList& list : kLists) {
    arguments[list.field] = made.*list.list;
  }
  arguments["save_raw_tensor"] = value.save_raw_tensor;
  arguments["save_shape"] = value.save_shape;
  arguments["summary"] = value.summary;
  return arguments;
}

nb::object reduction_from_dict(nb::handle cls, nb::dict params) {
  smdebug::ReductionConfig value;
  for (const auto [key, given] : params) {
    const auto name = nb::cast<std::string>(nb::str(key));
    if (name == "reductions") {
      const bool is_empty = !nb::cast<bool>(nb::bool_(nb::borrow(given)));
      value.ops = unwrap(smdebug::ReductionConfig::parse_ops(
          is_empty ? "" : nb::cast<std::string>(nb::str(given))));
    } else if (name == "save_raw_tensor") {
      value.save_raw_tensor = flag_or_text("save_raw_tensor", given);
    } else if (name == "save_shape") {
      value.save_shape = flag_or_text("save_shape", given);
    } else if (name == "summary") {
      value.summary = flag_or_text("summary", given);
    } else {
      raise_value_error(repr_of(key) +
                        " is not a key of a reduction config; use reductions, "
                        "save_raw_tensor, save_shape or summary");
    }
  }
  return cls(**arguments(value));
}

void initialize(ReductionConfig& self, nb::handle reductions,
                nb::handle abs_reductions, nb::handle norms,
                nb::handle abs_norms, nb::handle save_raw_tensor,
                nb::handle save_shape, nb::handle summary) {
  const std::array<nb::handle, 4> given = {reductions, norms, abs_reductions,
                                           abs_norms};
  for (std::size_t i = 0; i < kLists.size(); ++i) {
    self.*kLists[i].list = name_list(kLists[i], given[i], self.edits);
  }
  self.save_raw_tensor = flag("save_raw_tensor", save_raw_tensor);
  self.save_shape = flag("save_shape", save_shape);
  self.summary = flag("summary", summary);
}

template <std::size_t kList>
void def_names(nb::class_<ReductionConfig>& cls, const char* getter_signature,
               const char* setter_signature, const char* doc) {
  cls.def_prop_rw(
      kLists[kList].field,
      [](const ReductionConfig& self) { return self.*kLists[kList].list; },
      [](ReductionConfig& self, nb::object names) {
        self.*kLists[kList].list = name_list(kLists[kList], names, self.edits);
        ++self.edits->count;
      },
      nb::for_getter(nb::sig(getter_signature)),
      nb::for_setter(nb::arg("value").none()),
      nb::for_setter(nb::sig(setter_signature)), doc);
}

template <bool ReductionConfig::*kFlag>
void def_flag(nb::class_<ReductionConfig>& cls, const char* name,
              const char* setter_signature, const char* doc) {
  cls.def_prop_rw(
      name, [](const ReductionConfig& self) { return self.*kFlag; },
      [name](ReductionConfig& self, nb::object value) {
        self.*kFlag = flag(name, value);
        ++self.edits->count;
      },
      nb::for_setter(nb::arg("value").none()),
      nb::for_setter(nb::sig(setter_signature)), doc);
}

void def_properties(nb::class_<ReductionConfig>& cls) {
  def_names<0>(cls, "def reductions(self) -> list[str]",
               "def reductions(self, value: list[str] | tuple[str, ...] | "
               "None) -> None",
               "Computed from the elements: min, max, median, mean, std, "
               "variance, sum, prod.");
  def_names<2>(cls, "def abs_reductions(self) -> list[str]",
               "def abs_reductions(self, value: list[str] | tuple[str, ...] | "
               "None) -> None",
               "The same, computed from the absolute values.");
  def_names<1>(cls, "def norms(self) -> list[str]",
               "def norms(self, value: list[str] | tuple[str, ...] | None) -> "
               "None",
               "Computed from the elements: l1, l2.");
  def_names<3>(cls, "def abs_norms(self) -> list[str]",
               "def abs_norms(self, value: list[str] | tuple[str, ...] | "
               "None) -> None",
               "The same, computed from the absolute values.");
  def_flag<&ReductionConfig::save_raw_tensor>(
      cls, "save_raw_tensor", "def save_raw_tensor(self, value: bool) -> None",
      "Whether the elements are saved too.");
  def_flag<&ReductionConfig::save_shape>(
      cls, "save_shape", "def save_shape(self, value: bool) -> None",
      "Whether the shape is saved too.");
  def_flag<&ReductionConfig::summary>(
      cls, "summary", "def summary(self, value: bool) -> None",
      "Whether tensors are captured only for their statistics.");
}

void def_json(nb::class_<ReductionConfig>& cls) {
  cls.def("ops_text", &ops_text,
          "Returns \"mean,l2_norm,abs_max\": the spelling of JSON "
          "configurations and collections files.")
      .def("to_json_dict", &reduction_dict,
           nb::sig("def to_json_dict(self) -> dict[str, typing.Any]"),
           "Returns the keys of `from_dict`.");
  def_to_json(
      cls, "Returns the keys of `from_dict` as text, as in collections files.");
  def_class_method(
      cls, "from_dict", &reduction_from_dict, "cls"_a, "params"_a.none(),
      nb::sig("def from_dict(cls, params: dict[str, typing.Any]) -> "
              "typing.Self"),
      "Makes one from {\"reductions\": \"mean,abs_max,l2_norm\", "
      "\"save_raw_tensor\": True, ...}.\n\n"
      "Flags may be text, \"true\" or \"False\", as in JSON configurations. "
      "Raises SMDebugValueError\nfor a key or a reduction that does not "
      "exist.");
  def_from_json(cls);
}

nb::tuple reduction_state(nb::pointer_and_handle<ReductionConfig> self) {
  const ReductionConfig& config = *self.p;
  return nb::make_tuple(nb::list(config.reductions),
                        nb::list(config.abs_reductions), nb::list(config.norms),
                        nb::list(config.abs_norms), config.save_raw_tensor,
                        config.save_shape, config.summary, attributes(self.h));
}

void set_reduction_state(nb::pointer_and_handle<ReductionConfig> self,
                         const nb::tuple& state) {
  ReductionConfig made;
  initialize(made, state[0], state[1], state[2], state[3], state[4], state[5],
             state[6]);
  new (self.p) ReductionConfig(std::move(made));
  set_attributes(self.h, state[7]);
}

void def_object(nb::class_<ReductionConfig>& cls) {
  def_equality(cls, [](const ReductionConfig& a, const ReductionConfig& b) {
    return reduction_dict(a).equal(reduction_dict(b));
  });
  cls.def("__repr__",
          [](const ReductionConfig& self) {
            return "ReductionConfig(" + repr_of(reduction_dict(self)) + ")";
          })
      .def("__getstate__", &reduction_state,
           nb::sig("def __getstate__(self) -> tuple[typing.Any, ...]"))
      .def("__setstate__", &set_reduction_state,
           nb::sig("def __setstate__(self, state: tuple[typing.Any, ...]) -> "
                   "None"));
  cls.attr("__hash__") = nb::none();
}

constexpr const char* kDoc =
    "The numbers that tensors are reduced to.\n\n"
    "`reductions` and `norms` are computed from the elements, `abs_reductions` "
    "and `abs_norms` from\ntheir absolute values. The elements themselves are "
    "saved only with `save_raw_tensor`, the shape\nwith `save_shape`. "
    "`summary` asks only for the statistics, which every captured tensor "
    "has.\n\n"
    "Reductions of every dtype are computed in float64 and never fail: NaN "
    "propagates as in numpy,\nbools count as 0 and 1, complex elements by "
    "their absolute value. Strings and tensors without\nelements have none. In "
    "PyTorch `std` and `variance` are unbiased, as torch computes "
    "them;\nelsewhere they are of the population. `median` of an even count is "
    "the mean of the middle two,\nas in numpy (torch.median gives the lower "
    "one); l1 and l2 are always of the flattened tensor.\n\n"
    "A saved reduction has the tensor's dtype where that is float16, bfloat16, "
    "float32 or float64\n(a number beyond its range is saved as infinite), "
    "float32 for complex64 and float8, and float64\nfor integers, bools and "
    "complex128. Its shape is () in PyTorch, (1,) elsewhere.\n\n"
    "Every property may be set at any time, and its lists edited in place; a "
    "hook applies the edit\nwhen its next step begins.";

}  // namespace

ReductionConfig::ReductionConfig(const smdebug::ReductionConfig& value)
    : edits(std::make_shared<Edits>()),
      save_raw_tensor(value.save_raw_tensor),
      save_shape(value.save_shape),
      summary(value.summary) {
  for (const NameList& list : kLists) {
    nb::list names;
    for (ReductionOp op : value.ops) {
      if (op.abs == list.is_abs && is_norm(op.reduction) == list.holds_norms) {
        names.append(nb::cast(reduction_name(op.reduction)));
      }
    }
    this->*list.list = edited_list(names, edits);
  }
}

smdebug::ReductionConfig ReductionConfig::value() const {
  smdebug::ReductionConfig value{{}, save_raw_tensor, save_shape, summary};
  for (const NameList& list : kLists) {
    for (nb::handle name : this->*list.list) {
      value.ops.push_back({reduction_of(list, name), list.is_abs});
    }
  }
  return value;
}

void bind_reduction_config(nb::module_& m) {
  nb::class_<ReductionConfig> cls(m, "ReductionConfig", nb::dynamic_attr(),
                                  nb::is_weak_referenceable(), kDoc);
  cls.def(
      "__init__",
      [](ReductionConfig* self, nb::object reductions,
         nb::object abs_reductions, nb::object norms, nb::object abs_norms,
         nb::object save_raw_tensor, nb::object save_shape, nb::object summary,
         const nb::kwargs& unknown) {
        refuse_unknown("ReductionConfig", unknown,
                       {"reductions", "abs_reductions", "norms", "abs_norms",
                        "save_raw_tensor", "save_shape", "summary"});
        ReductionConfig made;
        initialize(made, reductions, abs_reductions, norms, abs_norms,
                   save_raw_tensor, save_shape, summary);
        new (self) ReductionConfig(std::move(made));
      },
      "reductions"_a = nb::none(), "abs_reductions"_a = nb::none(),
      "norms"_a = nb::none(), "abs_norms"_a = nb::none(),
      "save_raw_tensor"_a.none() = false, "save_shape"_a.none() = false,
      "summary"_a.none() = false, "unknown"_a,
      nb::sig("def __init__(self, reductions: list[str] | tuple[str, ...] | "
              "None = None, abs_reductions: list[str] | tuple[str, ...] | None "
              "= None, norms: list[str] | tuple[str, ...] | None = None, "
              "abs_norms: list[str] | tuple[str, ...] | None = None, "
              "save_raw_tensor: bool = False, save_shape: bool = False, "
              "summary: bool = False) -> None"),
      "None stands for an empty list.\n\n"
      "Raises SMDebugValueError for a name that is not a reduction or not a "
      "norm, and for flags\nthat are not bool.");
  def_properties(cls);
  def_json(cls);
  def_object(cls);
}

}  // namespace smdebug::editable
