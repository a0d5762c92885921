// `SaveConfigMode` and `SaveConfig`, as users edit them.

#include <algorithm>
#include <array>
#include <cctype>
#include <new>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/logger.h"
#include "smdebug/config/save_config.h"

#include "editable_config.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug::editable {
namespace {

template <class Config>
bool have_equal_values(const Config& a, const Config& b) {
  return a.value() == b.value();
}

constexpr std::array<const char*, 4> kKeys = {"save_interval", "start_step",
                                              "end_step", "save_steps"};

// Whether `value` is a number with a fraction, which int() would cut off.
bool has_fraction(nb::handle value, Step whole) {
  const nb::object number = nb::steal(PyNumber_Float(value.ptr()));
  PyErr_Clear();
  return number && PyFloat_AsDouble(number.ptr()) != static_cast<double>(whole);
}

// Accepts whole numbers of any type, and text as JSON files hold it.
std::optional<Step> whole_number(const char* field, nb::handle value) {
  if (value.is_none()) return std::nullopt;
  const nb::object number = nb::steal(PyNumber_Long(value.ptr()));
  int overflow = 1;
  const Step step =
      number ? PyLong_AsLongLongAndOverflow(number.ptr(), &overflow) : 0;
  if (number && !overflow && !has_fraction(value, step)) return step;
  PyErr_Clear();
  raise_value_error(std::string(field) + " must be a whole number, found " +
                    repr_of(value));
}

Step save_interval_of(nb::handle value) {
  smdebug::SaveConfigMode mode;
  mode.save_interval =
      whole_number("save_interval", value).value_or(mode.save_interval);
  unwrap(mode.check());
  return mode.save_interval;
}

Step start_step_of(nb::handle value) {
  return whole_number("start_step", value).value_or(0);
}

std::optional<Step> end_step_of(nb::handle value) {
  return whole_number("end_step", value);
}

// The steps of a list. Fails for anything but whole numbers of 0 or more.
std::vector<Step> steps_of(nb::handle values) {
  std::vector<Step> steps;
  for (nb::handle each : values) {
    Step step = 0;
    if (!PyLong_CheckExact(each.ptr()) || !nb::try_cast(each, step, false) ||
        step < 0) {
      raise_value_error(
          "save_steps must be a list of whole numbers of 0 or more, found " +
          repr_of(values));
    }
    steps.push_back(step);
  }
  return steps;
}

nb::object step_list(nb::handle values, const SharedEdits& edits) {
  if (values.is_none()) return edited_list(nb::list(), edits);
  if (!PyList_Check(values.ptr()) && !PyTuple_Check(values.ptr())) {
    raise_value_error(
        "save_steps must be a list of whole numbers of 0 or more, found " +
        repr_of(values));
  }
  steps_of(values);
  return edited_list(values, edits);
}

SaveConfigMode made_mode(nb::handle save_interval, nb::handle start_step,
                         nb::handle end_step, nb::handle save_steps) {
  SaveConfigMode made;
  made.save_interval = save_interval_of(save_interval);
  made.start_step = start_step_of(start_step);
  made.end_step = end_step_of(end_step);
  made.save_steps = step_list(save_steps, made.edits);
  return made;
}

nb::dict mode_dict(const SaveConfigMode& self) {
  nb::dict made;
  made["save_interval"] = self.save_interval;
  made["save_steps"] = nb::list(self.save_steps);
  made["start_step"] = self.start_step;
  made["end_step"] = self.end_step;
  return made;
}

nb::object mode_from_dict(nb::handle cls, nb::handle params,
                          nb::handle default_values) {
  nb::dict values;
  if (nb::cast<bool>(nb::bool_(default_values))) values.update(default_values);
  values.update(params);
  for (const auto [key, value] : values) {
    const auto is_key = [&](const char* known) {
      return key.equal(nb::str(known));
    };
    if (std::any_of(kKeys.begin(), kKeys.end(), is_key)) continue;
    raise_value_error(repr_of(key) +
                      " is not a key of a save config; use save_interval, "
                      "start_step, end_step or save_steps");
  }
  return cls(**values);
}

std::string mode_repr(nb::handle self) {
  std::string text = "SaveConfigMode(";
  for (const char* key : kKeys) {
    if (key != kKeys[0]) text += ", ";
    text += std::string(key) + "=" + repr_of(self.attr(key));
  }
  return text + ")";
}

nb::tuple mode_state(nb::pointer_and_handle<SaveConfigMode> self) {
  return nb::make_tuple(self.p->save_interval, self.p->start_step,
                        self.p->end_step, nb::list(self.p->save_steps),
                        attributes(self.h));
}

void set_mode_state(nb::pointer_and_handle<SaveConfigMode> self,
                    const nb::tuple& state) {
  new (self.p)
      SaveConfigMode(made_mode(state[0], state[1], state[2], state[3]));
  set_attributes(self.h, state[4]);
}

// A property that holds a whole number; `parse` checks the value of a setter.
template <auto kMember, auto parse>
void def_number(nb::class_<SaveConfigMode>& cls, const char* name,
                const char* setter_signature, const char* doc) {
  cls.def_prop_rw(
      name, [](const SaveConfigMode& self) { return self.*kMember; },
      [](SaveConfigMode& self, nb::object value) {
        self.*kMember = parse(value);
        ++self.edits->count;
      },
      nb::for_setter(nb::arg("value").none()),
      nb::for_setter(nb::sig(setter_signature)), doc);
}

void def_properties(nb::class_<SaveConfigMode>& cls) {
  def_number<&SaveConfigMode::save_interval, &save_interval_of>(
      cls, "save_interval",
      "def save_interval(self, value: int | None) -> None",
      "Saves the steps that are a multiple of it: 1 or more, by default 500.");
  def_number<&SaveConfigMode::start_step, &start_step_of>(
      cls, "start_step", "def start_step(self, value: int | None) -> None",
      "The first step of the range, included; by default 0.");
  def_number<&SaveConfigMode::end_step, &end_step_of>(
      cls, "end_step", "def end_step(self, value: int | None) -> None",
      "The end of the range, excluded; None (the default) for no end.");
  cls.def_prop_rw(
      "save_steps", [](const SaveConfigMode& self) { return self.save_steps; },
      [](SaveConfigMode& self, nb::object value) {
        self.save_steps = step_list(value, self.edits);
        ++self.edits->count;
      },
      nb::for_getter(nb::sig("def save_steps(self) -> list[int]")),
      nb::for_setter(nb::arg("value").none()),
      nb::for_setter(
          nb::sig("def save_steps(self, value: list[int] | tuple[int, ...] "
                  "| None) -> None")),
      "Steps that are saved whatever the range and the interval are. May "
      "be edited in place.");
}

void bind_mode(nb::module_& m) {
  using Self = SaveConfigMode;
  nb::class_<Self> cls(
      m, "SaveConfigMode", nb::dynamic_attr(), nb::is_weak_referenceable(),
      "The steps that are saved in one mode.\n\n"
      "A step is saved if `save_steps` lists it, or if it lies in "
      "[`start_step`, `end_step`)\nand is a multiple of `save_interval`. "
      "Steps are those of the mode, counted from 0.\n\n"
      "Every property may be set at any time; a hook applies the edit when its "
      "next step begins.");
  cls.def(
      "__init__",
      [](Self* self, nb::object save_interval, nb::object start_step,
         nb::object end_step, nb::object save_steps,
         const nb::kwargs& unknown) {
        refuse_unknown("SaveConfigMode", unknown, {kKeys.begin(), kKeys.end()});
        new (self)
            Self(made_mode(save_interval, start_step, end_step, save_steps));
      },
      "save_interval"_a = nb::none(), "start_step"_a = nb::none(),
      "end_step"_a = nb::none(), "save_steps"_a = nb::none(), "unknown"_a,
      nb::sig("def __init__(self, save_interval: int | None = None, "
              "start_step: int | None = None, end_step: int | None = None, "
              "save_steps: list[int] | tuple[int, ...] | None = None) -> "
              "None"),
      "None stands for the default: every 500th step, from step 0, without "
      "an end.\n\n"
      "Raises SMDebugValueError for an interval below 1 and for anything "
      "but whole numbers.");
  def_properties(cls);
  cls.def(
         "should_save_step",
         [](const Self& self, Step step_num) {
           return self.value().is_due(step_num);
         },
         "step_num"_a, "Returns whether a step of this mode is saved.")
      .def("to_json_dict", &mode_dict,
           nb::sig("def to_json_dict(self) -> dict[str, typing.Any]"),
           "Returns the four values, in the order of collections files.")
      .def(
          "copy", [](const Self& self) { return Self(self.value()); },
          "Returns a copy that shares nothing.")
      .def("__repr__", [](nb::handle_t<Self> self) { return mode_repr(self); })
      .def("__getstate__", &mode_state,
           nb::sig("def __getstate__(self) -> tuple[typing.Any, ...]"))
      .def("__setstate__", &set_mode_state,
           nb::sig("def __setstate__(self, state: tuple[typing.Any, ...]) -> "
                   "None"));
  def_equality(cls, &have_equal_values<Self>);
  cls.attr("__hash__") = nb::none();
  def_class_method(
      cls, "from_dict", &mode_from_dict, "cls"_a, "params"_a.none(),
      "default_values"_a = nb::none(),
      nb::sig("def from_dict(cls, params: dict[str, typing.Any], "
              "default_values: dict[str, typing.Any] | None = None) -> "
              "typing.Self"),
      "Makes one from the keys of `to_json_dict`; `default_values` holds the "
      "keys that `params` lacks.\n\n"
      "Raises SMDebugValueError for a key that does not exist.");
}

// --- SaveConfig ---

std::optional<Mode> mode_of(nb::handle value) {
  Mode mode;
  if (!nb::try_cast(value, mode, false)) return std::nullopt;
  return mode;
}

Mode checked_mode(nb::handle value) {
  if (const auto mode = mode_of(value)) return *mode;
  raise_value_error(
      "mode must be one of smdebug.modes, modes.TRAIN, modes.EVAL, "
      "modes.PREDICT or modes.GLOBAL, found " +
      repr_of(value));
}

// The likely meaning of the only argument of a SaveConfig that is no dict.
std::string meant(nb::handle value) {
  if (nb::isinstance<SaveConfigMode>(value)) {
    return "; use SaveConfig.from_save_config_mode(...) for all modes";
  }
  if (!PyLong_Check(value.ptr())) return "";
  return "; did you mean SaveConfig(save_interval=" + repr_of(value) + ")?";
}

// A value for a message; the repr of a SaveConfig is long.
std::string found_text(nb::handle value) {
  return nb::isinstance<SaveConfig>(value) ? "a SaveConfig" : repr_of(value);
}

// As `meant`, for the value of one mode.
std::string meant_for_mode(nb::handle value) {
  if (nb::isinstance<SaveConfig>(value)) {
    const auto* config = nb::inst_ptr<SaveConfig>(value)->find(Mode::global);
    return "; did you mean " +
           (config ? repr_of(nb::find(config)) : "SaveConfigMode(...)") + "?";
  }
  if (!PyLong_Check(value.ptr())) return "";
  return "; did you mean SaveConfigMode(save_interval=" + repr_of(value) + ")?";
}

SaveConfig made_config(nb::handle mode_save_configs) {
  if (!PyDict_Check(mode_save_configs.ptr())) {
    raise_type_error("mode_save_configs must be a dict of modes, found " +
                     repr_of(mode_save_configs) + meant(mode_save_configs));
  }
  SaveConfig made;
  for (const auto [key, config] : nb::borrow<nb::dict>(mode_save_configs)) {
    const auto mode = mode_of(key);
    if (!mode) {
      raise_value_error(
          "the keys of mode_save_configs must be smdebug.modes, found " +
          repr_of(key));
    }
    if (!config.is_none() && !nb::isinstance<SaveConfigMode>(config)) {
      raise_value_error("mode " + std::string(mode_name(*mode)) +
                        " takes a SaveConfigMode, "
                        "found " +
                        found_text(config) + meant_for_mode(config));
    }
    made.set(*mode, nb::borrow(config));
  }
  return made;
}

// "a", "a and b", "a, b and c".
std::string enumerated(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " and ";
    text += words[i];
  }
  return text;
}

