#include "core/columns/arrow.h"

#include <memory>

namespace penstock {
namespace {

// A consumer may move a child out of its parent, so each schema owns its own parts.
struct SchemaParts {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;

  ~SchemaParts() {
    for (ArrowSchema& child : children)
      if (child.release != nullptr) child.release(&child);
  }
};

void release_schema(ArrowSchema* schema) {
  delete static_cast<SchemaParts*>(schema->private_data);
  schema->release = nullptr;
}

}  // namespace

void export_schema(const ArrowField& field, ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = field.format;
  parts->name = field.name;
  parts->children.resize(field.children.size());
  for (std::size_t i = 0; i < field.children.size(); ++i) {
    export_schema(field.children[i], &parts->children[i]);
    parts->pointers.push_back(&parts->children[i]);
  }
  *out = ArrowSchema{.format = parts->format.c_str(),
                     .name = parts->name.c_str(),
                     .metadata = nullptr,
                     .flags = field.nullable ? ARROW_FLAG_NULLABLE : 0,
                     .n_children = static_cast<std::int64_t>(parts->children.size()),
                     .children = parts->pointers.data(),
                     .dictionary = nullptr,
                     .release = release_schema,
                     .private_data = parts.get()};
  parts.release();
}

}  // namespace penstock
