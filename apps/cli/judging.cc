#include "judging.h"

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"
#include "smdebug/xgboost_report/xgboost_report.h"

#include "interrupt.h"

namespace smdebug {
namespace {

bool is_python(const std::string& rule) {
  return rule.find(".py:") != std::string::npos;
}

// Whether a parameter has another value than in the tuned preset, which the
// default rules use, and the user chose neither.
bool uses_documented_parameters(const RuleRequest& request) {
  const RuleFactory* const rule = find_builtin_rule(request.rule);
  return rule && !request.given.contains("preset") &&
         std::ranges::any_of(rule->parameters, [&](const ParameterSpec& spec) {
           return !spec.tuned_text.empty() &&
                  !request.given.contains(std::string(spec.name));
         });
}

// How to spell what the user may have meant with an unknown name.
std::string spelling_text(const std::string& name) {
  if (name.find(',') != name.npos) return "; repeat --rule for each rule";
  if (name.find_first_of(":./") != name.npos)
    return "; a rule in a Python file is given as file.py:Class";
  return "";
}

Result<std::unique_ptr<Rule>> make_rule(const RuleRequest& request,
                                        const std::string& run,
                                        const Console& console) {
  if (request.rule.ends_with(".py")) {
    return Error{Error::Code::invalid_argument,
                 "rule '" + request.rule +
                     "' names a file but no class; use '" + request.rule +
                     ":Class'"};
  }
  if (!is_python(request.rule)) {
    auto rule = make_builtin_rule(request.rule, request.given);
    // An unknown name is wrong usage.
    if (!rule && rule.error().code == Error::Code::not_found) {
      return Error{Error::Code::invalid_argument,
                   rule.error().message + spelling_text(request.rule)};
    }
    return rule;
  }
  if (!console.hooks.load_python_rule) {
    return Error{
        Error::Code::invalid_argument,
        "rule '" + request.rule +
            "' is written in Python, which this program does not support; use "
            "the 'smdebug' command of the Python package"};
  }
  return console.hooks.load_python_rule(request.rule, request.given, run);
}

}  // namespace

Result<std::vector<std::unique_ptr<Rule>>> make_rules(
    std::span<const RuleRequest> requests, const std::string& run,
    const Console& console) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool is_repeated = std::ranges::any_of(
        requests.first(i), [&request = requests[i]](const RuleRequest& other) {
          return other.rule == request.rule && other.given == request.given;
        });
    if (is_repeated) {
      return Error{Error::Code::invalid_argument,
                   "rule '" + requests[i].rule +
                       "' is given twice with the same parameters; give it "
                       "once"};
    }
  }
  std::vector<std::unique_ptr<Rule>> rules;
  for (const RuleRequest& request :
       requests.empty() ? default_rules() : requests) {
    SMD_TRY(auto rule, make_rule(request, run, console));
    rules.push_back(std::move(rule));
  }
  return rules;
}

RunMonitorOptions monitor_options(const Console& console) {
  RunMonitorOptions options;
  options.clock = &console.clock;
  options.check_interrupt = &InterruptWatch::is_pending;
  options.reports = {kXgboostRuleReport};
  options.on_message = [&console](const std::string& text) {
    console.err << "smdebug: " << printable_lines(text) << std::endl;
  };
  return options;
}

std::string preset_note(std::span<const RuleRequest> requests) {
  std::vector<std::string> rules;
  for (const RuleRequest& request : requests) {
    if (uses_documented_parameters(request) &&
        std::ranges::find(rules, request.rule) == rules.end())
      rules.push_back(request.rule);
  }
  if (rules.empty()) return "";
  return fmt::format(
      "{} {} the documented parameters; without --rule, rules use tuned ones, "
      "which --set preset=tuned selects",
      fmt::join(rules, ", "), rules.size() == 1 ? "uses" : "use");
}

void print_reports(const MonitorResult& result, const Console& console) {
  for (const std::string& path : result.reports) {
    console.err << "smdebug: report: " << printable_lines(path) << std::endl;
  }
  if (result.report_error) {
    console.err << "smdebug: cannot write the report: "
                << printable_lines(result.report_error->message) << std::endl;
  }
}

}  // namespace smdebug
