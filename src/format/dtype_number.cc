#include "format/tensor_record.h"

namespace smdebug {

// From tensorflow/core/framework/types.proto: never renumber.
std::uint32_t dtype_number(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 1;
    case DType::float64:
      return 2;
    case DType::int32:
      return 3;
    case DType::uint8:
      return 4;
    case DType::int16:
      return 5;
    case DType::int8:
      return 6;
    case DType::complex64:
      return 8;
    case DType::int64:
      return 9;
    case DType::boolean:
      return 10;
    case DType::bfloat16:
      return 14;
    case DType::uint16:
      return 17;
    case DType::complex128:
      return 18;
    case DType::float16:
      return 19;
    case DType::uint32:
      return 22;
    case DType::uint64:
      return 23;
    case DType::float8_e5m2:
      return 24;
    case DType::float8_e4m3fn:
      return 25;
    case DType::bytes:
      return 7;
    case DType::string:
      return 0;
  }
  return 0;
}

std::optional<std::uint32_t> quantized_dtype_number(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return 11;
    case DType::uint8:
      return 12;
    case DType::int16:
      return 15;
    default:
      return std::nullopt;
  }
}

std::optional<DType> find_dtype_number(std::uint64_t number) {
  switch (number) {
    case 0:
      return DType::string;
    case 1:
      return DType::float32;
    case 2:
      return DType::float64;
    case 3:
    case 13:  // qint32
      return DType::int32;
    case 4:
    case 12:  // quint8
      return DType::uint8;
    case 5:
    case 15:  // qint16
      return DType::int16;
    case 6:
    case 11:  // qint8
      return DType::int8;
    case 7:
      return DType::bytes;
    case 8:
      return DType::complex64;
    case 9:
      return DType::int64;
    case 10:
      return DType::boolean;
    case 14:
      return DType::bfloat16;
    case 16:  // quint16
    case 17:
      return DType::uint16;
    case 18:
      return DType::complex128;
    case 19:
      return DType::float16;
    case 22:
      return DType::uint32;
    case 23:
      return DType::uint64;
    case 24:
      return DType::float8_e5m2;
    case 25:
      return DType::float8_e4m3fn;
    default:
      return std::nullopt;
  }
}

}  // namespace smdebug
