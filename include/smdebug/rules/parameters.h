#pragma once

// A rule's parameters are one table, the source of parsing, command-line help,
// documentation and the Python signature.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "smdebug/base/result.h"

namespace [[gnu::visibility("default")]] smdebug {

enum class ParameterType { boolean, integer, real, text, text_list };

struct ParameterSpec {
  std::string_view name;
  ParameterType type = ParameterType::real;
  std::string_view default_text;  // as a user writes it; "" for none
  std::string_view description;   // its effect, in one sentence
  std::optional<double> minimum;  // numbers only, inclusive
  std::optional<double> maximum;
  std::vector<std::string_view> choices;  // texts only; empty: any
  std::string_view tuned_text = {};  // with preset=tuned; "" for the default

  /// Returns the value in `preset`: the tuned text if it exists and the preset
  /// is "tuned", else the default.
  std::string_view preset_text(std::string_view preset) const;
};

// Parsed parameters: every row of the table, typed and in range.
class Parameters {
 public:
  /// Parses `given` (name -> text, as written after `--set`) against `table`.
  /// Parameters that are not given come from the preset that the parameter
  /// `preset`, if the table has one, selects: "default" or "tuned".
  /// Fails with `invalid_config`, naming the rule, the parameter, the value and
  /// the accepted values; for an unknown name, lists the nearest names.
  static Result<Parameters> parse(
      std::string_view rule, std::span<const ParameterSpec> table,
      const std::map<std::string, std::string>& given);

  const std::string& rule() const { return rule_; }

  bool has(std::string_view name) const;       // false: no value and no default
  bool is_given(std::string_view name) const;  // false: from the preset
  bool boolean(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::string>& text_list(std::string_view name) const;

 private:
  using Value = std::variant<bool, std::int64_t, double, std::string,
                             std::vector<std::string>>;
  static Result<Value> parse_value(std::string_view rule,
                                   const ParameterSpec& spec,
                                   std::string_view text);

  std::string rule_;
  std::map<std::string, Value, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
};

}  // namespace smdebug
