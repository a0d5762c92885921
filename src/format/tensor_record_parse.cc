#include <charconv>
#include <cstring>
#include <optional>
#include <protozero/pbf_reader.hpp>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/crc32c.h"
#include "format/tensor_record.h"

namespace smdebug {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kBytes = pbf_wire_type::length_delimited;
constexpr auto kVarint = pbf_wire_type::varint;
constexpr auto kFixed32 = pbf_wire_type::fixed32;
constexpr auto kFixed64 = pbf_wire_type::fixed64;

// The field of a TensorProto that stores the elements of a dtype one by one:
// its number, its wire type, and the number of low bytes of each value to keep.
// A complex element is two values.
struct ValuesField {
  protozero::pbf_tag_type tag;
  pbf_wire_type wire;
  std::size_t bytes;
};

std::optional<ValuesField> values_field(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return ValuesField{5, kFixed32, 4};
    case DType::float64:
      return ValuesField{6, kFixed64, 8};
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::uint8:
    case DType::uint16:
      return ValuesField{7, kVarint, dtype_bytes(dtype)};
    case DType::complex64:
      return ValuesField{9, kFixed32, 4};
    case DType::int64:
      return ValuesField{10, kVarint, 8};
    case DType::boolean:
      return ValuesField{11, kVarint, 1};
    case DType::complex128:
      return ValuesField{12, kFixed64, 8};
    case DType::float16:
    case DType::bfloat16:
      return ValuesField{13, kVarint, 2};
    case DType::uint32:
      return ValuesField{16, kVarint, 4};
    case DType::uint64:
      return ValuesField{17, kVarint, 8};
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return ValuesField{18, kBytes, 1};
    case DType::string:
    case DType::bytes:
      return std::nullopt;
  }
  return std::nullopt;
}

Error corrupt(std::string message) {
  return {Error::Code::corrupt, "tensor record: " + std::move(message)};
}

Error unsupported(std::string message) {
  return {Error::Code::unsupported, "tensor record: " + std::move(message)};
}

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view text_of(protozero::data_view view) {
  return {view.data(), view.size()};
}

