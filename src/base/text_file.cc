#include "base/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "base/bounded_call.h"

namespace smdebug {
namespace {

Error failure(const std::string& path) {
  const bool is_missing = errno == ENOENT || errno == ENOTDIR;
  return {is_missing ? Error::Code::not_found : Error::Code::io,
          "'" + path + "' cannot be read: " + std::strerror(errno)};
}

Result<std::string> read_now(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "rbe"), &std::fclose);
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

}  // namespace

Result<std::string> read_text_file(const std::string& path,
                                   const WaitLimit& limit) {
  auto read = call_within<Result<std::string>>(
      limit, [path] { return read_now(path); });
  if (read.value) return *std::move(read.value);
  return Error{
      Error::Code::unavailable,
      fmt::format("'{}' cannot be read: it has not responded for {:g} s", path,
                  std::chrono::duration<double>(limit.at_most).count())};
}

}  // namespace smdebug
