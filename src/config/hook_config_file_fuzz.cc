// Parses any text as a configuration of a hook. Errors must name a position,
// and an accepted configuration must build a plan or be rejected by it.

#include <cstdlib>
#include <string_view>

#include "smdebug/config/hook_config_file.h"
#include "smdebug/config/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto& framework = smdebug::pytorch_framework();
  const auto file =
      smdebug::parse_hook_config(text, "fuzz.json", framework, {});
  if (!file) {
    if (!file.error().message.starts_with("fuzz.json:")) std::abort();
    return 0;
  }
  for (const std::string& warning : file->warnings) {
    if (!warning.starts_with("fuzz.json:")) std::abort();
  }
  (void)smdebug::Plan::build(file->config, framework);
  return 0;
}
