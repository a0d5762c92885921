#pragma once

// Opens a `Storage` from user input: a path or a URI.

#include <memory>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Opens the storage at `location`: "/runs/a", "~/runs/a", "runs/a",
/// "s3://bucket/prefix", "gs://bucket/prefix", "memory://name" (one store per
/// name and process, for tests). Nothing is created, and no server is asked.
/// Fails with `unsupported` for other schemes and `invalid_argument` for an
/// empty location and for one that names no bucket.
///
/// `owner_only` creates files with mode 0600 and folders with 0700. So does a
/// storage whose folder only its owner can enter: whatever writes into a
/// private run keeps it private.
///
/// `keep_removed` never creates the folder at `location`: if it is removed
/// before the first file is written, writing fails, as it does later.
///
/// `each_call` makes a folder keep every change when the machine loses power:
/// content is synced before a file gets its name, and the folders that name it
/// before the call returns. A sync that fails is a failure of the call; an
/// object that was to replace an older one may have done so then. Logs
/// (`create_log`) are not synced. Without effect on other storages: an object
/// that a server has confirmed is durable.
enum class FileAccess { by_umask, owner_only };
enum class MissingFolder { create, keep_removed };
enum class FileSync { never, each_call };
Result<std::shared_ptr<Storage>> open_storage(
    std::string_view location, FileAccess access = FileAccess::by_umask,
    MissingFolder missing = MissingFolder::create,
    FileSync sync = FileSync::never);

/// Returns whether files can be created at `location`, whose folder need not
/// exist yet. Fails with `io`, naming the part of the path that is no folder
/// ("'a/b' is a file, not a folder") or that this user may not write to, and
/// with `invalid_argument` without a home folder. Leaves nothing behind, and
/// waits for the file system without a limit.
Status check_writable(std::string_view location);

}  // namespace smdebug
