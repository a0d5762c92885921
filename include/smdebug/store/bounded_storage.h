#pragma once

// A storage whose calls return within a limit, for code that must not hang with
// a file system: one whose server does not respond blocks every call forever.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "smdebug/base/wait_limit.h"
#include "smdebug/store/open_storage.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns a storage that makes each call of `inner` on another thread and
/// waits for it within `limit`. A call that does not return in time fails with
/// `unavailable`, and so do all further calls, at once, until it returns. A
/// call that the user interrupts fails with `interrupted`, and further calls
/// fail with `unavailable` until it returns. Arguments are copied, so that an
/// abandoned call uses nothing of its caller.
std::shared_ptr<Storage> bounded_storage(std::shared_ptr<Storage> inner,
                                         WaitLimit limit);

/// Opens the storage at `location` and bounds its calls. Fails as
/// `open_storage`.
Result<std::shared_ptr<Storage>> open_bounded_storage(
    std::string_view location, WaitLimit limit,
    MissingFolder missing = MissingFolder::create);

/// Makes a call of the file system that `Storage` does not have, such as
/// creating the folder of a run, and fails as a call of `bounded_storage`.
/// `action` and `location` name it in the error. `call` must own everything it
/// uses.
Status call_bounded(const std::string& action, std::string location,
                    WaitLimit limit, std::function<Status()> call);

}  // namespace smdebug
