#include "store/key.h"

#include <fmt/format.h>

namespace smdebug {
namespace {

Error bad_key(std::string_view key, std::string_view reason) {
  return {Error::Code::invalid_argument,
          fmt::format("key '{}' {}", key, reason)};
}

}  // namespace

Status check_key(std::string_view key) {
  if (key.empty()) return bad_key(key, "is empty");
  if (key.find('\0') != key.npos) {
    return bad_key(key.substr(0, key.find('\0')), "holds a NUL byte");
  }
  if (key.front() == '/') return bad_key(key, "is not relative to the run");
  if (key.ends_with(kUnfinishedSuffix)) {
    return bad_key(key, "ends with '.tmp', as only unfinished objects do");
  }
  for (std::string_view rest = key;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name == "..") return bad_key(key, "would leave the run");
    if (name.empty() || name == ".") {
      return bad_key(key, "has an empty part between slashes");
    }
    if (slash == rest.npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace smdebug
