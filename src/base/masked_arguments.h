#pragma once

// Removes secrets from the arguments of a program before they are written to a
// file. The name of an argument identifies a secret: `--token=x`, `--api-key
// x`, `AWS_SESSION=x`, `https://user:x@host/?token=x`; so does the form of some
// keys.

#include <span>
#include <string>
#include <vector>

namespace smdebug {

// Returns the arguments with each secret replaced by "***".
std::vector<std::string> masked_arguments(
    std::span<const std::string> arguments);

}  // namespace smdebug