// Scripts for the original pass settings of all modes beside a dict of modes.
// There as here they have no effect.
void warn_of_settings_beside(
    const SaveConfig& made, const std::array<nb::handle, kKeys.size()>& given) {
  std::vector<std::string> names, lacking;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    if (!given[i].is_none()) names.emplace_back(kKeys[i]);
  }
  if (names.empty()) return;
  for (Mode mode : kModes) {
    if (!made.find(mode)) lacking.emplace_back(mode_name(mode));
  }
  const bool is_one = names.size() == 1;
  std::string text =
      "SaveConfig: " + enumerated(names) + (is_one ? " has" : " have") +
      " no effect beside mode_save_configs: set " + (is_one ? "it" : "them") +
      " in the SaveConfigMode of each mode";
  if (!lacking.empty()) {
    text += ", and add " + enumerated(lacking) + ", which the dict lacks";
  }
  default_logger().warning(text);
}

void fill(SaveConfig& self, const SaveConfigMode& every_mode) {
  for (Mode mode : kModes) {
    self.set(mode, nb::cast(SaveConfigMode(every_mode.value())));
  }
}

SaveConfig copy_of(const SaveConfig& self) {
  SaveConfig made;
  for (const auto [key, config] : self.modes) {
    made.modes[key] =
        config.is_none() ? nb::none() : nb::object(config.attr("copy")());
  }
  return made;
}

