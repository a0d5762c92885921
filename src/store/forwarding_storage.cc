#include "store/forwarding_storage.h"

#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

std::string_view verb_of(StorageCall call) {
  switch (call) {
    case StorageCall::create:
    case StorageCall::create_exclusive:
      return "create";
    case StorageCall::append:
      return "write";
    case StorageCall::commit:
      return "finish";
    case StorageCall::abort:
    case StorageCall::remove:
      return "remove";
    case StorageCall::read:
      return "read";
    case StorageCall::list:
      return "list";
    case StorageCall::exists:
      return "look up";
    case StorageCall::move:
      return "move";
    case StorageCall::settle:
      return "finish the uploads";
  }
  return "use";
}

class ForwardingWriter final : public ObjectWriter {
 public:
  ForwardingWriter(std::unique_ptr<ObjectWriter> inner,
                   std::shared_ptr<StorageHook> hook, std::string_view key)
      : inner_(std::move(inner)), hook_(std::move(hook)), key_(key) {}

  Status append(std::span<const std::span<const std::byte>> parts) override {
    SMD_CHECK_OK(hook_->enter(StorageCall::append, key_));
    return inner_->append(parts);
  }
  Status commit() override {
    SMD_CHECK_OK(hook_->enter(StorageCall::commit, key_));
    return inner_->commit();
  }
  void abort() override {
    if (hook_->enter(StorageCall::abort, key_)) inner_->abort();
  }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const std::shared_ptr<StorageHook> hook_;
  const std::string key_;
};

class ForwardingLog final : public ObjectLog {
 public:
  ForwardingLog(std::unique_ptr<ObjectLog> inner,
                std::shared_ptr<StorageHook> hook, std::string_view key)
      : inner_(std::move(inner)), hook_(std::move(hook)), key_(key) {}

  Status append(std::span<const std::byte> bytes) override {
    SMD_CHECK_OK(hook_->enter(StorageCall::append, key_));
    return inner_->append(bytes);
  }

 private:
  const std::unique_ptr<ObjectLog> inner_;
  const std::shared_ptr<StorageHook> hook_;
  const std::string key_;
};

}  // namespace

std::string call_text(StorageCall call, std::string_view key) {
  if (key.empty()) return std::string(verb_of(call));
  return fmt::format("{} '{}'", verb_of(call), key);
}

ForwardingStorage::ForwardingStorage(std::shared_ptr<Storage> inner,
                                     std::shared_ptr<StorageHook> hook)
    : inner_(std::move(inner)), hook_(std::move(hook)) {}

Result<std::unique_ptr<ObjectWriter>> ForwardingStorage::create(
    std::string_view key) {
  SMD_CHECK_OK(enter(StorageCall::create, key));
  SMD_TRY(auto writer, inner_->create(key));
  if (!hook_) return writer;
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<ForwardingWriter>(std::move(writer), hook_, key));
}

Result<std::unique_ptr<ObjectLog>> ForwardingStorage::create_log(
    std::string_view key) {
  SMD_CHECK_OK(enter(StorageCall::create, key));
  SMD_TRY(auto log, inner_->create_log(key));
  if (!log || !hook_) return log;
  return std::unique_ptr<ObjectLog>(
      std::make_unique<ForwardingLog>(std::move(log), hook_, key));
}

Result<bool> ForwardingStorage::create_exclusive(
    std::string_view key, std::span<const std::byte> bytes) {
  SMD_CHECK_OK(enter(StorageCall::create_exclusive, key));
  return inner_->create_exclusive(key, bytes);
}

Result<std::vector<Bytes>> ForwardingStorage::read(
    std::string_view key, std::span<const ByteRange> ranges) const {
  SMD_CHECK_OK(enter(StorageCall::read, key));
  return inner_->read(key, ranges);
}

Result<Bytes> ForwardingStorage::read_whole(std::string_view key,
                                            std::uint64_t max_bytes) const {
  SMD_CHECK_OK(enter(StorageCall::read, key));
  return inner_->read_whole(key, max_bytes);
}

Result<std::vector<ObjectEntry>> ForwardingStorage::list(
    std::string_view prefix, std::string_view after) const {
  SMD_CHECK_OK(enter(StorageCall::list, prefix));
  return inner_->list(prefix, after);
}

Result<bool> ForwardingStorage::exists(std::string_view key) const {
  SMD_CHECK_OK(enter(StorageCall::exists, key));
  return inner_->exists(key);
}

Status ForwardingStorage::remove(std::string_view key) {
  SMD_CHECK_OK(enter(StorageCall::remove, key));
  return inner_->remove(key);
}

Status ForwardingStorage::move(std::string_view from, std::string_view to) {
  SMD_CHECK_OK(enter(StorageCall::move, from));
  return inner_->move(from, to);
}

Result<bool> ForwardingStorage::settle() {
  SMD_CHECK_OK(enter(StorageCall::settle, ""));
  return inner_->settle();
}

}  // namespace smdebug
