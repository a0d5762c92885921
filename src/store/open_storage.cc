#include "smdebug/store/open_storage.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/environment.h"
#include "store/backends.h"

namespace smdebug {
namespace {

constexpr std::string_view kMemoryScheme = "memory://";

std::shared_ptr<Storage> named_memory_storage(std::string_view uri) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Storage>, std::less<>> by_uri;
  const std::scoped_lock lock(mutex);
  auto& storage = by_uri[std::string(uri)];
  if (!storage) storage = make_memory_storage(std::string(uri));
  return storage;
}

// Returns "s3" for "s3://bucket", nothing for a path.
std::optional<std::string_view> scheme_of(std::string_view location) {
  const std::size_t colon = location.find("://");
  if (colon == location.npos || location.find('/') < colon) return {};
  return location.substr(0, colon);
}

Result<std::string> expand_home(std::string_view path) {
  if (path != "~" && !path.starts_with("~/")) return std::string(path);
  const auto home = environment_variable("HOME");
  if (!home || home->empty()) {
    return Error{Error::Code::invalid_argument,
                 fmt::format("cannot expand '{}': HOME is not set", path)};
  }
  return *home + std::string(path.substr(1));
}

}  // namespace

Result<std::shared_ptr<Storage>> open_storage(std::string_view location,
                                              FileAccess access,
                                              MissingFolder missing) {
  if (location.empty()) {
    return Error{Error::Code::invalid_argument,
                 "the location of the run is empty: give a folder"};
  }
  if (location.starts_with(kMemoryScheme)) {
    return named_memory_storage(location);
  }
  if (const auto scheme = scheme_of(location)) {
    return Error{Error::Code::unsupported,
                 fmt::format("cannot open '{}': smdebug cannot read or write "
                             "'{}://'; use the path of a folder, for a run "
                             "elsewhere that of a copy",
                             location, *scheme)};
  }
  SMD_TRY(std::string path, expand_home(location));
  if (path.find('\0') != path.npos) {
    return Error{Error::Code::invalid_argument,
                 "the location of the run contains a NUL byte"};
  }
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  // Make it absolute, because the program may change its working folder later.
  std::error_code error;
  const auto root = std::filesystem::absolute(path, error);
  if (error) {
    return Error{Error::Code::io,
                 fmt::format("cannot make the path '{}' absolute: {}", path,
                             error.message())};
  }
  return make_local_storage(std::move(path), root.string(), system_clock(),
                            access, missing);
}

}  // namespace smdebug