void append_low_bytes(std::uint64_t value, std::size_t n,
                      std::vector<std::byte>& out) {
  const auto bytes = std::as_bytes(std::span(&value, 1)).first(n);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Parses the nested messages of one event, outermost first. `parse` catches
// protozero's exceptions; `at_` is then the position of the faulty field.
class EventParser {
 public:
  explicit EventParser(std::span<const std::byte> message)
      : message_(reinterpret_cast<const char*>(message.data()),
                 message.size()) {}

  Result<TensorRecord> parse() {
    try {
      SMD_CHECK_OK(parse_event(pbf_reader(message_.data(), message_.size())));
    } catch (const protozero::exception& error) {
      return corrupt(fmt::format("expected a field at byte {}, found {}",
                                 kRecordHeadBytes + at_, error.what()));
    }
    return std::move(record_);
  }

 private:
  // Advances to the next field and stores its position.
  bool next(pbf_reader& reader) {
    at_ = static_cast<std::size_t>(reader.data().data() - message_.data());
    return reader.next();
  }

  Status parse_event(pbf_reader event) {
    bool has_tensor = false;
    record_.step.global = 0;  // writers leave out a step of 0
    while (next(event)) {
      switch (event.tag_and_type()) {
        case tag_and_type(1, kFixed64):
          record_.wall_seconds = event.get_double();
          break;
        case tag_and_type(2, kVarint):
          record_.step.global = event.get_int64();
          break;
        case tag_and_type(5, kBytes): {
          SMD_TRY(has_tensor, parse_summary(event.get_message()));
          break;
        }
        default:
          event.skip();
      }
    }
    if (!has_tensor) return unsupported("the event contains no tensor");
    if (!has_mode_step_) record_.step.mode_step = record_.step.global;
    return {};
  }

  // Returns whether there is a tensor. Writers produce one value per summary.
  Result<bool> parse_summary(pbf_reader summary) {
    while (next(summary)) {
      if (summary.tag_and_type() == tag_and_type(1, kBytes)) {
        return parse_value(summary.get_message());
      }
      summary.skip();
    }
    return false;
  }

  Result<bool> parse_value(pbf_reader value) {
    bool has_tensor = false;
    while (next(value)) {
      switch (value.tag_and_type()) {
        case tag_and_type(1, kBytes):
          record_.tag = text_of(value.get_view());
          break;
        case tag_and_type(8, kBytes):
          SMD_CHECK_OK(parse_tensor(value.get_message()));
          has_tensor = true;
          break;
        case tag_and_type(9, kBytes):
          SMD_CHECK_OK(parse_metadata(value.get_message()));
          break;
        default:
          value.skip();
      }
    }
    return has_tensor;
  }

  Status parse_tensor(pbf_reader tensor) {
    const pbf_reader fields = tensor;
    std::uint64_t number = 0;
    std::string_view content;
    record_.shape.clear();
    record_.strings.clear();
    while (next(tensor)) {
      switch (tensor.tag_and_type()) {
        case tag_and_type(1, kVarint):
          number = tensor.get_uint64();
          break;
        case tag_and_type(2, kBytes):
          SMD_CHECK_OK(parse_shape(tensor.get_message()));
          break;
        case tag_and_type(4, kBytes):
          content = text_of(tensor.get_view());
          break;
        case tag_and_type(8, kBytes):
          record_.strings.emplace_back(text_of(tensor.get_view()));
          break;
        default:
          tensor.skip();
      }
    }
    const auto dtype = find_dtype_number(number);
    if (!dtype) return unsupported(fmt::format("dtype number {}", number));
    record_.dtype = *dtype;
    if (is_string(*dtype)) return check_strings(content);
    return set_payload(content, fields);
  }

  Status parse_shape(pbf_reader shape) {
    while (next(shape)) {
      if (shape.tag_and_type() != tag_and_type(2, kBytes)) {
        shape.skip();
        continue;
      }
      if (record_.shape.size() == kMaxDims) {
        return corrupt(fmt::format("expected at most {} dimensions, found more",
                                   kMaxDims));
      }
      pbf_reader dim = shape.get_message();
      std::int64_t extent = 0;
      while (next(dim)) {
        if (dim.tag_and_type() == tag_and_type(1, kVarint)) {
          extent = dim.get_int64();
        } else {
          dim.skip();
        }
      }
      record_.shape.push_back(extent);
    }
    return {};
  }

  Status check_strings(std::string_view content) {
    const auto size = checked_element_count(record_.shape);
    if (!content.empty() || !size ||
        static_cast<std::size_t>(*size) != record_.strings.size()) {
      return corrupt(
          fmt::format("tensor '{}' has {} strings and {} bytes for shape [{}]",
                      record_.tag, record_.strings.size(), content.size(),
                      fmt::join(record_.shape, ", ")));
    }
    return {};
  }

  Status set_payload(std::string_view content, const pbf_reader& fields) {
    record_.strings.clear();
    record_.payload = std::as_bytes(std::span(content));
    if (content.empty()) {
      SMD_CHECK_OK(decode_values(fields));
      record_.payload = record_.decoded_payload;
    }
    const auto size = checked_element_count(record_.shape);
    const std::uint64_t element_bytes = dtype_bytes(record_.dtype);
    const std::uint64_t found = record_.payload.size();
    if (!size || found % element_bytes != 0 ||
        found / element_bytes != static_cast<std::uint64_t>(*size)) {
      return corrupt(fmt::format(
          "tensor '{}' has {} bytes for {} elements of shape [{}]", record_.tag,
          found, dtype_name(record_.dtype), fmt::join(record_.shape, ", ")));
    }
    return {};
  }

  // Decodes elements that were written one by one, packed or not.
  Status decode_values(pbf_reader tensor) {
    record_.decoded_payload.clear();
    const auto field = values_field(record_.dtype);
    if (!field) return {};
    while (next(tensor)) {
      if (tensor.tag() != field->tag) {
        tensor.skip();
      } else if (tensor.wire_type() == kBytes) {
        SMD_CHECK_OK(decode_packed(text_of(tensor.get_view()), *field));
      } else if (tensor.wire_type() != field->wire) {
        tensor.skip();
      } else if (field->wire == kFixed32) {
        append_value(tensor.get_fixed32(), *field);
      } else if (field->wire == kFixed64) {
        append_value(tensor.get_fixed64(), *field);
      } else {
        append_value(tensor.get_uint64(), *field);
      }
    }
    return {};
  }

  Status decode_packed(std::string_view packed, const ValuesField& field) {
    const char* at = packed.data();
    const char* const end = at + packed.size();
    if (field.wire == kVarint) {
      while (at != end) {
        append_value(protozero::decode_varint(&at, end), field);
      }
      return {};
    }
    if (packed.size() % field.bytes != 0) {
      return corrupt(
          fmt::format("expected whole values at byte {}, found {} "
                      "bytes for values of {}",
                      kRecordHeadBytes + at_, packed.size(), field.bytes));
    }
    const auto bytes = std::as_bytes(std::span(packed));
    record_.decoded_payload.insert(record_.decoded_payload.end(), bytes.begin(),
                                   bytes.end());
    return {};
  }

  void append_value(std::uint64_t value, const ValuesField& field) {
    if (record_.dtype == DType::boolean) value = value != 0;
    append_low_bytes(value, field.bytes, record_.decoded_payload);
  }

  Status parse_metadata(pbf_reader metadata) {
    while (next(metadata)) {
      if (metadata.tag_and_type() != tag_and_type(1, kBytes)) {
        metadata.skip();
        continue;
      }
      pbf_reader plugin = metadata.get_message();
      std::string_view name, content;
      while (next(plugin)) {
        switch (plugin.tag_and_type()) {
          case tag_and_type(1, kBytes):
            name = text_of(plugin.get_view());
            break;
          case tag_and_type(2, kBytes):
            content = text_of(plugin.get_view());
            break;
          default:
            plugin.skip();
        }
      }
      SMD_CHECK_OK(set_metadata(name, content));
    }
    return {};
  }

  Status set_metadata(std::string_view name, std::string_view content) {
    if (name != "mode" && name != "mode_step") return {};
    std::int64_t number = 0;
    const char* const end = content.data() + content.size();
    const auto parsed = std::from_chars(content.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return corrupt(
          fmt::format("expected a number as '{}', found '{}'", name, content));
    }
    if (name == "mode_step") {
      record_.step.mode_step = number;
      has_mode_step_ = true;
      return {};
    }
    if (number < 1 || number > static_cast<std::int64_t>(kModes.size())) {
      return corrupt(fmt::format("expected a mode from 1 to {}, found {}",
                                 kModes.size(), number));
    }
    record_.step.mode = static_cast<Mode>(number);
    return {};
  }

  std::string_view message_;
  std::size_t at_ = 0;
  TensorRecord record_;
  bool has_mode_step_ = false;
};

Status check_payload_word(std::span<const std::byte> record,
                          std::span<const std::byte> message) {
  const auto word =
      load<std::uint32_t>(record, kRecordHeadBytes + message.size());
  if (word == kConstantPayloadWord) return {};
  if (word == mask_crc32c(crc32c(message))) return {};
  return corrupt(fmt::format("the checksum at byte {} does not match",
                             kRecordHeadBytes + message.size()));
}

}  // namespace

