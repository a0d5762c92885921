"""The hook of this process, for scripts that look it up where they need it."""

from smdebug import current_hook
from smdebug.mxnet.hook import Hook

get_hook, set_hook, del_hook = current_hook.functions_of(Hook, create_by_default=True)
