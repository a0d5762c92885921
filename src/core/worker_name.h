#pragma once

// Workers as file names hold them: some are named after devices.

#include <string>
#include <string_view>

namespace smdebug {

// "/job:localhost/device:GPU:0" -> "_job-localhost_device-GPU-0", and back.
// Only names that contain '/' or ':' are changed.
std::string encode_worker(std::string_view worker);
std::string decode_worker(std::string_view encoded);

}  // namespace smdebug
