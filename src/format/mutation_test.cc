// Tests that damaged files cannot harm a reader. Most effective in the
// sanitizer builds, which detect invalid memory accesses.

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/collections_file.h"
#include "format/facts_file.h"
#include "format/index_file.h"
#include "format/run_file.h"
#include "format/series_file.h"
#include "format/tensor_record.h"

namespace smdebug {
namespace {

constexpr int kMutations = 20'000;

std::string sample_records() {
  const std::vector<std::int64_t> shape = {2, 3};
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<std::string> strings = {"a", "b", "", "d", "e", "ffff"};
  const RecordStamp stamp = {1.5, {7, Mode::train, 3}, "3"};
  std::string out;
  append_tensor_record("layer/weight", DType::float32, shape,
                       std::as_bytes(std::span(values)), {}, stamp, out);
  append_tensor_record("names", DType::string, shape, {}, strings, stamp, out);
  return out;
}

std::string sample_index() {
  IndexFileBuilder builder;
  const std::vector<std::int64_t> shape = {2, 3};
  TensorStatistics statistics;
  statistics.count = 6;
  statistics.max = 6;
  for (const char* name : {"\"a\"", "\"\\u00e9\""}) {
    builder.add_tensor(name, 0, 120, 7);
    builder.add_shape(name, name, shape);
    builder.add_statistics(name, DType::float32, shape, statistics);
  }
  builder.set_drops(1, 2);
  return std::string(builder.finish(
      Mode::train, 3, "events/000000000007/000000000007_worker_0.tfevents"));
}

std::string sample_collections() {
  StoredCollection collection;
  collection.tensors = {"losses", {"[Ll]oss"}, {"a", "b"}};
  collection.reductions = {false, "mean,l2_norm", true};
  collection.schedule.emplace();
  collection.schedule->front() = ModeSchedule{1, {1, 2}, 0, 7};
  return write_collections_file({{collection}, 2});
}

std::string sample_run() {
  RunFile run;
  run.configuration_json = R"({"a": [1, 2.5, null, true]})";
  run.attempts.resize(2);
  run.attempts[0].command = {"python", "train.py"};
  run.attempts[0].cost = {{"seconds", 0.5}};
  return write_run_file(run);
}

std::string sample_facts() {
  RunFacts facts;
  facts.parameters = {
      {"w", true, "float32", "cpu", {2, 3}, "", GroupPosition{}}};
  facts.optimizers = {{"SGD", {{1, 0, {{"learning_rate", 0.1}}}}}};
  facts.modules = {{"Net_drop", "Dropout", true, {{"p", 0.5}}}};
  facts.losses = {{"loss", "MSELoss", "mean", -100}};
  return write_facts_file(facts);
}

std::string sample_series() {
  const StepId first = {7, Mode::train, 3}, second = {8, Mode::train, 4};
  return write_series_file({"worker_0",
                            {{"loss", {{first, 1.5}, {second, 1}}},
                             {"learning_rate", {{first, 0.5}}}}});
}

// Changes, drops, doubles or adds a few bytes.
std::string mutate(std::string bytes, std::mt19937_64& random) {
  for (auto n = 1 + random() % 4; n > 0 && !bytes.empty(); --n) {
    const std::size_t at = random() % bytes.size();
    const std::size_t length = random() % 8;
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(random() % bytes.size(), length));
        break;
      default:
        bytes[at] = static_cast<char>(random() % 2 == 0 ? 0xff : 0);
    }
  }
  return bytes;
}

// Bytes at the very end of their memory, so that reading on is seen.
class Tight {
 public:
  explicit Tight(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {}

  std::span<const std::byte> span() const {
    return std::as_bytes(std::span(bytes_));
  }
  std::string_view text() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;
};

void parse_as_record(std::string_view bytes) {
  const Tight tight(bytes);
  const auto size = record_bytes(tight.span());
  for (const auto check : {PayloadCheck::none, PayloadCheck::word}) {
    const auto record = parse_tensor_record(tight.span(), check);
    if (record) {
      ASSERT_LE(*size, bytes.size());
    }
  }
}

void parse_as_text(std::string_view bytes) {
  const Tight tight(bytes);
  (void)parse_index_file(tight.text(), IndexParts::everything);
  (void)parse_index_file(tight.text(), IndexParts::locations);
  (void)parse_collections_file(tight.text());
  (void)parse_run_file(tight.text());
  (void)parse_facts_file(tight.text());
  (void)parse_series_file(tight.text());
}

TEST(DamagedRecord, DoesNoHarm) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  const std::string sound = sample_records();
  for (int i = 0; i < kMutations; ++i) {
    std::string bytes = mutate(sound, random);
    parse_as_record(bytes);
    // With the length word as it was, the damage reaches the message.
    bytes.replace(0, std::min<std::size_t>(bytes.size(), 12), sound, 0, 12);
    parse_as_record(bytes);
  }
}

TEST(DamagedRecord, ThatEndsEarlyIsRefused) {
  const std::string records = sample_records();
  const auto first = record_bytes(Tight(records).span());
  ASSERT_TRUE(first);
  for (std::size_t n = 0; n < *first; ++n) {
    const Tight torn(records.substr(0, n));
    ASSERT_FALSE(parse_tensor_record(torn.span(), PayloadCheck::none)) << n;
  }
}

TEST(DamagedText, DoesNoHarm) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  const std::vector<std::string> sound = {sample_index(), sample_collections(),
                                          sample_run(), sample_facts(),
                                          sample_series()};
  for (int i = 0; i < kMutations; ++i) {
    parse_as_text(mutate(sound[random() % sound.size()], random));
  }
}

TEST(DamagedText, ThatEndsEarlyIsRefused) {
  const std::string index = sample_index();
  for (std::size_t n = 0; n < index.size(); ++n) {
    ASSERT_FALSE(parse_index_file(Tight(index.substr(0, n)).text(),
                                  IndexParts::everything))
        << n;
  }
  for (const std::string& text : {sample_collections(), sample_run()}) {
    const std::size_t end = text.rfind('}');
    for (std::size_t n = 0; n < end; ++n) {
      const Tight torn(text.substr(0, n));
      ASSERT_FALSE(parse_collections_file(torn.text())) << n;
      ASSERT_FALSE(parse_run_file(torn.text())) << n;
    }
  }
}

}  // namespace
}  // namespace smdebug
