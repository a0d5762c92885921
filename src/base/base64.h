#pragma once

// Base64 with padding (RFC 4648 §4), which represents columns of numbers in
// JSON.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

void append_base64(std::span<const std::byte> bytes, std::string& out);

// Fails with `corrupt` for characters and lengths that no encoder produces.
Result<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace smdebug
