#pragma once

// A test fixture for capture: a session over a storage in memory, and access to
// the files that it wrote there.

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "smdebug/capture/session.h"
#include "smdebug/store/open_storage.h"

#include "format/file_names.h"
#include "format/index_file.h"
#include "format/tensor_record.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {

class SessionFixture : public ::testing::Test {
 protected:
  SessionFixture() {
    static int next = 0;
    storage_ = *open_storage("memory://session_test_" + std::to_string(next++));
    config_.out_dir = storage_->uri();
    config_.save_all = true;
    every_step();
  }

  void every_step(Step interval = 1) {
    SaveConfigMode mode;
    mode.save_interval = interval;
    config_.save_config = SaveConfig(mode);
  }

  std::unique_ptr<Session> open(const Clock& clock = system_clock()) {
    SessionOptions options;
    options.config = config_;
    options.framework = pytorch_framework();
    options.storage = storage_;
    options.logger = &log_;
    options.clock = &clock;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  static TensorView view(const std::vector<float>& values,
                         std::span<const std::int64_t> shape) {
    return {DType::float32,
            reinterpret_cast<const std::byte*>(values.data()),
            shape,
            {}};
  }

  static void put(Session& session, std::string_view name,
                  const std::vector<float>& values) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
    session.tensor(name).put(view(values, shape));
  }

  static void put_strings(Session& session, std::string_view name, DType dtype,
                          const std::vector<std::int64_t>& shape,
                          const std::vector<std::string>& strings) {
    const std::vector<std::string_view> views = {strings.begin(),
                                                 strings.end()};
    session.tensor(name).put(
        {dtype, reinterpret_cast<const std::byte*>(views.data()), shape, {}});
  }

  std::string text(std::string_view key) const {
    auto bytes = get_object(*storage_, key);
    EXPECT_TRUE(bytes.ok()) << key;
    return bytes ? std::string(bytes->text()) : std::string();
  }

  bool is_there(std::string_view key) const { return *storage_->exists(key); }

  IndexFile index(Step step, std::string_view worker = "worker_0") const {
    auto file = parse_index_file(text(index_file_key(step, worker)),
                                 IndexParts::everything);
    EXPECT_TRUE(file.ok());
    return file ? *std::move(file) : IndexFile{};
  }

  // The records of a step, by tag. They point into the storage's memory.
  std::map<std::string, TensorRecord> parsed_records(Step step) const {
    std::map<std::string, TensorRecord> records;
    const IndexFile file = index(step);
    const auto bytes = get_object(*storage_, file.event_file_key);
    EXPECT_TRUE(bytes.ok());
    for (const IndexedTensor& tensor : file.tensors) {
      auto record = parse_tensor_record(
          bytes->span().subspan(tensor.start, tensor.length),
          PayloadCheck::word);
      EXPECT_TRUE(record.ok()) << record.error().message;
      records[tensor.name] = *std::move(record);
    }
    return records;
  }

  // The elements of every float32 record of a step, by tag.
  std::map<std::string, std::vector<float>> records(Step step) const {
    std::map<std::string, std::vector<float>> records;
    for (const auto& [name, record] : parsed_records(step)) {
      std::vector<float> values(record.payload.size() / sizeof(float));
      std::memcpy(values.data(), record.payload.data(), record.payload.size());
      records[name] = std::move(values);
    }
    return records;
  }

  std::shared_ptr<Storage> storage_;
  HookConfig config_;
  RecordingLogger log_{LogLevel::warning};
};

}  // namespace smdebug
