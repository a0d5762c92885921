#include "format/tensorboard_record.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "base/crc32c.h"
#include "base/regex.h"
#include "core/worker_name.h"
#include "format/protobuf_fields.h"

namespace smdebug {
namespace {

// The messages are those of docs/format.md "TensorBoard files".
enum Key : char {
  kEventGraph = 0x22,
  kValueNumber = 0x15,
  kValueHistogram = 0x2a,
  kHistogramMin = 0x09,
  kHistogramMax = 0x11,
  kHistogramCount = 0x19,
  kHistogramSum = 0x21,
  kHistogramSumSquares = 0x29,
  kHistogramLimits = 0x32,
  kHistogramBuckets = 0x3a,
};

// Leaves out a field that is 0, but not -0.0.
void append_double(char key, double value, std::string& out) {
  if (std::bit_cast<std::uint64_t>(value) == 0) return;
  out.push_back(key);
  append_number(value, out);
}

void append_doubles(char key, std::span<const double> values,
                    std::string& out) {
  append_field(
      key, {reinterpret_cast<const char*>(values.data()), values.size_bytes()},
      out);
}

// The fields of an event before its content.
std::string event_head(double wall_seconds, Step step) {
  std::string head;
  append_double(kEventWallTime, wall_seconds, head);
  if (step != 0) {
    head.push_back(kEventStep);
    append_varint(static_cast<std::uint64_t>(step), head);
  }
  return head;
}

// Appends an event of two parts with its framing.
void append_event(std::string_view head, std::string_view content,
                  std::string& out) {
  const std::uint64_t length = head.size() + content.size();
  append_number(length, out);
  append_number(mask_crc32c(crc32c(std::as_bytes(std::span(&length, 1)))), out);
  const std::size_t start = out.size();
  out.append(head).append(content);
  const auto message = std::as_bytes(std::span(out)).subspan(start);
  append_number(mask_crc32c(crc32c(message)), out);
}

// `content` is the Value without its tag.
void append_record(std::string_view tag, std::string_view content,
                   double wall_seconds, Step step, std::string& out) {
  std::string head = event_head(wall_seconds, step);
  const std::uint64_t value_bytes = field_bytes(tag.size()) + content.size();
  append_field_head(kEventSummary, field_bytes(value_bytes), head);
  append_field_head(kSummaryValue, value_bytes, head);
  append_field(kValueTag, tag, head);
  append_event(head, content, out);
}

// Returns the size of the UTF-8 character at the start of `text`, 1 if there is
// none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const auto bytes = static_cast<std::size_t>(std::countl_one(byte(0)));
  if (bytes < 2 || bytes > 4 || bytes > text.size()) return 1;
  for (std::size_t i = 1; i < bytes; ++i)
    if (std::countl_one(byte(i)) != 1) return 1;
  return bytes;
}

bool is_kept(std::string_view character) {
  // Uses the same definition of a letter as regular expressions of the user.
  static const Regex kept = *Regex::compile(R"(^[-/\w.]\Z)");
  const auto found = kept.search(character);
  return found && *found;
}

}  // namespace

std::string clean_tag(std::string_view tag) {
  std::string clean;
  while (!tag.empty()) {
    const std::string_view character = tag.substr(0, character_bytes(tag));
    clean.append(is_kept(character) ? character : "_");
    tag.remove_prefix(character.size());
  }
  clean.erase(0, clean.find_first_not_of('/'));
  return clean;
}

void append_scalar_record(std::string_view tag, double value,
                          double wall_seconds, Step step, std::string& out) {
  std::string content(1, kValueNumber);
  append_number(static_cast<float>(value), content);
  append_record(tag, content, wall_seconds, step, out);
}

void append_histogram_record(std::string_view tag, const Histogram& histogram,
                             double wall_seconds, Step step, std::string& out) {
  std::string numbers;
  append_double(kHistogramMin, histogram.min, numbers);
  append_double(kHistogramMax, histogram.max, numbers);
  append_double(kHistogramCount, static_cast<double>(histogram.count), numbers);
  append_double(kHistogramSum, histogram.sum, numbers);
  append_double(kHistogramSumSquares, histogram.sum_squares, numbers);
  append_doubles(kHistogramLimits, histogram.limits, numbers);
  append_doubles(kHistogramBuckets, histogram.buckets, numbers);
  std::string content;
  append_field(kValueHistogram, numbers, content);
  append_record(tag, content, wall_seconds, step, out);
}

void append_summary_record(std::string_view summary, double wall_seconds,
                           Step step, std::string& out) {
  std::string head = event_head(wall_seconds, step);
  append_field_head(kEventSummary, summary.size(), head);
  append_event(head, summary, out);
}

void append_graph_record(std::string_view graph, double wall_seconds,
                         std::string& out) {
  std::string head = event_head(wall_seconds, 0);
  append_field_head(kEventGraph, graph.size(), head);
  append_event(head, graph, out);
}

std::string tensorboard_file_key(Mode mode, Step step,
                                 std::string_view writer) {
  return fmt::format("{}/{:012}_{}.tfevents", mode_name(mode), step, writer);
}

std::string TensorBoardFileName::key() const {
  return fmt::format(
      "{}/{}events.out.tfevents.{:010}.{}.{}.{:05}", mode_name(mode),
      worker.empty() ? "" : encode_worker(worker) + "/",
      static_cast<std::int64_t>(wall_seconds), host, process_id, number);
}

}  // namespace smdebug
