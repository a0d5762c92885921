#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "store/backends.h"

namespace smdebug {
namespace {

using Object = std::vector<std::byte>;

// Readers share ownership of their object, so it survives being replaced.
struct Objects {
  mutable std::mutex mutex;
  std::uint64_t changes = 0;
  std::map<std::string, std::shared_ptr<const Object>, std::less<>> by_key;
};

class MemoryWriter final : public ObjectWriter {
 public:
  MemoryWriter(std::shared_ptr<Objects> objects, std::string_view key)
      : objects_(std::move(objects)), key_(key) {}

  Status append(std::span<const std::span<const std::byte>> parts) override {
    if (!open_) return closed();
    for (const auto part : parts) {
      object_.insert(object_.end(), part.begin(), part.end());
    }
    return {};
  }

  Status commit() override {
    if (!open_) return closed();
    open_ = false;
    auto object = std::make_shared<const Object>(std::move(object_));
    const std::scoped_lock lock(objects_->mutex);
    objects_->by_key.insert_or_assign(key_, std::move(object));
    ++objects_->changes;
    return {};
  }

  void abort() override {
    open_ = false;
    object_.clear();
  }

 private:
  Error closed() const {
    return {Error::Code::closed,
            fmt::format("'{}' was already committed or aborted", key_)};
  }

  std::shared_ptr<Objects> objects_;
  std::string key_;
  Object object_;
  bool open_ = true;
};

Result<std::vector<Bytes>> parts_of(const std::shared_ptr<const Object>& object,
                                    std::span<const ByteRange> ranges) {
  std::vector<Bytes> parts;
  parts.reserve(ranges.size());
  for (const ByteRange& range : ranges) {
    const std::uint64_t start =
        std::min<std::uint64_t>(range.start, object->size());
    const std::uint64_t length =
        std::min<std::uint64_t>(range.length, object->size() - start);
    parts.emplace_back(object, std::span(*object).subspan(start, length));
  }
  return parts;
}

class MemoryReader final : public ObjectReader {
 public:
  explicit MemoryReader(std::shared_ptr<const Object> object)
      : object_(std::move(object)) {}

  Result<std::vector<Bytes>> read(
      std::span<const ByteRange> ranges) const override {
    return parts_of(object_, ranges);
  }

 private:
  std::shared_ptr<const Object> object_;
};

class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(std::string uri) : uri_(std::move(uri)) {}

  const std::string& uri() const override { return uri_; }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_CHECK_OK(check_key(key));
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<MemoryWriter>(objects_, key));
  }

  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    SMD_CHECK_OK(check_key(key));
    auto object = std::make_shared<const Object>(bytes.begin(), bytes.end());
    const std::scoped_lock lock(objects_->mutex);
    ++objects_->changes;
    return objects_->by_key.emplace(key, std::move(object)).second;
  }

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    SMD_TRY(const auto object, get(key));
    return parts_of(object, ranges);
  }

  Result<std::unique_ptr<ObjectReader>> open(
      std::string_view key) const override {
    SMD_TRY(auto object, get(key));
    return std::unique_ptr<ObjectReader>(
        std::make_unique<MemoryReader>(std::move(object)));
  }

  std::optional<std::uint64_t> folder_version(std::string_view) const override {
    const std::scoped_lock lock(objects_->mutex);
    return objects_->changes;
  }

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    std::vector<ObjectEntry> entries;
    const std::scoped_lock lock(objects_->mutex);
    auto object = objects_->by_key.lower_bound(prefix);
    if (after >= prefix) object = objects_->by_key.upper_bound(after);
    for (; object != objects_->by_key.end(); ++object) {
      if (!object->first.starts_with(prefix)) break;
      entries.push_back({object->first, object->second->size()});
    }
    return entries;
  }

  Result<bool> exists(std::string_view key) const override {
    SMD_CHECK_OK(check_key(key));
    return find(key) != nullptr;
  }

  Status remove(std::string_view key) override {
    SMD_CHECK_OK(check_key(key));
    const std::scoped_lock lock(objects_->mutex);
    if (const auto object = objects_->by_key.find(key);
        object != objects_->by_key.end()) {
      objects_->by_key.erase(object);
      ++objects_->changes;
    }
    return {};
  }

  Status move(std::string_view from, std::string_view to) override {
    SMD_CHECK_OK(check_key(from));
    SMD_CHECK_OK(check_key(to));
    const std::scoped_lock lock(objects_->mutex);
    const auto object = objects_->by_key.find(from);
    if (object == objects_->by_key.end() || from == to) return {};
    objects_->by_key.insert_or_assign(std::string(to), object->second);
    objects_->by_key.erase(object);
    ++objects_->changes;
    return {};
  }

 private:
  Result<std::shared_ptr<const Object>> get(std::string_view key) const {
    SMD_CHECK_OK(check_key(key));
    if (auto object = find(key)) return object;
    return Error{Error::Code::not_found,
                 fmt::format("no object '{}' in '{}'", key, uri_)};
  }

  std::shared_ptr<const Object> find(std::string_view key) const {
    const std::scoped_lock lock(objects_->mutex);
    const auto object = objects_->by_key.find(key);
    return object == objects_->by_key.end() ? nullptr : object->second;
  }

  std::string uri_;
  std::shared_ptr<Objects> objects_ = std::make_shared<Objects>();
};

}  // namespace

std::shared_ptr<Storage> make_memory_storage(std::string uri) {
  return std::make_shared<MemoryStorage>(std::move(uri));
}

}  // namespace smdebug
