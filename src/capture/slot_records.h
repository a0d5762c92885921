#pragma once

// The records of a slot: encoders, cached per dtype and shape, and names as
// JSON. They belong to the write thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/core/dtype.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/reduction.h"

#include "format/tensor_record.h"

namespace smdebug {

// The form of a framework's saved reductions, see `Framework`.
struct ReductionForm {
  bool is_0d = false;
  bool keeps_colon_digits = false;
};

// The dtype in which a reduction of a `dtype` tensor is stored: the same for
// float16, bfloat16, float32 and float64; float32 for complex64 and float8;
// float64 for all others.
DType reduced_dtype(DType dtype);

// Writes `value` to `bytes` as one element of `dtype`, a result of
// `reduced_dtype`, rounded to nearest even. Returns the size of the element.
std::size_t scalar_bytes(DType dtype, double value,
                         std::span<std::byte, 8> bytes);

class SlotRecords {
 public:
  // Returns the encoder of the tensor's record. Keeps those of the last few
  // shapes, because the last batch of an epoch is often smaller.
  const TensorRecordEncoder& raw(std::string_view name, DType dtype,
                                 std::span<const std::int64_t> shape);

  struct ReductionRecord {
    ReductionOp op;
    DType dtype;
    std::string json_name;  // of the mangled tag
    TensorRecordEncoder encoder;
  };
  const ReductionRecord& reduction(std::string_view name, ReductionOp op,
                                   DType dtype, const ReductionForm& form);

  // Returns TensorBoard's tag for the tensor's histogram in `collection`, or
  // for its scalar if that is empty.
  const std::string& tensorboard_tag(std::string_view collection,
                                     std::string_view name);

  // Records that the tensor was written at `step`. Returns whether it was
  // already written at that step.
  bool note_step(Step step) { return std::exchange(step_, step) == step; }

  // Returns the name as a JSON string.
  const std::string& json_name(std::string_view name);

 private:
  struct RawRecord {
    DType dtype;
    std::vector<std::int64_t> shape;
    TensorRecordEncoder encoder;
  };

  std::vector<std::unique_ptr<RawRecord>> raw_;
  std::size_t newest_ = 0;
  std::vector<std::unique_ptr<ReductionRecord>> reductions_;
  std::vector<std::pair<std::string, std::string>> tensorboard_tags_;
  std::string json_name_;
  Step step_ = -1;
};

}  // namespace smdebug
