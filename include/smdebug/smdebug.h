#pragma once

// All that a C++ program needs to record a training, to read a run and to judge
// it (docs/cpp.md). A program that needs one class may include its header.

#include "smdebug/base/result.h"
#include "smdebug/base/version.h"
#include "smdebug/capture/file_writer.h"
#include "smdebug/capture/session.h"
#include "smdebug/capture/session_group.h"
#include "smdebug/capture/termination.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/config/hook_config_file.h"
#include "smdebug/core/view.h"
#include "smdebug/monitor/judge.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/monitor/step_monitor.h"
#include "smdebug/read/file_reader.h"
#include "smdebug/read/statistics_table.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/rule.h"
#include "smdebug/store/open_storage.h"
