#pragma once

// The part of DLPack 1.3's C interface by which a framework exports a tensor
// and keeps it: the table behind
// `type(x).__dlpack_c_exchange_api__`, and the capsule of `x.__dlpack__()`
// for frameworks without the table. Layouts are fixed by that standard; names
// are ours. Only tensor_input.cc includes this.

#include <cstdint>

namespace smdebug::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";
inline constexpr const char* kManagedCapsule = "dltensor";
inline constexpr const char* kUsedManagedCapsule = "used_dltensor";

// The device that holds the elements.
enum DeviceType : std::int32_t {
  kHost = 1,
  kCudaHost = 3,  // pinned host memory
  kRocmHost = 11,
  kCudaManaged = 13,
};

enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBFloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E5M2 = 12,
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: C order
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* owner;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

// Functions take a borrowed `PyObject*` as `void*`, require the GIL, and return
// 0, or -1 with a Python exception set. Those that are not called here are
// untyped.
struct ExchangeTable {
  Version version;
  ExchangeTable* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  // The shape and strides live as long as the object does. May be null.
  int (*borrow_from_object)(void* object, Tensor* out);
  void* current_stream;
};

}  // namespace smdebug::dlpack
