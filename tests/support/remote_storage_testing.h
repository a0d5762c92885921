#pragma once

// A storage that is over a network, as far as it says.

#include "store/forwarding_storage.h"

namespace smdebug {

class RemoteStorage : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  bool is_remote() const override { return true; }
};

}  // namespace smdebug
