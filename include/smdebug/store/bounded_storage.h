#pragma once

// A storage whose calls return within a limit, for code that must not hang with
// a file system: one whose server does not respond blocks every call forever.

#include <memory>

#include "smdebug/base/wait_limit.h"
#include "smdebug/store/storage.h"

namespace smdebug {

/// Returns a storage that makes each call of `inner` on another thread and
/// waits for it within `limit`. A call that does not return in time fails with
/// `unavailable`, and so do all further calls, at once, until it returns. A
/// call that the user interrupts fails with `interrupted`. Arguments are
/// copied, so that an abandoned call uses nothing of its caller.
std::shared_ptr<Storage> bounded_storage(std::shared_ptr<Storage> inner,
                                         WaitLimit limit);

}  // namespace smdebug