Result<std::uint64_t> record_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < kRecordHeadBytes) {
    return corrupt(fmt::format("expected a head of {} bytes, found {}",
                               kRecordHeadBytes, bytes.size()));
  }
  const auto length = load<std::uint64_t>(bytes, 0);
  const auto word = load<std::uint32_t>(bytes, sizeof(length));
  if (word != mask_crc32c(crc32c(bytes.first(sizeof(length))))) {
    return corrupt(
        fmt::format("the checksum of its length {} does not match", length));
  }
  if (length > UINT64_MAX - kRecordHeadBytes - kRecordTailBytes) {
    return corrupt(
        fmt::format("length {} exceeds the size of any file", length));
  }
  return kRecordHeadBytes + length + kRecordTailBytes;
}

Result<TensorRecord> parse_tensor_record(std::span<const std::byte> bytes,
                                         PayloadCheck check) {
  SMD_TRY(const std::uint64_t size, record_bytes(bytes));
  if (size > bytes.size()) {
    return corrupt(
        fmt::format("expected {} bytes, found {}", size, bytes.size()));
  }
  const auto message = bytes.subspan(
      kRecordHeadBytes, size - kRecordHeadBytes - kRecordTailBytes);
  if (check == PayloadCheck::word) {
    SMD_CHECK_OK(check_payload_word(bytes, message));
  }
  return parse_tensor_message(message);
}

Result<TensorRecord> parse_tensor_message(std::span<const std::byte> message) {
  return EventParser(message).parse();
}

}  // namespace smdebug
