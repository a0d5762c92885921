#include "smdebug/store/open_storage.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "smdebug/base/try.h"
#include "smdebug/base/wait_limit.h"

#include "base/environment.h"
#include "net/aws_credentials.h"
#include "net/http.h"
#include "store/backends.h"
#include "store/cached_storage.h"

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

constexpr int kUsualCacheMebibytes = 1024;

// The cache of the folder that the environment names; null if it names none.
// Storages share it, so that they give it up together.
std::shared_ptr<ObjectCache> cache_of_environment() {
  const std::string wanted = environment_text("SMDEBUG_CACHE_DIR");
  const int mebibytes = environment_number(
      "SMDEBUG_CACHE_MIB", kUsualCacheMebibytes, default_logger());
  if (wanted.empty() || mebibytes == 0) return nullptr;
  const auto path = expand_home(wanted);
  std::error_code unknown;
  const auto folder = std::filesystem::absolute(path ? *path : wanted, unknown);
  if (unknown) return nullptr;
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, std::shared_ptr<ObjectCache>>
      by_folder;
  const std::scoped_lock lock(mutex);
  auto& cache = by_folder[{folder.string(), mebibytes}];
  if (!cache) {
    cache = std::make_shared<ObjectCache>(
        folder.string(), std::uint64_t(mebibytes) << 20, default_logger());
  }
  return cache;
}

std::shared_ptr<Storage> open_s3(S3Location location) {
  const S3Endpoint endpoint = s3_endpoint(location);
  std::string place = endpoint.url + "\n" + location.text();
  // Its keys are HMAC keys, which boto3 does not have, also for a server that
  // the environment names.
  const bool is_of_google = location.scheme == "gs";
  auto storage = make_s3_storage(
      std::move(location), endpoint,
      [is_of_google] {
        AwsCredentialChain& chain = shared_aws_credentials();
        return is_of_google ? chain.configured() : chain.current();
      },
      http_client(), system_clock(),
      RetryPolicy::within(WaitLimit::from_environment().at_most));
  if (auto cache = cache_of_environment()) {
    return make_cached_storage(std::move(storage), std::move(cache),
                               std::move(place));
  }
  return storage;
}

// The part of a path that exists, as far as it consists of folders.
Result<std::filesystem::path> existing_folder(
    const std::filesystem::path& path) {
  std::filesystem::path folder;
  for (const auto& name : path) {
    std::filesystem::path part = folder / name;
    std::error_code unknown;
    const auto status = std::filesystem::status(part, unknown);
    // Not there, or this user may not look.
    if (!std::filesystem::status_known(status) ||
        !std::filesystem::exists(status)) {
      break;
    }
    if (!std::filesystem::is_directory(status)) {
      return Error{Error::Code::io,
                   fmt::format("'{}' is {}, not a folder", part.string(),
                               std::filesystem::is_regular_file(status)
                                   ? "a file"
                                   : "a device, pipe or socket")};
    }
    folder = std::move(part);
  }
  return folder;
}

// Permissions do not tell everything: files in /proc cannot be created by
// anyone. Sets `errno` if not.
bool can_create_in(const std::filesystem::path& folder) {
  std::string probe = (folder / ".smdebug-XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) return false;
  ::rmdir(probe.c_str());
  return true;
}

}  // namespace

Status check_writable(std::string_view location) {
  if (scheme_of(location)) return {};
  SMD_TRY(const std::string path, expand_home(location));
  std::error_code unknown;
  const auto whole = std::filesystem::absolute(path, unknown);
  if (unknown) return {};
  SMD_TRY(const std::filesystem::path folder, existing_folder(whole));
  if (can_create_in(folder)) return {};
  return Error{
      Error::Code::io,
      fmt::format("no file can be created in '{}': {}", folder.string(),
                  std::generic_category().message(errno))};
}

Result<std::shared_ptr<Storage>> open_storage(std::string_view location,
                                              FileAccess access,
                                              MissingFolder missing,
                                              FileSync sync) {
  if (location.empty()) {
    return Error{Error::Code::invalid_argument,
                 "the location of the run is empty: give a folder"};
  }
  if (location.starts_with(kMemoryScheme)) {
    return named_memory_storage(location);
  }
  SMD_TRY(auto s3, parse_s3_location(location));
  if (s3) return open_s3(*std::move(s3));
  if (const auto scheme = scheme_of(location)) {
    return Error{Error::Code::unsupported,
                 fmt::format("cannot open '{}': smdebug reads and writes "
                             "folders, 's3://' and 'gs://', not '{}://'; use "
                             "the path of a folder, and copy the run with the "
                             "tools of that storage",
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
                            access, missing, sync);
}

}  // namespace smdebug