nb::dict save_config_dict(const SaveConfig& self) {
  nb::dict made;
  for (Mode mode : kModes) {
    const SaveConfigMode* config = self.find(mode);
    made[nb::cast(mode_name(mode))] =
        config ? nb::object(mode_dict(*config)) : nb::none();
  }
  return made;
}

nb::object mode_key(nb::handle key) {
  if (!PyUnicode_Check(key.ptr())) return nb::borrow(key);
  std::string name = nb::cast<std::string>(key);
  for (char& each : name) {
    each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
  }
  for (Mode mode : kModes) {
    if (name == mode_name(mode)) return nb::cast(mode);
  }
  const std::string given = nb::cast<std::string>(key);
  const bool is_field =
      std::find(kKeys.begin(), kKeys.end(), given) != kKeys.end();
  const bool is_near_field = is_field || given.starts_with("save");
  raise_value_error(repr_of(key) +
                    " is not a mode; use TRAIN, EVAL, PREDICT or GLOBAL" +
                    (is_near_field ? ", or SaveConfig(" +
                                         (is_field ? given : "save_interval") +
                                         "=...) for all modes"
                                   : ""));
}

nb::object config_from_dict(nb::handle cls, nb::dict params,
                            nb::handle default_values) {
  nb::dict modes;
  for (const auto [key, value] : params) {
    const nb::object mode = mode_key(key);
    modes[mode] =
        PyDict_Check(value.ptr())
            ? mode_from_dict(nb::type<SaveConfigMode>(), value, default_values)
            : nb::borrow(value);
  }
  return cls(modes);
}

