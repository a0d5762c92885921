#pragma once

// A storage that passes every call on to another one. Test doubles derive from
// it and override only what they observe or break. Folder versions and open
// readers are not passed on: the defaults of `Storage` serve them.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/store/storage.h"

namespace smdebug {

class ForwardingStorage : public Storage {
 public:
  explicit ForwardingStorage(std::shared_ptr<Storage> inner)
      : inner_(std::move(inner)) {}

  const std::string& uri() const override { return inner_->uri(); }
  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    return inner_->create(key);
  }
  Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key) override {
    return inner_->create_log(key);
  }
  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    return inner_->create_exclusive(key, bytes);
  }
  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    return inner_->read(key, ranges);
  }
  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    return inner_->list(prefix, after);
  }
  Result<bool> exists(std::string_view key) const override {
    return inner_->exists(key);
  }
  Status remove(std::string_view key) override { return inner_->remove(key); }
  Status move(std::string_view from, std::string_view to) override {
    return inner_->move(from, to);
  }

 private:
  const std::shared_ptr<Storage> inner_;
};

}  // namespace smdebug
