#pragma once

// A storage whose `commit` returns at once, for a store that takes long to
// answer: threads of its own upload the objects, several at a time. The bytes
// that wait are limited; from there on, `commit` waits as well.
//
// Objects are published in the order of their commits, except that those which
// `may_overtake` names are published as soon as possible: an object that refers
// to them is committed later. The first upload that fails ends it: objects that
// wait are discarded, and later calls fail with its error.

#include <cstddef>
#include <memory>
#include <string_view>

#include "smdebug/store/storage.h"

namespace smdebug {

struct UploadOptions {
  bool (*may_overtake)(std::string_view key) = nullptr;  // null: none may
  std::size_t most_bytes = std::size_t{64} << 20;
  std::size_t most_threads = 8;
};

// Every call but `create` and `uri` first waits for all uploads. Uploads that
// have not begun are discarded with the last pointer to the storage: call
// `Storage::settle` before.
std::shared_ptr<Storage> make_upload_queue(std::shared_ptr<Storage> inner,
                                           const UploadOptions& options);

}  // namespace smdebug
