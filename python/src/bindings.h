#pragma once

// The parts of the extension, in the order in which they must be bound:
// signatures may name only types that are already bound.

#include <nanobind/nanobind.h>

namespace smdebug {

void bind_core(nanobind::module_& m);             // core.cc
void bind_names(nanobind::module_& m);            // tensor_names.cc
void bind_editable_config(nanobind::module_& m);  // editable_config.cc
void bind_config(nanobind::module_& m);           // config.cc
void bind_status(nanobind::module_& m);           // hook_status.cc
void bind_facts(nanobind::module_& m);            // facts.cc
void bind_capture(nanobind::module_& m);          // capture.cc
void bind_session_group(nanobind::module_& m);    // session_group.cc
void bind_steps(nanobind::module_& m);            // step_policy.cc
void bind_read(nanobind::module_& m);             // read.cc
void bind_files(nanobind::module_& m);            // files.cc
void bind_saved(nanobind::module_& m);            // saved_collections.cc
void bind_rules(nanobind::module_& m);            // rules.cc
void bind_monitors(nanobind::module_& m);         // monitors.cc
void bind_actions(nanobind::module_& m);          // actions.cc
void bind_cli(nanobind::module_& m);              // cli.cc
void bind_aws(nanobind::module_& m);              // aws_snapshot.cc

}  // namespace smdebug
