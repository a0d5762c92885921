#pragma once

// Base64 as of RFC 4648 §4, with padding: how columns of numbers travel inside
// JSON.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

void append_base64(std::span<const std::byte> bytes, std::string& out);

// Fails with `corrupt` on a character or length that no encoder writes.
Result<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace smdebug
