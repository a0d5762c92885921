#include "smdebug/store/storage.h"

namespace smdebug {
namespace {

// Holds nothing open.
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

}  // namespace

std::vector<Result<Bytes>> Storage::read_each(
    std::span<const ObjectRange> ranges) const {
  std::vector<Result<Bytes>> parts;
  parts.reserve(ranges.size());
  for (const ObjectRange& wanted : ranges) {
    parts.push_back(only_part(read(wanted.key, {&wanted.range, 1})));
  }
  return parts;
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

Result<Bytes> get_object(const Storage& storage, std::string_view key) {
  const ByteRange whole;
  return only_part(storage.read(key, {&whole, 1}));
}

}  // namespace smdebug
