#include "capture/watched_storage.h"

#include <utility>

#include <fmt/format.h>

#include "smdebug/base/clock.h"

namespace smdebug {
namespace {

// Passes calls to the watch with the URI of their storage.
class WatchHook final : public StorageHook {
 public:
  WatchHook(std::string uri, std::shared_ptr<StorageWatch> watch)
      : uri_(std::move(uri)), watch_(std::move(watch)) {}

  Status enter(StorageCall call, std::string_view key) override {
    return watch_->enter(call, uri_, key);
  }

 private:
  const std::string uri_;
  const std::shared_ptr<StorageWatch> watch_;
};

}  // namespace

void StorageWatch::note_progress() { busy_since = system_clock().monotonic(); }

Status StorageWatch::enter(StorageCall call, const std::string& uri,
                           std::string_view key) {
  // An abandoned thread removes its unfinished file.
  if (is_abandoned && call != StorageCall::abort) {
    return Error{Error::Code::unavailable,
                 "the storage did not respond, so nothing more is written"};
  }
  {
    const std::lock_guard lock(mutex_);
    call_ = call;
    uri_ = uri;
    key_ = key;
  }
  if (call != StorageCall::abort) note_progress();
  return {};
}

std::string StorageWatch::last_call() const {
  const std::lock_guard lock(mutex_);
  if (uri_.empty()) return "write the run";
  return fmt::format("{} in '{}'", call_text(call_, key_), uri_);
}

std::shared_ptr<Storage> watched_storage(std::shared_ptr<Storage> inner,
                                         std::shared_ptr<StorageWatch> watch) {
  if (!inner) return nullptr;
  auto hook = std::make_shared<WatchHook>(inner->uri(), std::move(watch));
  return std::make_shared<ForwardingStorage>(std::move(inner), std::move(hook));
}

}  // namespace smdebug
