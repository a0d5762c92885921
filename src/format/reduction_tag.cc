#include "format/reduction_tag.h"

#include <algorithm>

namespace smdebug {
namespace {

constexpr std::string_view kPrefix = "smdebug/reductions/";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends `name` without colons that are followed by digits, and these digits.
void append_without_colon_digits(std::string_view name, std::string& out) {
  for (std::size_t i = 0; i < name.size();) {
    const auto digits = name.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto end = std::find_if_not(digits, name.end(), is_digit);
    if (name[i] == ':' && end != digits) {
      i = static_cast<std::size_t>(end - name.begin());
    } else {
      out.push_back(name[i++]);
    }
  }
}

}  // namespace

std::string reduction_tag(ReductionOp op, std::string_view tensor_name,
                          bool keep_colon_digits) {
  std::string tag(kPrefix);
  tag.append(reduction_op_name(op)).push_back('/');
  if (keep_colon_digits) {
    tag.append(tensor_name);
  } else {
    append_without_colon_digits(tensor_name, tag);
  }
  return tag;
}

std::optional<ReductionTag> parse_reduction_tag(std::string_view tag) {
  // The framework may have added a name scope before the prefix.
  const std::size_t prefix = tag.find(kPrefix);
  if (prefix == tag.npos) return std::nullopt;
  const std::string_view rest = tag.substr(prefix + kPrefix.size());
  const std::size_t slash = rest.find('/');
  if (slash == rest.npos) return std::nullopt;
  const auto op = find_reduction_op(rest.substr(0, slash));
  if (!op) return std::nullopt;
  return ReductionTag{*op, rest.substr(slash + 1)};
}

}  // namespace smdebug
