#include "smdebug/store/bounded_storage.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/store/open_storage.h"

#include "base/bounded_call.h"
#include "store/forwarding_storage.h"

namespace smdebug {
namespace {

using OwnedParts = std::vector<std::byte>;

// A store moves them in some round trips.
constexpr std::size_t kMovesPerCall = 256;

OwnedParts copy_of(std::span<const std::span<const std::byte>> parts) {
  OwnedParts bytes;
  for (const auto part : parts)
    bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

// Makes the calls of one storage, its readers and its writers.
class Calls {
 public:
  Calls(std::string uri, WaitLimit limit)
      : uri_(std::move(uri)), limit_(std::move(limit)) {}

  // Returns the result of `call`, or an error that names `action`.
  template <typename R>
  R make(const std::string& action, std::function<R()> call) {
    const auto in_progress = std::make_shared<int>();
    {
      const std::lock_guard lock(mutex_);
      if (!stuck_.expired()) return refusal(action);
    }
    auto result =
        call_within<R>(limit_, [in_progress, call = std::move(call)]() -> R {
          try {
            return call();
          } catch (const std::exception& error) {
            return Error{Error::Code::internal,
                         std::string("exception: ") + error.what()};
          }
        });
    if (result.value) return *std::move(result.value);
    const std::lock_guard lock(mutex_);
    stuck_ = in_progress;
    end_of_stuck_ = result.end;
    return error(action, result.end);
  }

 private:
  // The error of a call that is not made because an earlier one is stuck.
  Error refusal(const std::string& action) const {
    if (end_of_stuck_ != WaitEnd::interrupted) {
      return error(action, end_of_stuck_);
    }
    return {Error::Code::unavailable,
            fmt::format("cannot {} in '{}': the storage does not respond to an "
                        "earlier call, which was interrupted",
                        action, uri_)};
  }

  Error error(const std::string& action, WaitEnd end) const {
    if (end == WaitEnd::interrupted) {
      return {Error::Code::interrupted,
              fmt::format("cannot {} in '{}': interrupted while waiting for "
                          "the storage",
                          action, uri_)};
    }
    const auto seconds = std::chrono::duration<double>(limit_.at_most).count();
    return {Error::Code::unavailable,
            fmt::format("cannot {} in '{}': the storage has not responded for "
                        "{:g} s: check that it is mounted and reachable",
                        action, uri_, seconds)};
  }

  const std::string uri_;
  const WaitLimit limit_;
  std::mutex mutex_;
  std::weak_ptr<int> stuck_;  // lives as long as the call that was abandoned
  WaitEnd end_of_stuck_ = WaitEnd::done;
};

class BoundedWriter final : public ObjectWriter {
 public:
  BoundedWriter(std::shared_ptr<Calls> calls, std::string key,
                std::shared_ptr<ObjectWriter> inner)
      : calls_(std::move(calls)),
        key_(std::move(key)),
        inner_(std::move(inner)) {}

  // Destroying an open file closes it, which may block.
  ~BoundedWriter() override {
    if (!is_open_) return;
    start_detached([inner = std::move(inner_)]() mutable { inner.reset(); });
  }

  Status append(std::span<const std::span<const std::byte>> parts) override {
    return calls_->make<Status>(call_text(StorageCall::append, key_),
                                [inner = inner_, bytes = copy_of(parts)] {
                                  const std::span<const std::byte> part(bytes);
                                  return inner->append({&part, 1});
                                });
  }

  Status commit() override {
    Status status =
        calls_->make<Status>(call_text(StorageCall::commit, key_),
                             [inner = inner_] { return inner->commit(); });
    is_open_ = !status;
    return status;
  }

  void abort() override {
    const Status status = calls_->make<Status>(
        call_text(StorageCall::abort, key_), [inner = inner_] {
          inner->abort();
          return Status();
        });
    is_open_ = !status;
  }

 private:
  const std::shared_ptr<Calls> calls_;
  const std::string key_;
  std::shared_ptr<ObjectWriter> inner_;
  bool is_open_ = true;
};

class BoundedReader final : public ObjectReader {
 public:
  BoundedReader(std::shared_ptr<Calls> calls, std::string key,
                std::shared_ptr<ObjectReader> inner,
                std::shared_ptr<Storage> storage)
      : calls_(std::move(calls)),
        key_(std::move(key)),
        storage_(std::move(storage)),
        inner_(std::move(inner)) {}

  Result<std::vector<Bytes>> read(
      std::span<const ByteRange> ranges) const override {
    return calls_->make<Result<std::vector<Bytes>>>(
        call_text(StorageCall::read, key_),
        [inner = inner_, storage = storage_,
         ranges = std::vector(ranges.begin(), ranges.end())] {
          return inner->read(ranges);
        });
  }

 private:
  const std::shared_ptr<Calls> calls_;
  const std::string key_;
  const std::shared_ptr<Storage> storage_;  // outlives `inner_`
  const std::shared_ptr<ObjectReader> inner_;
};

class BoundedStorage final : public Storage {
 public:
  BoundedStorage(std::shared_ptr<Storage> inner, WaitLimit limit)
      : inner_(std::move(inner)),
        calls_(std::make_shared<Calls>(inner_->uri(), std::move(limit))) {}

  const std::string& uri() const override { return inner_->uri(); }
  bool is_remote() const override { return inner_->is_remote(); }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    using Writer = std::shared_ptr<ObjectWriter>;
    SMD_TRY(Writer writer,
            calls_->make<Result<Writer>>(
                call_text(StorageCall::create, key),
                [inner = inner_, key = std::string(key)]() -> Result<Writer> {
                  SMD_TRY(auto created, inner->create(key));
                  return Writer(std::move(created));
                }));
    return std::unique_ptr<ObjectWriter>(std::make_unique<BoundedWriter>(
        calls_, std::string(key), std::move(writer)));
  }

  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    return calls_->make<Result<bool>>(
        call_text(StorageCall::create_exclusive, key),
        [inner = inner_, key = std::string(key), bytes = copy_of({&bytes, 1})] {
          return inner->create_exclusive(key, bytes);
        });
  }

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    return calls_->make<Result<std::vector<Bytes>>>(
        call_text(StorageCall::read, key),
        [inner = inner_, key = std::string(key),
         ranges = std::vector(ranges.begin(), ranges.end())] {
          return inner->read(key, ranges);
        });
  }

  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override {
    return calls_->make<Result<Bytes>>(
        call_text(StorageCall::read, key),
        [inner = inner_, key = std::string(key), max_bytes] {
          return inner->read_whole(key, max_bytes);
        });
  }

