#include "smdebug/store/storage.h"

#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "store/backends.h"

namespace smdebug {
namespace {

// Reads the object again for each call.
class KeyReader final : public ObjectReader {
 public:
  KeyReader(const Storage& storage, std::string_view key)
      : storage_(storage), key_(key) {}

  Result<std::vector<Bytes>> read(
      std::span<const ByteRange> ranges) const override {
    return storage_.read(key_, ranges);
  }

 private:
  const Storage& storage_;
  std::string key_;
};

Result<Bytes> only_part(Result<std::vector<Bytes>> parts) {
  if (!parts) return std::move(parts).error();
  return std::move(parts->front());
}

Error bad_key(std::string_view key, std::string_view reason) {
  return {Error::Code::invalid_argument,
          fmt::format("key '{}' {}", key, reason)};
}

}  // namespace

Result<Bytes> Storage::read_whole(std::string_view key,
                                  std::uint64_t max_bytes) const {
  const ByteRange range{0, max_bytes + 1};
  SMD_TRY(Bytes bytes, only_part(read(key, {&range, 1})));
  if (bytes.size() > max_bytes) return too_large(key, max_bytes);
  return bytes;
}

Result<std::vector<std::string>> Storage::names_in(
    std::string_view folder) const {
  SMD_TRY(const auto entries, list(folder));
  std::set<std::string> names;
  for (const ObjectEntry& entry : entries) {
    const std::string_view rest =
        std::string_view(entry.key).substr(folder.size());
    const std::size_t slash = rest.find('/');
    names.emplace(rest.substr(0, slash == rest.npos ? slash : slash + 1));
  }
  return std::vector(names.begin(), names.end());
}

Status Storage::check_folder(std::string_view) const { return {}; }

std::vector<Result<Bytes>> Storage::read_each(
    std::span<const ObjectRange> ranges) const {
  std::vector<Result<Bytes>> parts;
  parts.reserve(ranges.size());
  for (const ObjectRange& wanted : ranges) {
    parts.push_back(only_part(read(wanted.key, {&wanted.range, 1})));
  }
  return parts;
}

Result<std::unique_ptr<ObjectLog>> Storage::create_log(std::string_view) {
  return std::unique_ptr<ObjectLog>();
}

Status Storage::move_each(std::span<const ObjectMove> moves) {
  for (const auto& [from, to] : moves) SMD_CHECK_OK(move(from, to));
  return {};
}

Result<std::unique_ptr<ObjectReader>> Storage::open(
    std::string_view key) const {
  return std::unique_ptr<ObjectReader>(std::make_unique<KeyReader>(*this, key));
}

std::optional<std::uint64_t> Storage::folder_version(std::string_view) const {
  return std::nullopt;
}

Status put_object(Storage& storage, std::string_view key,
                  std::span<const std::byte> bytes) {
  SMD_TRY(const auto writer, storage.create(key));
  SMD_CHECK_OK(writer->append({&bytes, 1}));
  return writer->commit();
}

Status put_object(Storage& storage, std::string_view key,
                  std::string_view text) {
  return put_object(storage, key, std::as_bytes(std::span(text)));
}

Result<Bytes> get_object(const Storage& storage, std::string_view key,
                         std::uint64_t max_bytes) {
  return storage.read_whole(key, max_bytes);
}

Error too_large(std::string_view path, std::uint64_t max_bytes) {
  return {Error::Code::io,
          fmt::format("'{}' has more than {} bytes: too large for its kind of "
                      "file",
                      path, max_bytes)};
}

Status check_key(std::string_view key) {
  if (key.empty()) return bad_key(key, "is empty");
  if (key.find('\0') != key.npos) {
    return bad_key(key.substr(0, key.find('\0')), "contains a NUL byte");
  }
  if (key.front() == '/') return bad_key(key, "is not relative to the run");
  if (key.ends_with(kUnfinishedSuffix)) {
    return bad_key(
        key, "ends with '.tmp', which is reserved for unfinished objects");
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
