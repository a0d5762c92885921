#pragma once

// The write thread's side of a slot: encoders made once per dtype and shape,
// names as JSON.

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

// How a framework's reductions are stored: see Framework.
struct ReductionForm {
  bool is_0d = false;
  bool keeps_colon_digits = false;
};

class SlotRecords {
 public:
  // The tensor's own record. Encoders of the last few shapes are kept: the
  // last batch of an epoch is often smaller.
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

  // TensorBoard's tag: of the tensor's number, or with a collection of its
  // histogram there.
  const std::string& tensorboard_tag(std::string_view collection,
                                     std::string_view name);

  // Notes that the tensor was taken at `step`. Returns whether it had been
  // taken at that step before.
  bool note_step(Step step) { return std::exchange(step_, step) == step; }

  // The name as a JSON string.
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
