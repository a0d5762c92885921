#include "base/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/bounded_call.h"

namespace smdebug {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Error failure(const std::string& path) {
  const bool is_missing = errno == ENOENT || errno == ENOTDIR;
  return {is_missing ? Error::Code::not_found : Error::Code::io,
          "'" + path + "' cannot be read: " + std::strerror(errno)};
}

Error timeout(const std::string& path, const char* what,
              const WaitLimit& limit) {
  return {
      Error::Code::unavailable,
      fmt::format("'{}' cannot be {}: it has not responded for {:g} s", path,
                  what, std::chrono::duration<double>(limit.at_most).count())};
}

Result<std::string> read_now(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (!file) return failure(path);
  std::string text;
  char block[4096];
  while (const std::size_t n =
             std::fread(block, 1, sizeof(block), file.get())) {
    text.append(block, n);
    if (text.size() > kMaxTextFileBytes) {
      return Error{Error::Code::io,
                   fmt::format("'{}' cannot be read: it has more than {} MiB",
                               path, kMaxTextFileBytes >> 20)};
    }
  }
  if (std::ferror(file.get())) return failure(path);
  return text;
}

// Writes and closes a file that has just been created.
bool fill(int descriptor, const std::string& text) {
  File file(::fdopen(descriptor, "wb"), &std::fclose);
  if (!file) {
    ::close(descriptor);
    return false;
  }
  return std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
         std::fflush(file.get()) == 0 && ::fsync(descriptor) == 0 &&
         std::fclose(file.release()) == 0;
}

Status replace_now(const std::string& path, const std::string& text) {
  std::string temporary = path + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor >= 0 && fill(descriptor, text) &&
      std::rename(temporary.c_str(), path.c_str()) == 0) {
    return {};
  }
  Error error = {Error::Code::io,
                 "'" + path + "' cannot be written: " + std::strerror(errno)};
  if (descriptor >= 0) ::unlink(temporary.c_str());
  return error;
}

}  // namespace

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

Result<std::string> read_text_file(const std::string& path,
                                   const WaitLimit& limit) {
  auto read = call_within<Result<std::string>>(
      limit, [path] { return read_now(path); });
  if (read.value) return *std::move(read.value);
  return timeout(path, "read", limit);
}

Status replace_private_file(const std::string& path, const std::string& text,
                            const WaitLimit& limit) {
  auto replaced = call_within<Status>(
      limit, [path, text] { return replace_now(path, text); });
  if (replaced.value) return *std::move(replaced.value);
  return timeout(path, "written", limit);
}

}  // namespace smdebug
