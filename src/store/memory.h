#pragma once

// Objects in memory, gone with the last `Storage` that shares them: for tests
// and for runs that nobody keeps.

#include <memory>
#include <string>

#include "smdebug/store/storage.h"

namespace smdebug {

std::shared_ptr<Storage> make_memory_storage(std::string uri);

}  // namespace smdebug
