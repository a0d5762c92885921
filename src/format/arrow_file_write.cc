// Writes an Arrow IPC file: the magic, a schema, a batch for each dictionary,
// one batch of columns, and a footer with the position of each.

#include <array>

#include <fmt/format.h>

#include "base/crc32c.h"
#include "format/arrow_file.h"
#include "format/arrow_layout.h"

namespace smdebug {

namespace {

constexpr std::size_t padded(std::size_t size) {
  return (size + kArrowAlignment - 1) / kArrowAlignment * kArrowAlignment;
}

void pad(std::string& bytes) { bytes.resize(padded(bytes.size())); }

template <typename T>
void append_number(T number, std::string& out) {
  std::array<char, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  out.append(bytes.data(), bytes.size());
}

}  // namespace

void ArrowColumn::append(const void* value, std::size_t size, bool is_valid) {
  values_.append(static_cast<const char*>(value), size);
  if (rows_ % 8 == 0) validity_.push_back(0);
  if (is_valid) {
    validity_.back() = static_cast<char>(
        static_cast<unsigned char>(validity_.back()) | 1u << (rows_ % 8));
  } else {
    ++null_count_;
  }
  ++rows_;
}

void ArrowColumn::add_text(std::string_view text) {
  const auto code = static_cast<std::int32_t>(dictionary_.size());
  const auto [place, is_new] = dictionary_.try_emplace(std::string(text), code);
  if (is_new) {
    dictionary_text_ += text;
    dictionary_offsets_.push_back(
        static_cast<std::int32_t>(dictionary_text_.size()));
  }
  append(&place->second, sizeof place->second, true);
}

void ArrowColumn::add_null() {
  constexpr std::array<char, 8> kZero = {};
  append(kZero.data(), value_bytes(type_), false);
}

class ArrowWriter {
 public:
  explicit ArrowWriter(std::span<const ArrowColumn> columns)
      : columns_(columns) {
    out_ = kArrowMagic;
    pad(out_);
  }