void merge_default(SaveConfig& self, const SaveConfig& fallback) {
  for (Mode mode : kModes) {
    if (self.find(mode)) continue;
    self.set(mode, fallback.find(mode) ? nb::find(fallback.find(mode))
                                       : nb::cast(SaveConfigMode()));
  }
}

std::string config_repr(const SaveConfig& self) {
  nb::dict named;
  for (const auto [key, config] : self.modes) {
    named[key.attr("name")] = config;
  }
  return "SaveConfig(" + repr_of(named) + ")";
}

// A property of all modes: reads the value of GLOBAL, sets every mode.
template <class Class>
void def_property_of_all_modes(Class& cls, const char* key,
                               const char* getter_signature,
                               const char* setter_signature) {
  cls.def_prop_rw(
      key,
      [key](const SaveConfig& self) -> nb::object {
        const nb::object config = self.find(Mode::global)
                                      ? nb::find(self.find(Mode::global))
                                      : nb::cast(SaveConfigMode());
        return config.attr(key);
      },
      [key](SaveConfig& self, nb::object value) {
        for (Mode mode : kModes) {
          if (!self.find(mode)) self.set(mode, nb::cast(SaveConfigMode()));
          nb::setattr(nb::find(self.find(mode)), key, value);
        }
      },
      nb::for_getter(nb::sig(getter_signature)),
      nb::for_setter(nb::arg("value").none()),
      nb::for_setter(nb::sig(setter_signature)),
      "The value in every mode: reading returns that of mode GLOBAL, setting "
      "changes all modes. See SaveConfigMode.");
}

