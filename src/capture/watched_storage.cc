#include "capture/watched_storage.h"

#include <utility>

#include "smdebug/base/clock.h"
#include "smdebug/base/try.h"

namespace smdebug {
namespace {

// Counts the call that follows. Fails if the thread was abandoned.
Status enter(StorageWatch& watch) {
  if (watch.is_abandoned) {
    return Error{Error::Code::unavailable,
                 "the storage did not respond, so nothing more is written"};
  }
  watch.note_progress();
  return {};
}

class WatchedWriter final : public ObjectWriter {
 public:
  WatchedWriter(std::unique_ptr<ObjectWriter> inner,
                std::shared_ptr<StorageWatch> watch)
      : inner_(std::move(inner)), watch_(std::move(watch)) {}

  Status append(std::span<const std::span<const std::byte>> parts) override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->append(parts);
  }
  Status commit() override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->commit();
  }
  // An abandoned thread removes its unfinished file.
  void abort() override { inner_->abort(); }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const std::shared_ptr<StorageWatch> watch_;
};

class WatchedLog final : public ObjectLog {
 public:
  WatchedLog(std::unique_ptr<ObjectLog> inner,
             std::shared_ptr<StorageWatch> watch)
      : inner_(std::move(inner)), watch_(std::move(watch)) {}

  Status append(std::span<const std::byte> bytes) override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->append(bytes);
  }

 private:
  const std::unique_ptr<ObjectLog> inner_;
  const std::shared_ptr<StorageWatch> watch_;
};

class WatchedStorage final : public Storage {
 public:
  WatchedStorage(std::shared_ptr<Storage> inner,
                 std::shared_ptr<StorageWatch> watch)
      : inner_(std::move(inner)), watch_(std::move(watch)) {}

  const std::string& uri() const override { return inner_->uri(); }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_CHECK_OK(enter(*watch_));
    SMD_TRY(auto writer, inner_->create(key));
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<WatchedWriter>(std::move(writer), watch_));
  }
  Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key) override {
    SMD_CHECK_OK(enter(*watch_));
    SMD_TRY(auto log, inner_->create_log(key));
    if (!log) return log;
    return std::unique_ptr<ObjectLog>(
        std::make_unique<WatchedLog>(std::move(log), watch_));
  }
  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->create_exclusive(key, bytes);
  }
  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->read(key, ranges);
  }
  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->read_whole(key, max_bytes);
  }
  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->list(prefix, after);
  }
  Result<bool> exists(std::string_view key) const override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->exists(key);
  }
  Status remove(std::string_view key) override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->remove(key);
  }
  Status move(std::string_view from, std::string_view to) override {
    SMD_CHECK_OK(enter(*watch_));
    return inner_->move(from, to);
  }

 private:
  const std::shared_ptr<Storage> inner_;
  const std::shared_ptr<StorageWatch> watch_;
};

}  // namespace

void StorageWatch::note_progress() { busy_since = system_clock().monotonic(); }

std::shared_ptr<Storage> watched_storage(std::shared_ptr<Storage> inner,
                                         std::shared_ptr<StorageWatch> watch) {
  if (!inner) return nullptr;
  return std::make_shared<WatchedStorage>(std::move(inner), std::move(watch));
}

}  // namespace smdebug
