// Exports columns through the Arrow C data interface. Python describes a column as a tree of nodes
// (columns/arrow_export.py); here the tree becomes capsules that hold the nodes' buffers, without a copy, until the
// consumer releases them.
#include "core/columns/arrow.h"

#include <nanobind/stl/string.h>

#include <cerrno>
#include <memory>
#include <new>
#include <vector>

#include "bindings/bindings.h"

namespace penstock::bindings {
namespace {

// What an exported array owns. A consumer may move a child out of its parent, so each array has its own parts.
struct ArrayParts {
  std::vector<std::unique_ptr<BytesView>> held;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;

  ~ArrayParts() {
    for (ArrowArray& child : children)
      if (child.release != nullptr) child.release(&child);
  }
};

// Consumers release arrays from any thread, some after the interpreter has ended: then the memory is leaked.
void release_array(ArrowArray* array) {
  array->release = nullptr;
  if (Py_IsInitialized() == 0 || is_finalizing_elsewhere()) return;
  const AcquiredGil taken;
  delete static_cast<ArrayParts*>(array->private_data);
}

ArrowField field_of(nb::handle node) {
  ArrowField field{nb::cast<std::string>(node.attr("format")),
                   nb::cast<std::string>(node.attr("name")),
                   nb::cast<bool>(node.attr("nullable")),
                   {}};
  for (const nb::handle child : nb::cast<nb::tuple>(node.attr("children"))) field.children.push_back(field_of(child));
  return field;
}

const void* address_of(const BytesView& view) {
  // Consumers treat a null pointer as an absent buffer, so an empty buffer needs an address.
  alignas(64) static const std::byte nothing[64] = {};
  return view.bytes().data() == nullptr ? nothing : view.bytes().data();
}

void export_array(nb::handle node, ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  for (const nb::handle buffer : nb::cast<nb::tuple>(node.attr("buffers"))) {
    if (buffer.is_none()) {
      parts->buffers.push_back(nullptr);
    } else {
      parts->held.push_back(std::make_unique<BytesView>(buffer));
      parts->buffers.push_back(address_of(*parts->held.back()));
    }
  }
  const auto children = nb::cast<nb::tuple>(node.attr("children"));
  parts->children.resize(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    export_array(children[i], &parts->children[i]);
    parts->pointers.push_back(&parts->children[i]);
  }
  *out = ArrowArray{.length = nb::cast<std::int64_t>(node.attr("length")),
                    .null_count = nb::cast<std::int64_t>(node.attr("null_count")),
                    .offset = 0,
                    .n_buffers = static_cast<std::int64_t>(parts->buffers.size()),
                    .n_children = static_cast<std::int64_t>(parts->children.size()),
                    .buffers = parts->buffers.data(),
                    .children = parts->pointers.data(),
                    .dictionary = nullptr,
                    .release = release_array,
                    .private_data = parts.get()};
  parts.release();
}

// A stream of one array.
struct StreamParts {
  ArrowField field;
  ArrowArray array{};  // released (all zero) once it was returned

  ~StreamParts() {
    if (array.release != nullptr) array.release(&array);
  }
};

StreamParts& parts_of(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    export_schema(parts_of(stream).field, out);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  *out = parts_of(stream).array;
  parts_of(stream).array = {};
  return 0;
}

const char* stream_error(ArrowArrayStream*) { return nullptr; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamParts*>(stream->private_data);
  stream->release = nullptr;
}

// Returns a capsule that releases what no consumer took.
template <class Struct>
nb::capsule capsule_of(std::unique_ptr<Struct> content, const char* name) {
  nb::capsule capsule(content.get(), name, [](void* p) noexcept {
    auto* owned = static_cast<Struct*>(p);
    if (owned->release != nullptr) owned->release(owned);
    delete owned;
  });
  content.release();
  return capsule;
}

nb::capsule arrow_schema(nb::handle node) {
  auto schema = std::make_unique<ArrowSchema>();
  export_schema(field_of(node), schema.get());
  return capsule_of(std::move(schema), "arrow_schema");
}

nb::capsule arrow_array(nb::handle node) {
  auto array = std::make_unique<ArrowArray>();
  export_array(node, array.get());
  return capsule_of(std::move(array), "arrow_array");
}

nb::capsule arrow_stream(nb::handle node) {
  auto parts = std::make_unique<StreamParts>();
  parts->field = field_of(node);
  export_array(node, &parts->array);
  auto stream = std::make_unique<ArrowArrayStream>(
      ArrowArrayStream{stream_schema, stream_next, stream_error, release_stream, parts.get()});
  parts.release();
  return capsule_of(std::move(stream), "arrow_array_stream");
}

}  // namespace

void bind_arrow(nb::module_& m) {
  m.def("arrow_schema", &arrow_schema, nb::arg("node"), nb::sig("def arrow_schema(node: object) -> object"),
        "Export a tree of nodes as an ``arrow_schema`` capsule.");
  m.def("arrow_array", &arrow_array, nb::arg("node"), nb::sig("def arrow_array(node: object) -> object"),
        "Export a tree of nodes as an ``arrow_array`` capsule, which holds the nodes' buffers.");
  m.def("arrow_stream", &arrow_stream, nb::arg("node"), nb::sig("def arrow_stream(node: object) -> object"),
        "Export a tree of nodes as an ``arrow_array_stream`` capsule of one array.");
}

}  // namespace penstock::bindings
