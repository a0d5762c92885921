#include "format/arrow_stream.h"

#include <memory>
#include <utility>

namespace smdebug {
namespace {

using Columns = std::shared_ptr<const std::vector<ArrowColumn>>;

// All that an exported struct points to. Lives until the struct is released.
template <typename T>
struct Owner {
  Columns columns;
  std::vector<const void*> buffers;
  std::vector<T> children;
  std::unique_ptr<T> dictionary;
  std::vector<T*> pointers;  // to the children
};

template <typename T>
void release(T* item) {
  const std::unique_ptr<Owner<T>> owner(
      static_cast<Owner<T>*>(item->private_data));
  for (T& child : owner->children) {
    if (child.release) child.release(&child);
  }
  if (owner->dictionary && owner->dictionary->release) {
    owner->dictionary->release(owner->dictionary.get());
  }
  item->release = nullptr;
}

// Gives `item` its owner, and sets what points into the owner.
template <typename T>
void own(Owner<T> contents, T& item) {
  auto owner = std::make_unique<Owner<T>>(std::move(contents));
  for (T& child : owner->children) owner->pointers.push_back(&child);
  item.n_children = static_cast<std::int64_t>(owner->children.size());
  item.children = owner->pointers.data();
  item.dictionary = owner->dictionary.get();
  item.release = release<T>;
  item.private_data = owner.release();
}

const char* format_of(ArrowType type) {
  switch (type) {
    case ArrowType::int64:
      return "l";
    case ArrowType::uint64:
      return "L";
    case ArrowType::uint32:
      return "I";
    case ArrowType::float64:
      return "g";
    case ArrowType::text:
      return "i";  // positions in a dictionary
  }
  return "n";
}

ArrowSchema schema_of(const char* format, const char* name,
                      Owner<ArrowSchema> contents) {
  ArrowSchema schema = {};
  schema.format = format;
  schema.name = name;
  schema.flags = ARROW_FLAG_NULLABLE;
  own(std::move(contents), schema);
  return schema;
}

ArrowSchema schema_of(const Columns& columns, const ArrowColumn& column) {
  Owner<ArrowSchema> contents = {columns};
  if (column.type() == ArrowType::text) {
    contents.dictionary =
        std::make_unique<ArrowSchema>(schema_of("u", "", {columns}));
  }
  return schema_of(format_of(column.type()), column.name().c_str(),
                   std::move(contents));
}

ArrowSchema schema_of(const Columns& columns) {
  Owner<ArrowSchema> contents = {columns};
  for (const ArrowColumn& column : *columns) {
    contents.children.push_back(schema_of(columns, column));
  }
  ArrowSchema schema = schema_of("+s", "", std::move(contents));
  schema.flags = 0;  // no row is null
  return schema;
}

ArrowArray array_of(std::size_t length, std::size_t null_count,
                    Owner<ArrowArray> contents) {
  ArrowArray array = {};
  array.length = static_cast<std::int64_t>(length);
  array.null_count = static_cast<std::int64_t>(null_count);
  array.n_buffers = static_cast<std::int64_t>(contents.buffers.size());
  // Moving a vector leaves its elements where they are.
  array.buffers = contents.buffers.data();
  own(std::move(contents), array);
  return array;
}

ArrowArray array_of(const Columns& columns, const ArrowColumn& column) {
  const void* validity =
      column.null_count() == 0 ? nullptr : column.validity().data();
  Owner<ArrowArray> contents = {columns, {validity, column.values().data()}};
  if (column.type() == ArrowType::text) {
    const auto& offsets = column.dictionary_offsets();
    contents.dictionary = std::make_unique<ArrowArray>(array_of(
        offsets.size() - 1, 0,
        {columns, {nullptr, offsets.data(), column.dictionary_text().data()}}));
  }
  return array_of(column.rows(), column.null_count(), std::move(contents));
}

ArrowArray array_of(const Columns& columns) {
  Owner<ArrowArray> contents = {columns, {nullptr}};
  for (const ArrowColumn& column : *columns) {
    contents.children.push_back(array_of(columns, column));
  }
  const std::size_t rows = columns->empty() ? 0 : columns->front().rows();
  return array_of(rows, 0, std::move(contents));
}

struct Stream {
  Columns columns;
  bool is_at_end = false;
};

Stream& stream_of(ArrowArrayStream* stream) {
  return *static_cast<Stream*>(stream->private_data);
}

}  // namespace

void export_arrow_stream(std::vector<ArrowColumn> columns,
                         ArrowArrayStream* stream) {
  stream->private_data = new Stream{
      std::make_shared<const std::vector<ArrowColumn>>(std::move(columns))};
  stream->get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    *out = schema_of(stream_of(self).columns);
    return 0;
  };
  stream->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    Stream& own = stream_of(self);
    *out = {};  // released: the end
    if (!std::exchange(own.is_at_end, true)) *out = array_of(own.columns);
    return 0;
  };
  stream->get_last_error = [](ArrowArrayStream*) -> const char* {
    return nullptr;
  };
  stream->release = [](ArrowArrayStream* self) {
    delete &stream_of(self);
    self->release = nullptr;
  };
}

}  // namespace smdebug
