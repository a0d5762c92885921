#pragma once

// The storages of this library, for `open_storage` and for tests, and the check
// of keys that they share.

#include <memory>
#include <string>
#include <string_view>

#include "smdebug/base/clock.h"
#include "smdebug/store/open_storage.h"
#include "smdebug/store/storage.h"

#include "net/s3_client.h"
#include "store/tagged_storage.h"

namespace smdebug {

// Stores objects as files below a folder: `root` is its absolute path, `uri`
// the path that users know. Writes a file as `<name>.tmp` and renames it when
// it is complete, so readers never list a partial file of a crashed process.
// Creates folders with their first file. `root` may be or contain symbolic
// links; below it, none are followed, neither to read nor to write. `sync` is
// that of `open_storage`.
std::shared_ptr<Storage> make_local_storage(
    std::string uri, std::string root, const Clock& clock = system_clock(),
    FileAccess access = FileAccess::by_umask,
    MissingFolder missing = MissingFolder::create,
    FileSync sync = FileSync::never);

// Stores objects in memory. They are freed with the last pointer to the
// storage. For tests and temporary runs.
std::shared_ptr<Storage> make_memory_storage(std::string uri);

// Stores objects below a prefix of a bucket. `http` and `clock` live at least
// as long as the storage.
std::shared_ptr<TaggedStorage> make_s3_storage(
    S3Location location, S3Endpoint endpoint, FindCredentials find,
    const HttpClient& http, const Clock& clock, RetryPolicy retries = {});

// The suffix of an object that is being written.
inline constexpr std::string_view kUnfinishedSuffix = ".tmp";

// Fails with `invalid_argument` if `key` is not a relative path of plain names:
// if it is empty or absolute, could leave the run, contains a NUL byte, or has
// the suffix of unfinished objects.
Status check_key(std::string_view key);

// Returns the error of `Storage::read_whole` for an object that is too large.
Error too_large(std::string_view path, std::uint64_t max_bytes);

}  // namespace smdebug
