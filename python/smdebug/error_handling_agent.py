"""`ErrorHandlingAgent`: keeps the failures of a program's own calls of smdebug out of its training.

Hooks need no such guard, because their methods do not raise errors of smdebug. It exists for
programs that wrap their own calls in it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from smdebug import current_hook
from smdebug.log import get_logger

BASE_ERROR_MESSAGE = (
    "smdebug failed and is disabled for the rest of this process; the training continues"
)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class ErrorHandlingAgent:
    """Decides whether an error reaches the caller.

    It does if the user configured the hook. Under the default configuration, which no user asked
    for, the first error is logged, and from then on wrapped functions return their default at once.
    """

    def __init__(self) -> None:
        self.disable_smdebug = False

    def catch_smdebug_errors(self, default_return_val: Any = None) -> Decorator:
        """A decorator for functions. After an error, a call returns `default_return_val`; if that
        is a function, the result of calling it with the same arguments."""

        def default(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            is_function = callable(default_return_val)
            return default_return_val(*args, **kwargs) if is_function else default_return_val

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def guarded(*args: Any, **kwargs: Any) -> Any:
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


error_handling_agent: ErrorHandlingAgent = ErrorHandlingAgent()
