#pragma once

// A storage that keeps what it reads from a server, and serves it from there
// when it is read again, also by another process.

#include <memory>
#include <string>

#include "store/object_cache.h"
#include "store/tagged_storage.h"

namespace smdebug {

// Returns a storage that reads the files of a run which do not change (events,
// facts, index, series and statistics) from `cache` where it has them.
// `place` names the server and the location of `inner`.
//
// An entry is of one tag, and is served only for an object that the server has
// listed with this tag since the last listing that the caller requested, or in
// it. Where that listing does not have the object, as with event files, this
// requests a page of another. So no copy is older than what the caller knows of
// the run, and only a client that may list a bucket gets copies of its objects.
//
// Once the storage has written, it reads everything from the server.
std::shared_ptr<Storage> make_cached_storage(
    std::shared_ptr<TaggedStorage> inner, std::shared_ptr<ObjectCache> cache,
    std::string place);

}  // namespace smdebug
