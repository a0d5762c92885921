"""The current hook of this process."""

from __future__ import annotations

from collections.abc import Callable

from smdebug import current_hook
from smdebug.current_hook import GetHook
from smdebug.pytorch.hook import Hook

get_hook: GetHook[Hook]
set_hook: Callable[[Hook], None]
del_hook: Callable[[], None]
get_hook, set_hook, del_hook = current_hook.functions_of(Hook, create_by_default=False)
