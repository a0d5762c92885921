#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/crc32c.h"
#include "format/arrow_file.h"
#include "format/arrow_layout.h"

namespace smdebug {

namespace {

// Of the start of a message: the continuation and the size.
constexpr std::size_t kPrefixBytes = 8;
// Of the end of the file: the size of the footer, and the magic.
constexpr std::size_t kTailBytes = 4 + kArrowMagic.size();

Error bad_file(std::string_view what) {
  return {Error::Code::corrupt, fmt::format("Arrow file: {}", what)};
}

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// The fields of a generated vector that may be missing.
template <typename T>
std::size_t size_of(const flatbuffers::Vector<T>* items) {
  return items == nullptr ? 0 : items->size();
}

// The same for structs, which the verifier does not align: none is usable if
// they are not.
template <typename T>
std::size_t size_of(const flatbuffers::Vector<const T*>* structs) {
  if (structs == nullptr) return 0;
  const auto address = reinterpret_cast<std::uintptr_t>(structs->Data());
  return address % alignof(T) == 0 ? structs->size() : 0;
}

std::optional<ArrowType> arrow_type_of(const arrow::Field& field) {
  if (field.dictionary() != nullptr) {
    return field.type_type() == arrow::Type::Utf8
               ? std::optional(ArrowType::text)
               : std::nullopt;
  }
  if (const arrow::Int* integer = field.type_as_Int()) {
    if (integer->bit_width() == 64) {
      return integer->is_signed() ? ArrowType::int64 : ArrowType::uint64;
    }
    if (integer->bit_width() == 32 && !integer->is_signed()) {
      return ArrowType::uint32;
    }
  }
  if (const arrow::FloatingPoint* real = field.type_as_FloatingPoint();
      real != nullptr && real->precision() == arrow::Precision::DOUBLE) {
    return ArrowType::float64;
  }
  return std::nullopt;
}

// A part of the body of a message. Null if it is outside of the body.
const std::byte* part_of(std::span<const std::byte> body,
                         const arrow::Buffer& buffer, std::size_t needed) {
  const auto start = static_cast<std::uint64_t>(buffer.offset());
  const auto size = static_cast<std::uint64_t>(buffer.length());
  const bool is_inside = start <= body.size() && size <= body.size() - start;
  return is_inside && size >= needed ? body.data() + start : nullptr;
}

}  // namespace

class ArrowParser {
 public:
  explicit ArrowParser(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<ArrowFile> parse() {
    SMD_CHECK_OK(check_footer());
    std::size_t at = kArrowAlignment;
    bool has_columns = false;
    while (at < messages_end_) {
      SMD_TRY(const Found found, message_at(at));
      if (found.message == nullptr) break;
      SMD_CHECK_OK(read(*found.message, found.body));
      has_columns |=
          found.message->header_type() == arrow::MessageHeader::RecordBatch;
      at = found.end;
    }
    if (!has_columns) return bad_file("it has no columns");
    return std::move(file_);
  }

 private:
  struct Found {
    const arrow::Message* message = nullptr;  // null: the end of the messages
    std::span<const std::byte> body;
    std::size_t end = 0;
  };

  // Compares the checksum. Sets where the footer begins.
  Status check_footer() {
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()),
                                bytes_.size());
    if (text.size() < kArrowAlignment + kTailBytes ||
        !text.starts_with(kArrowMagic) || !text.ends_with(kArrowMagic)) {
      return bad_file("it is none, or incomplete");
    }
    const auto size =
        number_at<std::uint32_t>(bytes_, text.size() - kTailBytes);
    if (size > text.size() - kArrowAlignment - kTailBytes) {
      return bad_file(fmt::format("its footer has {} bytes", size));
    }
    messages_end_ = text.size() - kTailBytes - size;
    SMD_TRY(const auto* footer, root_at<arrow::Footer>(messages_end_, size));
    const std::string crc =
        fmt::format("{:08x}", crc32c(bytes_.first(messages_end_)));
    for (std::size_t i = 0; i < size_of(footer->custom_metadata()); ++i) {
      const arrow::KeyValue* pair =
          footer->custom_metadata()->Get(static_cast<unsigned>(i));
      if (pair->key() == nullptr || pair->value() == nullptr ||
          pair->key()->string_view() != kArrowChecksumKey) {
        continue;
      }
      if (pair->value()->string_view() == crc) return {};
      return bad_file("its checksum does not match");
    }
    return bad_file("it has no checksum of smdebug");
  }

  // Returns a table of the file, valid until the next call.
  template <typename T>
  Result<const T*> root_at(std::size_t at, std::size_t size) {
    // A copy is aligned, as the generated code requires.
    root_.resize(size);
    if (size > 0) std::memcpy(root_.data(), bytes_.data() + at, size);
    flatbuffers::Verifier verifier(root_.data(), size);
    if (!verifier.VerifyBuffer<T>(nullptr)) {
      return bad_file(fmt::format("the table at byte {} is damaged", at));
    }
    return flatbuffers::GetRoot<T>(root_.data());
  }

