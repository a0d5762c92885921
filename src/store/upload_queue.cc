#include "store/upload_queue.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "smdebug/base/try.h"

#include "base/bounded_call.h"

namespace smdebug {
namespace {

struct Upload {
  std::unique_ptr<ObjectWriter> object;
  std::uint64_t bytes = 0;
  bool may_overtake = false;
  bool is_running = false;
};

// The uploads that are not complete, and the threads that make them. A thread
// ends when nothing is left that it could begin.
class Uploads : public std::enable_shared_from_this<Uploads> {
 public:
  explicit Uploads(const UploadOptions& options) : options_(options) {}

  bool may_overtake(std::string_view key) const {
    return options_.may_overtake && options_.may_overtake(key);
  }

  // Waits until there is space. An upload that needs more than all of it waits
  // until there is no other one.
  Status add(Upload upload) {
    {
      std::unique_lock lock(mutex_);
      moved_.wait(lock, [&] {
        return failure_ || pending_.empty() ||
               pending_bytes_ + upload.bytes <= options_.most_bytes;
      });
      if (failure_) return *failure_;
      pending_bytes_ += upload.bytes;
      pending_.push_back(std::move(upload));
      if (threads_ == options_.most_threads || next() == pending_.end()) {
        return {};
      }
      ++threads_;
    }
    start_detached([self = shared_from_this()] { self->run(); });
    return {};
  }

  Result<bool> settle() {
    std::unique_lock lock(mutex_);
    const std::uint64_t before = complete_;
    moved_.wait(lock, [&] {
      return failure_ || pending_.empty() || complete_ > before;
    });
    if (failure_) return *failure_;
    return pending_.empty();
  }

  // Discards the uploads that have not begun.
  void discard() {
    std::list<Upload> discarded;
    const std::lock_guard lock(mutex_);
    for (auto upload = pending_.begin(); upload != pending_.end();) {
      const auto after = std::next(upload);
      if (!upload->is_running) {
        pending_bytes_ -= upload->bytes;
        discarded.splice(discarded.end(), pending_, upload);
      }
      upload = after;
    }
  }

 private:
  using Place = std::list<Upload>::iterator;

  // The first upload that may begin, or the end.
  Place next() {
    for (auto upload = pending_.begin(); upload != pending_.end(); ++upload) {
      const bool is_first = upload == pending_.begin();
      if (!upload->is_running && (is_first || upload->may_overtake)) {
        return upload;
      }
    }
    return pending_.end();
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (Place upload = next(); upload != pending_.end(); upload = next()) {
      upload->is_running = true;
      lock.unlock();
      Status status = commit(*upload->object);
      upload->object.reset();
      if (!status) fail(std::move(status).error());
      lock.lock();
      pending_bytes_ -= upload->bytes;
      pending_.erase(upload);
      ++complete_;
      moved_.notify_all();
    }
    --threads_;
  }

  static Status commit(ObjectWriter& object) {
    try {
      return object.commit();
    } catch (const std::exception& error) {
      return Error{Error::Code::internal,
                   std::string("exception: ") + error.what()};
    }
  }

  void fail(Error error) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(error);
    }
    discard();
  }

  const UploadOptions options_;
  std::mutex mutex_;  // guards the following
  std::condition_variable moved_;
  std::list<Upload> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t complete_ = 0;
  std::size_t threads_ = 0;
  std::optional<Error> failure_;
};

class QueuedWriter final : public ObjectWriter {
 public:
  QueuedWriter(std::shared_ptr<Uploads> uploads,
               std::unique_ptr<ObjectWriter> object, bool may_overtake)
      : uploads_(std::move(uploads)) {
    upload_.object = std::move(object);
    upload_.may_overtake = may_overtake;
  }

  Status append(std::span<const std::span<const std::byte>> parts) override {
    if (!upload_.object) return closed();
    for (const auto part : parts) upload_.bytes += part.size();
    return upload_.object->append(parts);
  }

  Status commit() override {
    if (!upload_.object) return closed();
    return uploads_->add(std::exchange(upload_, {}));
  }

  void abort() override { upload_ = {}; }

 private:
  static Error closed() {
    return {Error::Code::closed, "the object was already committed or aborted"};
  }

  const std::shared_ptr<Uploads> uploads_;
  Upload upload_;
};

class UploadQueue final : public Storage {
 public:
  UploadQueue(std::shared_ptr<Storage> inner, const UploadOptions& options)
      : inner_(std::move(inner)),
        uploads_(std::make_shared<Uploads>(options)) {}
  ~UploadQueue() override { uploads_->discard(); }

  const std::string& uri() const override { return inner_->uri(); }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_TRY(auto object, inner_->create(key));
    return std::unique_ptr<ObjectWriter>(std::make_unique<QueuedWriter>(
        uploads_, std::move(object), uploads_->may_overtake(key)));
  }

  Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key) override {
    SMD_CHECK_OK(settle_all());
    return inner_->create_log(key);
  }

  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    SMD_CHECK_OK(settle_all());
    return inner_->create_exclusive(key, bytes);
  }

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    SMD_CHECK_OK(settle_all());
    return inner_->read(key, ranges);
  }

  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override {
    SMD_CHECK_OK(settle_all());
    return inner_->read_whole(key, max_bytes);
  }

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    SMD_CHECK_OK(settle_all());
    return inner_->list(prefix, after);
  }

  Result<bool> exists(std::string_view key) const override {
    SMD_CHECK_OK(settle_all());
    return inner_->exists(key);
  }

  Status remove(std::string_view key) override {
    SMD_CHECK_OK(settle_all());
    return inner_->remove(key);
  }

  Status move(std::string_view from, std::string_view to) override {
    SMD_CHECK_OK(settle_all());
    return inner_->move(from, to);
  }

  Status move_each(std::span<const ObjectMove> moves) override {
    SMD_CHECK_OK(settle_all());
    return inner_->move_each(moves);
  }

  bool is_remote() const override { return inner_->is_remote(); }
  Result<bool> settle() override { return uploads_->settle(); }

 private:
  Status settle_all() const {
    for (bool is_settled = false; !is_settled;) {
      SMD_TRY(is_settled, uploads_->settle());
    }
    return {};
  }

  const std::shared_ptr<Storage> inner_;
  const std::shared_ptr<Uploads> uploads_;
};

}  // namespace

std::shared_ptr<Storage> make_upload_queue(std::shared_ptr<Storage> inner,
                                           const UploadOptions& options) {
  return std::make_shared<UploadQueue>(std::move(inner), options);
}

}  // namespace smdebug
