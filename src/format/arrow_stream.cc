#include "format/arrow_stream.h"

#include <memory>
#include <utility>

namespace smdebug {
namespace {

using Columns = std::shared_ptr<const std::vector<ArrowColumn>>;

// The arrays and strings that an exported struct points to. It frees itself
// when the struct is released.
template <typename T>
struct Owner {
  Columns columns;
  std::vector<const void*> buffers;
  std::vector<T> children;
  std::vector<T*> pointers;
  std::unique_ptr<T> dictionary;
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
void own(std::unique_ptr<Owner<T>> owner, T& item) {
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

ArrowSchema schema_of(const Columns& columns, const char* format,
                      const char* name) {
  ArrowSchema schema = {};
  schema.format = format;
  schema.name = name;
  schema.flags = ARROW_FLAG_NULLABLE;
  auto owner = std::make_unique<Owner<ArrowSchema>>();
  owner->columns = columns;
  own(std::move(owner), schema);
  return schema;
}

ArrowSchema schema_of(const Columns& columns, const ArrowColumn& column) {
  ArrowSchema schema =
      schema_of(columns, format_of(column.type()), column.name().c_str());
  if (column.type() == ArrowType::text) {
    auto* owner = static_cast<Owner<ArrowSchema>*>(schema.private_data);
    owner->dictionary =
        std::make_unique<ArrowSchema>(schema_of(columns, "u", ""));
    schema.dictionary = owner->dictionary.get();
  }
  return schema;
}

void export_schema(const Columns& columns, ArrowSchema* out) {
  auto owner = std::make_unique<Owner<ArrowSchema>>();
  owner->columns = columns;
  for (const ArrowColumn& column : *columns) {
    owner->children.push_back(schema_of(columns, column));
  }
  *out = {};
  out->format = "+s";
  out->name = "";
  own(std::move(owner), *out);
}

ArrowArray array_of(const Columns& columns, std::size_t length,
                    std::vector<const void*> buffers) {
  ArrowArray array = {};
  array.length = static_cast<std::int64_t>(length);
  array.n_buffers = static_cast<std::int64_t>(buffers.size());
  auto owner = std::make_unique<Owner<ArrowArray>>();
  owner->columns = columns;
  owner->buffers = std::move(buffers);
  array.buffers = owner->buffers.data();
  own(std::move(owner), array);
  return array;
}

ArrowArray array_of(const Columns& columns, const ArrowColumn& column) {
  const void* validity =
      column.null_count() == 0 ? nullptr : column.validity().data();
  ArrowArray array =
      array_of(columns, column.rows(), {validity, column.values().data()});
  array.null_count = static_cast<std::int64_t>(column.null_count());
  if (column.type() == ArrowType::text) {
    auto* owner = static_cast<Owner<ArrowArray>*>(array.private_data);
    const auto& offsets = column.dictionary_offsets();
    owner->dictionary = std::make_unique<ArrowArray>(
        array_of(columns, offsets.size() - 1,
                 {nullptr, offsets.data(), column.dictionary_text().data()}));
    array.dictionary = owner->dictionary.get();
  }
  return array;
}

void export_array(const Columns& columns, ArrowArray* out) {
  *out = array_of(columns, columns->empty() ? 0 : columns->front().rows(),
                  {nullptr});
  auto* owner = static_cast<Owner<ArrowArray>*>(out->private_data);
  for (const ArrowColumn& column : *columns) {
    owner->children.push_back(array_of(columns, column));
  }
  for (ArrowArray& child : owner->children) owner->pointers.push_back(&child);
  out->n_children = static_cast<std::int64_t>(owner->children.size());
  out->children = owner->pointers.data();
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
    export_schema(stream_of(self).columns, out);
    return 0;
  };
  stream->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    Stream& own = stream_of(self);
    *out = {};  // released: the end
    if (!std::exchange(own.is_at_end, true)) export_array(own.columns, out);
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
