#pragma once

// The coming captures of a session, for adapters that decide ahead of time:
// which hooks to install, which arrays to compute. A view is a pointer to its
// session and answers for the moment of the call. The owner's thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

struct SessionImpl;

class CapturePlanView {
 public:
  /// Grows by one each time an edited configuration takes effect. An adapter
  /// that removed hooks installs them again when it changes.
  std::uint64_t version() const;

  /// Whether the plan in use ever saves the collection of that name.
  bool saves(std::string_view collection) const;

  /// Whether the open step saves a tensor of that name, or the collection. For
  /// adapters that ask before they create a tensor: it searches the name with
  /// every pattern and caches nothing.
  bool is_due(std::string_view tensor_name, std::string_view collection) const;

  /// The names of the collections that the open step saves, in the plan's
  /// order; empty if nothing is due. For adapters that ask once per step.
  std::vector<std::string> due_collections() const;

  /// Whether the step that `Session::begin_step` would begin now saves
  /// anything.
  bool is_next_due() const;
  /// Whether that step saves a tensor of that name, or the collection.
  bool is_next_due(std::string_view tensor_name,
                   std::string_view collection) const;

 private:
  friend class Session;
  explicit CapturePlanView(const SessionImpl& session) : session_(&session) {}

  const SessionImpl* session_;
};

}  // namespace smdebug