  Status check_folder(std::string_view folder) const override {
    return calls_->make<Status>(call_text(StorageCall::list, folder),
                                [inner = inner_, folder = std::string(folder)] {
                                  return inner->check_folder(folder);
                                });
  }

  std::vector<Result<Bytes>> read_each(
      std::span<const ObjectRange> ranges) const override {
    using All = std::vector<Result<Bytes>>;
    auto all = calls_->make<Result<All>>(
        "read",
        [inner = inner_, ranges = std::vector(ranges.begin(), ranges.end())] {
          return Result<All>(inner->read_each(ranges));
        });
    return all ? *std::move(all) : All(ranges.size(), all.error());
  }

  Result<std::unique_ptr<ObjectReader>> open(
      std::string_view key) const override {
    using Reader = std::shared_ptr<ObjectReader>;
    SMD_TRY(Reader reader,
            calls_->make<Result<Reader>>(
                "open '" + std::string(key) + "'",
                [inner = inner_, key = std::string(key)]() -> Result<Reader> {
                  SMD_TRY(auto opened, inner->open(key));
                  return Reader(std::move(opened));
                }));
    return std::unique_ptr<ObjectReader>(std::make_unique<BoundedReader>(
        calls_, std::string(key), std::move(reader), inner_));
  }

  std::optional<std::uint64_t> folder_version(
      std::string_view folder) const override {
    using Version = std::optional<std::uint64_t>;
    auto version = calls_->make<Result<Version>>(
        call_text(StorageCall::exists, folder),
        [inner = inner_, folder = std::string(folder)] {
          return Result<Version>(inner->folder_version(folder));
        });
    return version ? *version : std::nullopt;
  }

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    return calls_->make<Result<std::vector<ObjectEntry>>>(
        call_text(StorageCall::list, prefix),
        [inner = inner_, prefix = std::string(prefix),
         after = std::string(after)] { return inner->list(prefix, after); });
  }

  Result<bool> exists(std::string_view key) const override {
    return calls_->make<Result<bool>>(call_text(StorageCall::exists, key),
                                      [inner = inner_, key = std::string(key)] {
                                        return inner->exists(key);
                                      });
  }

  Status move(std::string_view from, std::string_view to) override {
    return calls_->make<Status>(
        call_text(StorageCall::move, from),
        [inner = inner_, from = std::string(from), to = std::string(to)] {
          return inner->move(from, to);
        });
  }

  // The limit is for one call, so a call moves only some of them.
  Status move_each(std::span<const ObjectMove> moves) override {
    while (!moves.empty()) {
      const auto some = moves.first(std::min(kMovesPerCall, moves.size()));
      moves = moves.subspan(some.size());
      SMD_CHECK_OK(calls_->make<Status>(
          call_text(StorageCall::move, some.front().from),
          [inner = inner_, some = std::vector(some.begin(), some.end())] {
            return inner->move_each(some);
          }));
    }
    return {};
  }

  Status remove(std::string_view key) override {
    return calls_->make<Status>(call_text(StorageCall::remove, key),
                                [inner = inner_, key = std::string(key)] {
                                  return inner->remove(key);
                                });
  }

 private:
  const std::shared_ptr<Storage> inner_;
  const std::shared_ptr<Calls> calls_;
};

}  // namespace

std::shared_ptr<Storage> bounded_storage(std::shared_ptr<Storage> inner,
                                         WaitLimit limit) {
  return std::make_shared<BoundedStorage>(std::move(inner), std::move(limit));
}

Result<std::shared_ptr<Storage>> open_bounded_storage(std::string_view location,
                                                      WaitLimit limit,
                                                      MissingFolder missing) {
  SMD_TRY(auto storage, open_storage(location, FileAccess::by_umask, missing));
  return bounded_storage(std::move(storage), std::move(limit));
}

Status call_bounded(const std::string& action, std::string location,
                    WaitLimit limit, std::function<Status()> call) {
  return Calls(std::move(location), std::move(limit))
      .make<Status>(action, std::move(call));
}

}  // namespace smdebug
