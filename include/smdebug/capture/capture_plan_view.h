#pragma once

// The captures that a session plans, for adapters that decide ahead of time
// which hooks to install or which arrays to compute. A view is a pointer to its
// session and must not outlive it; it answers for the moment of the call. Call
// it from the thread that owns the session.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] smdebug {

struct SessionImpl;

class CapturePlanView {
 public:
  /// Returns a number that grows by one each time an edited configuration takes
  /// effect. When it changes, an adapter that removed hooks reinstalls them.
  std::uint64_t version() const;

  /// Returns whether the plan in use saves the collection of that name at any
  /// step; false if there is no such collection.
  bool saves(std::string_view collection) const;

  /// Returns whether the open step saves a tensor of that name, or the
  /// collection. For adapters that ask before they compute a tensor: it
  /// searches the name with every pattern and caches nothing.
  bool is_due(std::string_view tensor_name, std::string_view collection) const;

  /// Returns the names of the collections that the open step saves, in the
  /// plan's order; empty if nothing is due.
  std::vector<std::string> due_collections() const;

  /// Returns whether the step that `Session::begin_step` would begin now saves
  /// anything.
  bool is_next_due() const;
  /// Returns whether that step saves a tensor of that name, or the collection.
  bool is_next_due(std::string_view tensor_name,
                   std::string_view collection) const;

 private:
  friend class Session;
  explicit CapturePlanView(const SessionImpl& session) : session_(&session) {}

  const SessionImpl* session_;
};

}  // namespace smdebug
