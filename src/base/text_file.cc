#include "base/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace smdebug {
namespace {

Error failure(const std::string& path) {
  const bool is_missing = errno == ENOENT || errno == ENOTDIR;
  return {is_missing ? Error::Code::not_found : Error::Code::io,
          "'" + path + "' cannot be read: " + std::strerror(errno)};
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (!file) return failure(path);
  std::string text;
  char block[4096];
  while (const std::size_t n =
             std::fread(block, 1, sizeof(block), file.get())) {
    text.append(block, n);
  }
  if (std::ferror(file.get())) return failure(path);
  return text;
}

}  // namespace smdebug
