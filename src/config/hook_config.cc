#include "smdebug/config/hook_config.h"

namespace smdebug {

const Collection* HookConfig::find_collection(const Framework& framework,
                                              std::string_view name) const {
  for (const Collection& collection : collections) {
    if (collection.name() == name) return &collection;
  }
  return framework.find(name);
}

}  // namespace smdebug
