#include "smdebug/store/file_in_path.h"

#include <filesystem>
#include <system_error>

namespace smdebug {

std::optional<std::string> find_file_in(const std::string& path) {
  std::filesystem::path part;
  for (const auto& name : std::filesystem::path(path)) {
    part /= name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(part, ignored)) return part.string();
  }
  return std::nullopt;
}

}  // namespace smdebug
