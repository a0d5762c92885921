#pragma once

// The write threads of this process, for the one event that concerns them all:
// the process is told to end (termination.h). Nothing else may reach a session
// through here.

#include <chrono>

#include "capture/write_thread.h"

namespace smdebug {

// Says that `writer` runs. It must say so itself when it stops.
void add_open_writer(WriteThread& writer);

// Returns when nobody will touch `writer` any more.
void remove_open_writer(WriteThread& writer);

// Drains the writers one after another, for `at_most` together. What one of
// them fails with is its own to keep and show.
void drain_open_writers(std::chrono::milliseconds at_most);

}  // namespace smdebug
