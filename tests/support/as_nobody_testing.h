#pragma once

// Makes permissions apply to a test that root runs.

#include <unistd.h>

namespace smdebug {

// While it exists, the process has the rights of the user "nobody" if root runs
// it.
class AsNobody {
 public:
  AsNobody() {
    if (is_root_) is_dropped_ = seteuid(kNobody) == 0;
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (is_dropped_ && seteuid(0) != 0) _exit(1);
  }

 private:
  static constexpr uid_t kNobody = 65534;

  bool is_root_ = geteuid() == 0;
  bool is_dropped_ = false;
};

}  // namespace smdebug
