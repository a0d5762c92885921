#pragma once

// Names of workers in file names. Some workers are named after devices.

#include <string>
#include <string_view>

namespace smdebug {

// Convert between "/job:localhost/device:GPU:0" and
// "_job-localhost_device-GPU-0". Names without '/' and ':' stay unchanged.
std::string encode_worker(std::string_view worker);
std::string decode_worker(std::string_view encoded);

}  // namespace smdebug
