#pragma once

// `WrittenRun` writes a small run, file by file, for tests and benchmarks of
// readers. It uses only the format, not the reader. Tests can get the bytes of
// each file and damage them before they are written.

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/store/storage.h"

#include "base/crc32c.h"
#include "format/collections_file.h"
#include "format/file_names.h"
#include "format/index_file.h"
#include "format/reduction_tag.h"
#include "format/tensor_record.h"

namespace smdebug {

struct WrittenTensor {
  std::string name;
  std::vector<float> elements;  // shape {n}; empty: no record
  bool with_statistics = false;
  bool with_shape = false;
  std::vector<std::pair<ReductionOp, float>> reductions = {};
  std::optional<ShardPlacement> placement = {};  // with statistics
};

struct WrittenStep {
  StepId id;
  std::string worker = "worker_0";
  std::vector<WrittenTensor> tensors;
  std::uint64_t dropped_tensors = 0;
};

inline TensorStatistics statistics_of(const std::vector<float>& elements) {
  TensorStatistics s;
  s.count = elements.size();
  if (elements.empty()) return s;
  s.min = s.max = elements[0];
  for (float x : elements) {
    s.zeros += x == 0;
    s.min = std::min<double>(s.min, x);
    s.max = std::max<double>(s.max, x);
    s.mean += x / static_cast<double>(elements.size());
    s.sum_abs += std::abs(x);
    s.sum_squares += static_cast<double>(x) * x;
  }
  for (float x : elements) s.m2 += (x - s.mean) * (x - s.mean);
  return s;
}

class WrittenRun {
 public:
  explicit WrittenRun(std::shared_ptr<Storage> storage)
      : storage_(std::move(storage)) {}

  const std::shared_ptr<Storage>& storage() const { return storage_; }

  void put_collections(std::string_view worker, int num_workers,
                       std::vector<TensorGroup> groups = {}) {
    CollectionsFile file;
    file.num_workers = num_workers;
    for (TensorGroup& group : groups) {
      StoredCollection collection;
      collection.tensors = std::move(group);
      file.collections.push_back(std::move(collection));
    }
    put(collections_file_key(worker), write_collections_file(file));
  }

  void put_step(const WrittenStep& step) {
    auto [events, index] = make_step(step);
    if (!events.empty())
      put(event_file_key(step.id.global, step.worker), events);
    put(index_file_key(step.id.global, step.worker), index);
  }

  void put_end_marker() { put(std::string(kEndMarkerKey), ""); }

  void put(const std::string& key, std::string_view text) {
    const Status status = put_object(*storage_, key, text);
    if (!status) throw std::runtime_error(key + ": " + status.error().message);
  }

  // The event file and the index file of a step.
  static std::pair<std::string, std::string> make_step(
      const WrittenStep& step) {
    std::string events;
    IndexFileBuilder index;
    std::array<char, 24> buffer;
    const RecordStamp stamp{1.5, step.id,
                            format_mode_step(step.id.mode_step, buffer)};
    const auto add = [&](std::string_view tag, std::span<const float> elements,
                         std::span<const std::int64_t> shape) {
      const std::size_t start = events.size();
      append_tensor_record(tag, DType::float32, shape, std::as_bytes(elements),
                           {}, stamp, events);
      index.add_tensor(json_string(tag), start, events.size() - start,
                       crc32c(std::as_bytes(elements)));
    };
    for (const WrittenTensor& tensor : step.tensors) {
      const auto size = static_cast<std::int64_t>(tensor.elements.size());
      const std::span<const std::int64_t> shape(&size, 1);
      const std::string name = json_string(tensor.name);
      if (!tensor.elements.empty()) add(tensor.name, tensor.elements, shape);
      if (tensor.with_shape) index.add_shape(name, name, shape);
      for (const auto& [op, value] : tensor.reductions) {
        add(reduction_tag(op, tensor.name), std::span(&value, 1), {});
      }
      if (tensor.with_statistics) {
        index.add_statistics(name, DType::float32, shape,
                             statistics_of(tensor.elements),
                             tensor.placement ? &*tensor.placement : nullptr);
      }
    }
    index.set_drops(step.dropped_tensors, step.dropped_tensors);
    return {events, std::string(index.finish(
                        step.id.mode, step.id.mode_step,
                        event_file_key(step.id.global, step.worker)))};
  }

 private:
  std::shared_ptr<Storage> storage_;
};

}  // namespace smdebug