void def_json(nb::class_<SaveConfig>& cls) {
  cls.def("to_json_dict", &save_config_dict,
          nb::sig("def to_json_dict(self) -> dict[str, typing.Any]"),
          "Returns a dict from the name of each mode to that of its "
          "SaveConfigMode, or None.");
  def_to_json(cls,
              "Returns {\"TRAIN\": {\"save_interval\": 500, ...} or null, "
              "...}, as in collections files.");
  def_class_method(
      cls, "from_dict", &config_from_dict, "cls"_a, "params"_a.none(),
      "default_values"_a = nb::none(),
      nb::sig("def from_dict(cls, params: dict[typing.Any, typing.Any], "
              "default_values: dict[str, typing.Any] | None = None) -> "
              "typing.Self"),
      "Makes one from a dict of modes or of their names, in either case: "
      "{\"TRAIN\": {\"save_interval\": 10}}.\n\n"
      "`default_values` holds the keys that the dict of a mode lacks. Raises "
      "SMDebugValueError for a name that is not a mode.");
  def_from_json(cls);
  def_class_method(
      cls, "from_save_config_mode",
      [](nb::handle self, const SaveConfigMode& mode) {
        SaveConfig made;
        fill(made, mode);
        return self(made.modes);
      },
      "cls"_a, "save_config_mode"_a,
      nb::sig("def from_save_config_mode(cls, save_config_mode: "
              "SaveConfigMode) -> typing.Self"),
      "Makes one with a copy of a SaveConfigMode for every mode.");
  def_class_method(
      cls, "parse", &parse_save_config, "cls"_a, "obj"_a.none(),
      nb::sig("def parse(cls, obj: SaveConfig | SaveConfigMode | "
              "dict[typing.Any, typing.Any] | None) -> SaveConfig"),
      "Returns `obj` itself if it is a SaveConfig, and a new one of None, a "
      "SaveConfigMode or a dict.\n\n"
      "Raises SMDebugTypeError for anything else.");
}

