#pragma once

// Objects as files below a folder. A file is written as `<name>.tmp` and
// renamed when it is whole, so whatever dies half-way leaves nothing that a
// reader would list. Folders appear with their first file.

#include <memory>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/store/storage.h"

namespace smdebug {

// `root` is the absolute path of the folder, `uri` what users call it.
std::shared_ptr<Storage> make_local_storage(
    std::string uri, std::string root, const Clock& clock = system_clock());

}  // namespace smdebug
