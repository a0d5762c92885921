#pragma once

// A collection as its file holds it, and as the configuration does.

#include "smdebug/config/collection.h"

#include "format/collections_file.h"

namespace smdebug {

// Fails with `invalid_config` where the file names a reduction that is none.
Result<Collection> collection_of(const StoredCollection& stored);

StoredCollection stored_of(const Collection& collection);

}  // namespace smdebug
