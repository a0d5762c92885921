#include "smdebug/core/dtype.h"

#include <array>

namespace smdebug {
namespace {

struct Description {
  std::string_view name;
  std::size_t bytes;
  bool floating;
};

// In the order of `DType`.
constexpr std::array<Description, kDTypeCount> kDescriptions = {{
    {"float16", 2, true},       {"bfloat16", 2, true},
    {"float32", 4, true},       {"float64", 8, true},
    {"float8_e4m3fn", 1, true}, {"float8_e5m2", 1, true},
    {"int8", 1, false},         {"int16", 2, false},
    {"int32", 4, false},        {"int64", 8, false},
    {"uint8", 1, false},        {"uint16", 2, false},
    {"uint32", 4, false},       {"uint64", 8, false},
    {"bool", 1, false},         {"complex64", 8, true},
    {"complex128", 16, true},   {"str", 0, false},
    {"bytes", 0, false},
}};

const Description& describe(DType dtype) {
  return kDescriptions[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::size_t dtype_bytes(DType dtype) { return describe(dtype).bytes; }

std::string_view dtype_name(DType dtype) { return describe(dtype).name; }

std::optional<DType> find_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kDescriptions[i].name == name) return static_cast<DType>(i);
  }
  return {};
}

bool is_floating(DType dtype) { return describe(dtype).floating; }

}  // namespace smdebug
