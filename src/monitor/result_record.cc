#include "smdebug/monitor/result_record.h"

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "smdebug/base/version.h"

#include "base/crc32c.h"

// The record: the version of smdebug as a string, then the members of the
// result in their order, then the CRC-32C of all that. A number takes eight
// bytes, little-endian; a string and a list begin with their length, and an
// optional value with 0 or 1.

namespace smdebug {
namespace {

static_assert(std::endian::native == std::endian::little);

// Each function passes all members of a type to `fields`, which writes or reads
// them. A new member does not compile until it is listed here.

template <typename Fields>
void each_member(StepId& step, Fields& fields) {
  auto& [global, mode, mode_step] = step;
  fields(global, mode, mode_step);
}

template <typename Fields>
void each_member(AdjacentLayer& layer, Fields& fields) {
  auto& [tensor, value] = layer;
  fields(tensor, value);
}

template <typename Fields>
void each_member(Evidence& evidence, Fields& fields) {
  auto& [tensor, worker, step, quantity, value, relation, threshold, before,
         after] = evidence;
  fields(tensor, worker, step, quantity, value, relation, threshold, before,
         after);
}

template <typename Fields>
void each_member(Verdict& verdict, Fields& fields) {
  auto& [rule, parameters, status, severity, kind, run, step, message, cause,
         advice, note, evidence, steps_judged, observations_found,
         observations_judged, lacks_data, stop_training, position] = verdict;
  fields(rule, parameters, status, severity, kind, run, step, message, cause,
         advice, note, evidence, steps_judged, observations_found,
         observations_judged, lacks_data, stop_training, position);
}

template <typename Fields>
void each_member(ActionResult& result, Fields& fields) {
  auto& [rule, action, target, status, message] = result;
  fields(rule, action, target, status, message);
}

template <typename Fields>
void each_member(Damage& damage, Fields& fields) {
  auto& [key, what, hides_tensors] = damage;
  fields(key, what, hides_tensors);
}

template <typename Fields>
void each_member(Error& error, Fields& fields) {
  auto& [code, message, detail, subject] = error;
  subject.reset();  // for exceptions in Python, which no result becomes
  fields(code, message, detail);
}

template <typename Fields>
void each_member(MonitorResult& result, Fields& fields) {
  auto& [location, steps, verdicts, actions, reports, damage, recording_failure,
         report_error, error] = result;
  fields(location, steps, verdicts, actions, reports, damage, recording_failure,
         report_error, error);
}

template <typename T>
concept Number = std::integral<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <typename... Values>
  void operator()(Values&... values) {
    (put(values), ...);
  }

  std::string bytes() && { return std::move(bytes_); }

 private:
  template <Number T>
  void put(T& number) {
    put_bits(static_cast<std::uint64_t>(number));
  }
  void put(double& number) { put_bits(std::bit_cast<std::uint64_t>(number)); }
  void put(std::string& text) { put_text(text); }
  template <typename T>
  void put(std::optional<T>& value) {
    put_bits(value.has_value());
    if (value) put(*value);
  }
  template <typename T>
  void put(std::vector<T>& values) {
    put_bits(values.size());
    for (T& value : values) put(value);
  }
  void put(std::map<std::string, std::string>& texts) {
    put_bits(texts.size());
    for (auto& [name, text] : texts) {
      put_text(name);
      put(text);
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void put(T& value) { each_member(value, *this); }

  void put_text(std::string_view text) {
    put_bits(text.size());
    bytes_ += text;
  }
  void put_bits(std::uint64_t bits) {
    bytes_.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }

  std::string bytes_;
};

// Beyond the end of the bytes, it reads zeros and is no longer whole.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (take(values), ...);
  }

  bool is_whole() const { return is_whole_; }
  bool is_at_end() const { return is_whole_ && bytes_.empty(); }

 private:
  template <Number T>
  void take(T& number) {
    number = static_cast<T>(take_bits());
  }
  void take(double& number) { number = std::bit_cast<double>(take_bits()); }
  void take(std::string& text) { text = take_bytes(take_bits()); }
  template <typename T>
  void take(std::optional<T>& value) {
    if (take_bits() != 0) take(value.emplace());
  }
  template <typename T>
  void take(std::vector<T>& values) {
    const std::uint64_t count = take_bits();
    for (std::uint64_t i = 0; i < count && is_whole_; ++i)
      take(values.emplace_back());
  }
  void take(std::map<std::string, std::string>& texts) {
    const std::uint64_t count = take_bits();
    for (std::uint64_t i = 0; i < count && is_whole_; ++i) {
      std::string name, text;
      (*this)(name, text);
      texts.emplace(std::move(name), std::move(text));
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void take(T& value) { each_member(value, *this); }

  std::uint64_t take_bits() {
    std::uint64_t bits = 0;
    const std::string_view bytes = take_bytes(sizeof bits);
    if (is_whole_) std::memcpy(&bits, bytes.data(), sizeof bits);
    return bits;
  }

  std::string_view take_bytes(std::uint64_t size) {
    if (size > bytes_.size()) {
      is_whole_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  bool is_whole_ = true;
};

std::string checksum_of(std::string_view bytes) {
  const std::uint32_t checksum = crc32c(std::as_bytes(std::span(bytes)));
  return {reinterpret_cast<const char*>(&checksum), sizeof checksum};
}

}  // namespace

std::string result_record(MonitorResult result) {
  Writer writer;
  std::string version = version_text();
  writer(version, result);
  std::string record = std::move(writer).bytes();
  return record + checksum_of(record);
}

Result<MonitorResult> parse_result_record(std::string_view record) {
  const Error corrupt = {Error::Code::corrupt,
                         "the result of another process is not complete"};
  if (record.size() < sizeof(std::uint32_t)) return corrupt;
  const std::size_t size = record.size() - sizeof(std::uint32_t);
  if (checksum_of(record.substr(0, size)) != record.substr(size))
    return corrupt;
  Reader reader(record.substr(0, size));
  std::string version;
  reader(version);
  if (reader.is_whole() && version != version_text()) {
    return Error{Error::Code::unsupported,
                 "was judged by " + version + ", but this program is " +
                     version_text() +
                     "; install the same version of smdebug on all machines"};
  }
  MonitorResult result;
  reader(result);
  if (!reader.is_at_end()) return corrupt;
  return result;
}

}  // namespace smdebug
