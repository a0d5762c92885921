#include "core/worker_name.h"

#include <algorithm>

namespace smdebug {
namespace {

std::string swap_characters(std::string_view text, char from_a, char to_a,
                            char from_b, char to_b) {
  std::string out(text);
  std::replace(out.begin(), out.end(), from_a, to_a);
  std::replace(out.begin(), out.end(), from_b, to_b);
  return out;
}

}  // namespace

std::string encode_worker(std::string_view worker) {
  return swap_characters(worker, '/', '_', ':', '-');
}

std::string decode_worker(std::string_view encoded) {
  // Only names of devices start with '/', so only their encodings start with
  // '_'.
  if (!encoded.starts_with('_')) return std::string(encoded);
  return swap_characters(encoded, '_', '/', '-', ':');
}

}  // namespace smdebug