void def_modes(nb::class_<SaveConfig>& cls) {
  cls.def(
         "get_save_config",
         [](const SaveConfig& self, nb::handle mode) -> nb::object {
           const SaveConfigMode* config = self.find(checked_mode(mode));
           return config ? nb::find(config) : nb::none();
         },
         "mode"_a.none(),
         nb::sig("def get_save_config(self, mode: ModeKeys) -> SaveConfigMode "
                 "| None"),
         "Returns the SaveConfigMode of a mode, which may be edited; None "
         "where none is set.")
      .def(
          "set_save_config",
          [](SaveConfig& self, nb::handle mode, nb::object save_config_mode) {
            const Mode checked = checked_mode(mode);
            if (!nb::isinstance<SaveConfigMode>(save_config_mode)) {
              raise_value_error("expected a SaveConfigMode, found " +
                                repr_of(save_config_mode));
            }
            self.set(checked, std::move(save_config_mode));
          },
          "mode"_a.none(), "save_config_mode"_a.none(),
          nb::sig("def set_save_config(self, mode: ModeKeys, save_config_mode: "
                  "SaveConfigMode) -> None"),
          "Sets the SaveConfigMode of a mode. The object is kept, not copied.")
      .def(
          "should_save_step",
          [](const SaveConfig& self, nb::handle mode, Step step_num) {
            const SaveConfigMode* config = self.find(checked_mode(mode));
            return (config ? config->value() : smdebug::SaveConfigMode())
                .is_due(step_num);
          },
          "mode"_a.none(), "step_num"_a,
          nb::sig("def should_save_step(self, mode: ModeKeys, step_num: int) "
                  "-> bool"),
          "Returns whether a step of `mode`, counted in that mode, is saved.")
      .def("merge_default_save_config", &merge_default, "default_save_config"_a,
           "Gives each mode without a configuration that of "
           "`default_save_config`, shared with it.")
      .def("copy", &copy_of, "Returns a copy that shares nothing.");
}

void bind_config(nb::module_& m) {
  using Self = SaveConfig;
  nb::class_<Self> cls(
      m, "SaveConfig", nb::dynamic_attr(), nb::is_weak_referenceable(),
      "The steps that are saved: the same in every mode or, with "
      "`mode_save_configs`, mode by mode.\n\n"
      "A mode that `mode_save_configs` leaves out takes the configuration that "
      "this one is merged with,\nat last the default. The properties "
      "`save_interval`, `start_step`, `end_step` and `save_steps`\nread and "
      "set all modes at once.\n\n"
      "It may be edited at any time; a hook applies the edit when its next "
      "step begins.");
  cls.def(
      "__init__",
      [](Self* self, nb::object mode_save_configs, nb::object save_interval,
         nb::object start_step, nb::object end_step, nb::object save_steps,
         const nb::kwargs& unknown) {
        std::vector<std::string> known(kKeys.begin(), kKeys.end());
        known.emplace_back("mode_save_configs");
        refuse_unknown("SaveConfig", unknown, known);
        if (!mode_save_configs.is_none()) {
          Self made = made_config(mode_save_configs);
          warn_of_settings_beside(
              made, {save_interval, start_step, end_step, save_steps});
          new (self) Self(std::move(made));
          return;
        }
        Self made;
        fill(made, made_mode(save_interval, start_step, end_step, save_steps));
        new (self) Self(std::move(made));
      },
      "mode_save_configs"_a = nb::none(), "save_interval"_a = nb::none(),
      "start_step"_a = nb::none(), "end_step"_a = nb::none(),
      "save_steps"_a = nb::none(), "unknown"_a,
      nb::sig("def __init__(self, mode_save_configs: dict[ModeKeys, "
              "SaveConfigMode | None] | None = None, save_interval: int | None "
              "= None, start_step: int | None = None, end_step: int | None = "
              "None, save_steps: list[int] | tuple[int, ...] | None = None) -> "
              "None"),
      "With `mode_save_configs` the other arguments have no effect, and are "
      "logged. See SaveConfigMode\nfor them.\n\n"
      "Raises SMDebugTypeError unless `mode_save_configs` is a dict, and "
      "SMDebugValueError for a key\nor value in it that is not a mode or a "
      "SaveConfigMode.");
  def_modes(cls);
  def_json(cls);
  def_property_of_all_modes(
      cls, "save_interval", "def save_interval(self) -> int",
      "def save_interval(self, value: int | None) -> None");
  def_property_of_all_modes(cls, "start_step", "def start_step(self) -> int",
                            "def start_step(self, value: int | None) -> None");
  def_property_of_all_modes(cls, "end_step", "def end_step(self) -> int | None",
                            "def end_step(self, value: int | None) -> None");
  def_property_of_all_modes(
      cls, "save_steps", "def save_steps(self) -> list[int]",
      "def save_steps(self, value: list[int] | tuple[int, ...] | None) -> "
      "None");
  def_equality(cls, &have_equal_values<Self>);
  cls.def("__repr__", &config_repr)
      .def(
          "__getstate__",
          [](nb::pointer_and_handle<Self> self) {
            nb::dict modes;
            modes.update(self.p->modes);
            return nb::make_tuple(modes, attributes(self.h));
          },
          nb::sig("def __getstate__(self) -> tuple[typing.Any, ...]"))
      .def(
          "__setstate__",
          [](nb::pointer_and_handle<Self> self, const nb::tuple& state) {
            new (self.p) Self(made_config(state[0]));
            set_attributes(self.h, state[1]);
          },
          nb::sig("def __setstate__(self, state: tuple[typing.Any, ...]) -> "
                  "None"));
  cls.attr("__hash__") = nb::none();
}

}  // namespace

