#include "smdebug/store/storage.h"

namespace smdebug {

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
  SMD_TRY(auto parts, storage.read(key, {&whole, 1}));
  return std::move(parts.front());
}

}  // namespace smdebug
