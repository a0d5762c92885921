// The extension `smdebug._core`: the list of its parts, one file per stage.

#include <nanobind/nanobind.h>

#include "bindings.h"
#include "result_caster.h"
#include "unlocked_waits.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ library, as the Python package sees it.";
  smdebug::look_up_exceptions();
  smdebug::unlock_waits();
  smdebug::bind_core(m);
  smdebug::bind_names(m);
  smdebug::bind_config(m);
  smdebug::bind_status(m);
  smdebug::bind_facts(m);
  smdebug::bind_capture(m);
  smdebug::bind_session_group(m);
  smdebug::bind_steps(m);
  smdebug::bind_read(m);
  smdebug::bind_files(m);
  smdebug::bind_saved(m);
  smdebug::bind_rules(m);
  smdebug::bind_monitors(m);
  smdebug::bind_actions(m);
  smdebug::bind_cli(m);
  smdebug::bind_aws(m);
}