SaveConfigMode::SaveConfigMode(const smdebug::SaveConfigMode& value)
    : edits(std::make_shared<Edits>()),
      save_interval(value.save_interval),
      start_step(value.start_step),
      end_step(value.end_step),
      save_steps(edited_list(nb::cast(value.save_steps), edits)) {}

smdebug::SaveConfigMode SaveConfigMode::value() const {
  return {save_interval, start_step, end_step, steps_of(save_steps)};
}

SaveConfig::SaveConfig(const smdebug::SaveConfig& value) {
  for (Mode mode : kModes) {
    const auto& config = value.mode(mode);
    modes[nb::cast(mode)] =
        config ? nb::cast(SaveConfigMode(*config)) : nb::none();
  }
}

smdebug::SaveConfig SaveConfig::value() const {
  smdebug::SaveConfig value;
  for (Mode mode : kModes) {
    if (const SaveConfigMode* config = find(mode)) {
      value.set_mode(mode, config->value());
    }
  }
  return value;
}

std::uint64_t SaveConfig::edits_made() const {
  std::uint64_t sum = edits;
  for (const auto [key, config] : modes) {
    if (!config.is_none()) {
      sum += nb::inst_ptr<SaveConfigMode>(config)->edits_made();
    }
  }
  return sum;
}

SaveConfigMode* SaveConfig::find(Mode mode) const {
  PyObject* const config =
      PyDict_GetItem(modes.ptr(), nb::cast(mode).ptr());  // borrowed
  if (!config || config == Py_None) return nullptr;
  return nb::inst_ptr<SaveConfigMode>(config);
}

void SaveConfig::set(Mode mode, nb::object config) {
  // More than before, whatever the two configurations have counted.
  edits = edits_made() + 1;
  modes[nb::cast(mode)] = std::move(config);
}

nb::object parse_save_config(nb::handle cls, nb::handle value) {
  if (value.is_none()) return cls();
  if (nb::isinstance<SaveConfig>(value)) return nb::borrow(value);
  if (nb::isinstance<SaveConfigMode>(value)) {
    return cls.attr("from_save_config_mode")(value);
  }
  if (PyDict_Check(value.ptr())) return cls.attr("from_dict")(value);
  const std::string found = repr_of(value);
  const bool is_number =
      PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr());
  raise_type_error(
      "save_config must be a SaveConfig, a SaveConfigMode or a dict, found " +
      found +
      (is_number ? "; did you mean SaveConfig(save_interval=" + found + ")?"
                 : ""));
}

void bind_save_config(nb::module_& m) {
  bind_mode(m);
  bind_config(m);
}

}  // namespace smdebug::editable
