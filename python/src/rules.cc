// Bindings of include/smdebug/rules: the built-in rules as a table, and the
// rule that is written in Python.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include "smdebug/base/try.h"
#include "smdebug/reduce/reductions.h"
#include "smdebug/rules/builtin_rules.h"

#include "bindings.h"
#include "python_rule.h"
#include "result_caster.h"
#include "tensor_input.h"
#include "tensor_value.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

class PythonRule : public Rule {
 public:
  PythonRule(std::string_view name, nb::object judge)
      : judge_(std::move(judge)) {
    identify(name, {});
  }

  ~PythonRule() override {
    const nb::gil_scoped_acquire gil;
    judge_.reset();
  }

  // Only the Python code knows which tensors it reads.
  RuleNeeds needs() const override {
    TensorSelector all;
    all.every_tensor = true;
    return {{all}, RuleNeeds::Depth::values, 0};
  }

  Outcome on_step(const RuleStep& step) override {
    const nb::gil_scoped_acquire gil;
    try {
      const nb::object said = ask(step);
      judged_ = nb::cast<std::uint64_t>(judge_.attr("steps_judged"));
      if (said.is_none()) return no_finding();
      return std::optional(
          Finding{nb::cast<std::string>(nb::str(said)), "", "", {}});
    } catch (const nb::python_error& error) {
      return Error{Error::Code::invalid_argument,
                   nb::cast<std::string>(nb::str(error.value()))};
    } catch (const std::exception& error) {
      return Error{Error::Code::invalid_argument, error.what()};
    }
  }

  // Why the class could not read what it asked for, if it never could.
  Outcome finish() override {
    if (judged_ > 0) return no_finding();
    const nb::gil_scoped_acquire gil;
    const auto missing = nb::cast<std::string>(judge_.attr("missing"));
    if (missing.empty()) return no_finding();
    return Error{Error::Code::not_found, "nothing to judge: " + missing};
  }

  std::uint64_t observations_judged() const override { return judged_; }

 private:
  nb::object ask(const RuleStep& step) const {
    const nb::object judge = judge_.attr("judge");
    const StepId& id = step.step;
    if (!nb::hasattr(judge_, "takes_tensors")) return judge(id.global);
    nb::list tensors;
    for (const Observation* observation : step.by_selector(0)) {
      tensors.append(nb::make_tuple(observation->name, parts_of(*observation)));
    }
    return judge(nb::make_tuple(id.global, id.mode, id.mode_step), tensors);
  }

  static nb::object parts_of(const Observation& observation) {
    const auto view = observation.values->load();
    if (!view) return nb::none();
    auto copy = std::make_shared<std::vector<std::byte>>(
        view->data, view->data + view->bytes());
    const std::span<const std::byte> elements(*copy);
    return value_parts(
        TensorValue(view->dtype, {view->shape.begin(), view->shape.end()},
                    Bytes(std::move(copy), elements, Bytes::Kind::own)));
  }

  nb::object judge_;
  std::uint64_t judged_ = 0;
};

nb::dict parameter_row(const ParameterSpec& parameter) {
  nb::dict row;
  row["name"] = parameter.name;
  row["default"] = parameter.default_text;
  row["tuned"] = parameter.preset_text("tuned");
  row["description"] = parameter.description;
  return row;
}

nb::list advice_rows(std::span<const Advice> table) {
  nb::list rows;
  for (const Advice& advice : table) {
    nb::dict row;
    row["when"] = advice.when;
    row["cause"] = advice.cause;
    row["advice"] = advice.advice;
    row["severity"] = severity_name(advice.severity);
    rows.append(row);
  }
  return rows;
}

nb::list builtin_rule_table() {
  nb::list table;
  for (const RuleFactory& rule : builtin_rules()) {
    nb::list parameters;
    for (const ParameterSpec& parameter : rule.parameters) {
      parameters.append(parameter_row(parameter));
    }
    nb::dict row;
    row["name"] = rule.name;
    row["summary"] = rule.summary;
    row["parameters"] = parameters;
    row["advice"] = advice_rows(rule.advice);
    table.append(row);
  }
  return table;
}

Result<std::string> checked_rule_name(
    const std::string& name, const std::map<std::string, std::string>& given) {
  SMD_TRY(const auto rule, make_builtin_rule(name, given));
  return std::string(rule->name());
}

Result<double> reduction_of(nb::handle tensor, const std::string& op) {
  const auto parsed = find_reduction_op(op);
  if (!parsed) {
    return Error{Error::Code::invalid_argument, "no reduction '" + op + "'"};
  }
  TensorImport imported;
  SMD_CHECK_OK(imported.load(tensor));
  const auto value =
      reduce_tensor(imported.view(), statistics_of_view(imported.view()),
                    *parsed, Deviation::population);
  if (value) return *value;
  return Error{Error::Code::not_found, "the tensor holds no number"};
}

nb::list default_rule_table() {
  nb::list table;
  for (const RuleRequest& request : default_rules()) {
    table.append(nb::make_tuple(request.rule, request.given));
  }
  return table;
}

}  // namespace

Result<std::vector<std::unique_ptr<Rule>>> make_rules(const nb::list& rules) {
  using Given = std::map<std::string, std::string>;
  std::vector<std::unique_ptr<Rule>> made;
  for (nb::handle pair : rules) {
    const nb::object rule = pair[0];
    if (!nb::isinstance<nb::str>(rule)) {
      made.push_back(
          make_python_rule(nb::cast<std::string>(rule.attr("name")), rule));
      continue;
    }
    SMD_TRY(auto builtin, make_builtin_rule(nb::cast<std::string>(rule),
                                            nb::cast<Given>(pair[1])));
    made.push_back(std::move(builtin));
  }
  return made;
}

std::unique_ptr<Rule> make_python_rule(std::string_view name,
                                       nb::object judge) {
  return std::make_unique<PythonRule>(name, std::move(judge));
}

void bind_rules(nb::module_& m) {
  m.def("builtin_rules", &builtin_rule_table,
        "Returns the built-in rules: name, summary, parameters and advice.");
  m.def("default_rules", &default_rule_table,
        "Returns the rules that judge by default: (name, parameters).");
  m.def("checked_rule_name", &checked_rule_name, "name"_a, "parameters"_a,
        "The full name of a built-in rule that can be made with these "
        "parameters.");
  m.def("reduction", &reduction_of, "tensor"_a, "op"_a,
        "A reduction of the elements, in float64.");
}

}  // namespace smdebug