  Result<Found> message_at(std::size_t at) {
    const std::size_t left = messages_end_ - at;
    if (left < kPrefixBytes ||
        number_at<std::uint32_t>(bytes_, at) != kArrowContinuation) {
      return bad_file(fmt::format("no message at byte {}", at));
    }
    const auto size = number_at<std::uint32_t>(bytes_, at + 4);
    if (size == 0) return Found{};
    if (size > left - kPrefixBytes) {
      return bad_file(fmt::format("a message at byte {} is cut short", at));
    }
    SMD_TRY(const auto* message,
            root_at<arrow::Message>(at + kPrefixBytes, size));
    const auto body_bytes = static_cast<std::uint64_t>(message->body_length());
    if (body_bytes > left - kPrefixBytes - size) {
      return bad_file(fmt::format("a body at byte {} is cut short", at));
    }
    const std::size_t body_start = at + kPrefixBytes + size;
    return Found{message, bytes_.subspan(body_start, body_bytes),
                 body_start + body_bytes};
  }

  Status read(const arrow::Message& message, std::span<const std::byte> body) {
    if (const arrow::Schema* schema = message.header_as_Schema()) {
      return read_schema(*schema);
    }
    if (const auto* dictionary = message.header_as_DictionaryBatch()) {
      return read_dictionary(*dictionary, body);
    }
    if (const arrow::RecordBatch* batch = message.header_as_RecordBatch()) {
      return read_columns(*batch, body);
    }
    return bad_file("a message of an unknown kind");
  }

  Status read_schema(const arrow::Schema& schema) {
    for (std::size_t i = 0; i < size_of(schema.fields()); ++i) {
      const arrow::Field* field =
          schema.fields()->Get(static_cast<unsigned>(i));
      const auto type = arrow_type_of(*field);
      if (!type || field->name() == nullptr) {
        return bad_file(fmt::format("column {} has a type of others", i));
      }
      ArrowColumnView& column = file_.columns_.emplace_back();
      column.name_ = field->name()->str();
      column.type_ = *type;
      dictionary_ids_.push_back(
          *type == ArrowType::text ? field->dictionary()->id() : -1);
    }
    return {};
  }

  Status read_dictionary(const arrow::DictionaryBatch& dictionary,
                         std::span<const std::byte> body) {
    const auto place =
        std::ranges::find(dictionary_ids_, std::int64_t{dictionary.id()});
    const arrow::RecordBatch* batch = dictionary.data();
    // Validity, offsets, text.
    if (dictionary.id() < 0 || place == dictionary_ids_.end() ||
        batch == nullptr || size_of(batch->buffers()) != 3) {
      return bad_file("a dictionary of no column");
    }
    const auto entries = static_cast<std::uint64_t>(batch->length());
    const arrow::Buffer& text = *batch->buffers()->Get(2);
    const std::byte* bytes = part_of(body, text, 0);
    const std::byte* offsets =
        entries >= body.size()
            ? nullptr
            : part_of(body, *batch->buffers()->Get(1), 4 * (entries + 1));
    if (bytes == nullptr || offsets == nullptr) {
      return bad_file("a dictionary outside of its message");
    }
    auto& into =
        file_
            .columns_[static_cast<std::size_t>(place - dictionary_ids_.begin())]
            .dictionary_;
    into.clear();
    std::int32_t start = 0;
    for (std::size_t i = 0; i < entries; ++i) {
      const auto end =
          number_at<std::int32_t>({offsets, 4 * (entries + 1)}, 4 * (i + 1));
      if (end < start || end > text.length()) {
        return bad_file("a dictionary whose texts overlap");
      }
      into.emplace_back(reinterpret_cast<const char*>(bytes) + start,
                        static_cast<std::size_t>(end - start));
      start = end;
    }
    return {};
  }

  Status read_columns(const arrow::RecordBatch& batch,
                      std::span<const std::byte> body) {
    const auto rows = static_cast<std::uint64_t>(batch.length());
    // Validity and values of each column.
    if (size_of(batch.buffers()) != 2 * file_.columns_.size() ||
        size_of(batch.nodes()) != file_.columns_.size() || rows > body.size()) {
      return bad_file("its columns are not those of its schema");
    }
    file_.rows_ = rows;
    for (unsigned i = 0; i < file_.columns_.size(); ++i) {
      ArrowColumnView& column = file_.columns_[i];
      if (batch.nodes()->Get(i)->null_count() != 0) {
        column.validity_ =
            part_of(body, *batch.buffers()->Get(2 * i), (rows + 7) / 8);
        if (column.validity_ == nullptr) {
          return bad_file(
              fmt::format("column '{}' is cut short", column.name_));
        }
      }
      column.values_ = part_of(body, *batch.buffers()->Get(2 * i + 1),
                               rows * value_bytes(column.type_));
      if (column.values_ == nullptr) {
        return bad_file(fmt::format("column '{}' is cut short", column.name_));
      }
      if (column.type_ == ArrowType::text) SMD_CHECK_OK(check_codes(column));
    }
    return {};
  }

  Status check_codes(const ArrowColumnView& column) const {
    for (std::size_t row = 0; row < file_.rows_; ++row) {
      if (!column.is_null(row) &&
          column.code(row) >= column.dictionary_.size()) {
        return bad_file(fmt::format("row {} of column '{}' has no text", row,
                                    column.name_));
      }
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  std::size_t messages_end_ = 0;
  std::vector<std::uint8_t> root_;
  ArrowFile file_;
  std::vector<std::int64_t> dictionary_ids_;  // of each column; -1: none
};

const ArrowColumnView* ArrowFile::find(std::string_view name,
                                       ArrowType type) const {
  const auto found = std::ranges::find_if(columns_, [&](const auto& column) {
    return column.name() == name && column.type() == type;
  });
  return found == columns_.end() ? nullptr : &*found;
}

Result<ArrowFile> parse_arrow_file(std::span<const std::byte> bytes) {
  return ArrowParser(bytes).parse();
}

}  // namespace smdebug
