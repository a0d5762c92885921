"""The current hook of this process, for scripts that fetch it where they need it."""

from collections.abc import Callable

from smdebug.current_hook import GetHook, functions_of
from smdebug.mxnet.hook import Hook

get_hook: GetHook[Hook]
set_hook: Callable[[Hook], None]
del_hook: Callable[[], None]
get_hook, set_hook, del_hook = functions_of(Hook, create_by_default=True)