  std::string write(
      std::span<const std::pair<std::string, std::string>> metadata) {
    write_schema(metadata);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].type() == ArrowType::text) write_dictionary(i);
    }
    write_columns();
    append_number(kArrowContinuation, out_);
    append_number(std::int32_t{0}, out_);  // the end of the messages
    write_footer(metadata);
    return std::move(out_);
  }

 private:
  using Builder = flatbuffers::FlatBufferBuilder;

  static std::pair<arrow::Type, flatbuffers::Offset<void>> type_of(
      ArrowType type, Builder& builder) {
    switch (type) {
      case ArrowType::int64:
        return {arrow::Type::Int, arrow::CreateInt(builder, 64, true).Union()};
      case ArrowType::uint64:
        return {arrow::Type::Int, arrow::CreateInt(builder, 64, false).Union()};
      case ArrowType::uint32:
        return {arrow::Type::Int, arrow::CreateInt(builder, 32, false).Union()};
      case ArrowType::float64:
        return {arrow::Type::FloatingPoint,
                arrow::CreateFloatingPoint(builder, arrow::Precision::DOUBLE)
                    .Union()};
      case ArrowType::text:
        return {arrow::Type::Utf8, arrow::CreateUtf8(builder).Union()};
    }
    return {};
  }

  flatbuffers::Offset<arrow::Schema> schema(
      std::span<const std::pair<std::string, std::string>> metadata,
      Builder& builder) const {
    std::vector<flatbuffers::Offset<arrow::Field>> fields;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const ArrowColumn& column = columns_[i];
      flatbuffers::Offset<arrow::DictionaryEncoding> dictionary;
      if (column.type() == ArrowType::text) {
        dictionary = arrow::CreateDictionaryEncoding(
            builder, static_cast<std::int64_t>(i),
            arrow::CreateInt(builder, 32, true));
      }
      const auto [kind, type] = type_of(column.type(), builder);
      const auto children = builder.CreateVector(
          std::vector<flatbuffers::Offset<arrow::Field>>());
      fields.push_back(
          arrow::CreateField(builder, builder.CreateString(column.name()), true,
                             kind, type, dictionary, children));
    }
    const auto all = builder.CreateVector(fields);
    return arrow::CreateSchema(builder, arrow::Endianness::Little, all,
                               key_values(metadata, builder));
  }

  static flatbuffers::Offset<
      flatbuffers::Vector<flatbuffers::Offset<arrow::KeyValue>>>
  key_values(std::span<const std::pair<std::string, std::string>> metadata,
             Builder& builder) {
    std::vector<flatbuffers::Offset<arrow::KeyValue>> all;
    for (const auto& [key, value] : metadata) {
      all.push_back(
          arrow::CreateKeyValueDirect(builder, key.c_str(), value.c_str()));
    }
    return builder.CreateVector(all);
  }

  void write_schema(
      std::span<const std::pair<std::string, std::string>> metadata) {
    Builder builder;
    const auto header = schema(metadata, builder);
    write_message(arrow::MessageHeader::Schema, header.Union(), {}, builder);
  }

  // The parts of a batch: `nodes` and `buffers` describe the body, which has
  // the bytes of `parts`, each padded.
  struct Body {
    std::vector<arrow::FieldNode> nodes;
    std::vector<arrow::Buffer> buffers;
    std::vector<std::string_view> parts;
    std::size_t size = 0;

    void add(std::string_view part) {
      buffers.emplace_back(static_cast<std::int64_t>(size),
                           static_cast<std::int64_t>(part.size()));
      parts.push_back(part);
      size += padded(part.size());
    }
  };

  static flatbuffers::Offset<arrow::RecordBatch> batch(std::size_t rows,
                                                       const Body& body,
                                                       Builder& builder) {
    const auto nodes = builder.CreateVectorOfStructs(body.nodes);
    const auto buffers = builder.CreateVectorOfStructs(body.buffers);
    return arrow::CreateRecordBatch(builder, static_cast<std::int64_t>(rows),
                                    nodes, buffers);
  }

  void write_dictionary(std::size_t i) {
    const ArrowColumn& column = columns_[i];
    const std::vector<std::int32_t>& offsets = column.dictionary_offsets();
    const std::size_t entries = offsets.size() - 1;
    Body body;
    body.nodes.emplace_back(static_cast<std::int64_t>(entries), 0);
    body.add("");  // none is null
    body.add({reinterpret_cast<const char*>(offsets.data()),
              offsets.size() * sizeof offsets[0]});
    body.add(column.dictionary_text());
    Builder builder;
    const auto header = arrow::CreateDictionaryBatch(
        builder, static_cast<std::int64_t>(i), batch(entries, body, builder));
    dictionaries_.push_back(write_message(arrow::MessageHeader::DictionaryBatch,
                                          header.Union(), body, builder));
  }

  void write_columns() {
    const std::size_t rows = columns_.empty() ? 0 : columns_.front().rows();
    Body body;
    for (const ArrowColumn& column : columns_) {
      body.nodes.emplace_back(static_cast<std::int64_t>(rows),
                              static_cast<std::int64_t>(column.null_count()));
      body.add(column.null_count() == 0 ? std::string_view()
                                        : column.validity());
      body.add(column.values());
    }
    Builder builder;
    const auto header = batch(rows, body, builder);
    batches_.push_back(write_message(arrow::MessageHeader::RecordBatch,
                                     header.Union(), body, builder));
  }

  arrow::Block write_message(arrow::MessageHeader kind,
                             flatbuffers::Offset<void> header, const Body& body,
                             Builder& builder) {
    builder.Finish(arrow::CreateMessage(builder, arrow::MetadataVersion::V5,
                                        kind, header,
                                        static_cast<std::int64_t>(body.size)));
    const auto start = static_cast<std::int64_t>(out_.size());
    std::string metadata(
        reinterpret_cast<const char*>(builder.GetBufferPointer()),
        builder.GetSize());
    pad(metadata);
    append_number(kArrowContinuation, out_);
    append_number(static_cast<std::int32_t>(metadata.size()), out_);
    out_ += metadata;
    out_.reserve(out_.size() + body.size);
    for (const std::string_view part : body.parts) {
      out_ += part;
      pad(out_);
    }
    return {start, static_cast<std::int32_t>(metadata.size() + 8),
            static_cast<std::int64_t>(body.size)};
  }

  void write_footer(
      std::span<const std::pair<std::string, std::string>> metadata) {
    Builder builder;
    const auto fields = schema(metadata, builder);
    const auto dictionaries = builder.CreateVectorOfStructs(dictionaries_);
    const auto batches = builder.CreateVectorOfStructs(batches_);
    const std::pair<std::string, std::string> checksum = {
        kArrowChecksumKey,
        fmt::format("{:08x}", crc32c(std::as_bytes(std::span(out_))))};
    const auto checksums = key_values({&checksum, 1}, builder);
    builder.Finish(arrow::CreateFooter(builder, arrow::MetadataVersion::V5,
                                       fields, dictionaries, batches,
                                       checksums));
    out_.append(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                builder.GetSize());
    append_number(static_cast<std::int32_t>(builder.GetSize()), out_);
    out_ += kArrowMagic;
  }

  std::span<const ArrowColumn> columns_;
  std::string out_;
  std::vector<arrow::Block> dictionaries_, batches_;
};

std::string write_arrow_file(
    std::span<const ArrowColumn> columns,
    std::span<const std::pair<std::string, std::string>> metadata) {
  return ArrowWriter(columns).write(metadata);
}

}  // namespace smdebug
