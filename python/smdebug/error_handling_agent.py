"""For code that calls smdebug from inside a framework: our failures stay out of the training.

Hooks of this library need no such guard, since none of their methods raises for a reason of
ours. It is here for the programs that wrap their own calls in it.
"""

import functools

from smdebug import current_hook
from smdebug.log import get_logger

BASE_ERROR_MESSAGE = (
    "smdebug failed and is disabled for the rest of this process; the training continues"
)


class ErrorHandlingAgent:
    """Decides whether an error reaches the caller.

    It does where the user configured the hook, and so wants to know. Under the default
    configuration, which nobody asked for, the first error is logged, and from then on wrapped
    functions return their default at once.
    """

    def __init__(self):
        self.disable_smdebug = False

    def catch_smdebug_errors(self, default_return_val=None):
        """A decorator. `default_return_val` is what a call gives instead; a function is called
        for it with the call's arguments."""

        def default(args, kwargs):
            is_function = callable(default_return_val)
            return default_return_val(*args, **kwargs) if is_function else default_return_val

        def decorate(function):
            @functools.wraps(function)
            def guarded(*args, **kwargs):
                if self.disable_smdebug:
                    return default(args, kwargs)
                try:
                    return function(*args, **kwargs)
                except Exception:
                    hook = current_hook.get_current()
                    if hook is not None and not hook.has_default_configuration():
                        raise
                    get_logger().error(BASE_ERROR_MESSAGE, exc_info=True)
                    self.disable_smdebug = True
                    return default(args, kwargs)

            return guarded

        return decorate


error_handling_agent = ErrorHandlingAgent()
