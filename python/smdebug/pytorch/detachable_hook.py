"""`DetachableHook`: one hook in one module, which goes out and comes back as if it had stayed."""

from smdebug.pytorch.private_names import hook_tables


class DetachableHook:
    """A forward hook, or with `is_before` a forward pre-hook, that is out at first.

    It comes back under the number that it had: torch.compile looks for hooks that it has seen. It
    also comes back at its place among the module's other hooks, so that it sees the same of a
    tensor that one of them replaces, however often it was out.
    """

    def __init__(self, module, hook, is_before=False, takes_keywords=False):
        self._module = module
        self._hook = hook
        self._is_before = is_before
        self._takes_keywords = takes_keywords
        self._handle = None
        self._earlier = ()  # the numbers of those in front of it when it went out
        self.is_in = False

    def put_in(self):
        if self.is_in:
            return
        self.is_in = True
        tables = hook_tables(self._module, self._is_before)
        if self._handle is None or tables is None:
            self._register()
            return
        hooks, with_keywords = tables
        number = self._handle.id
        hooks[number] = self._hook
        if self._takes_keywords:
            with_keywords[number] = True
        if len(hooks) > 1:
            self._go_to_its_place(hooks, number)

    def take_out(self):
        if not self.is_in:
            return
        self.is_in = False
        tables = hook_tables(self._module, self._is_before)
        if tables is not None and len(tables[0]) > 1:
            self._earlier = _keys_before(tables[0], self._handle.id)
        else:
            self._earlier = ()
        self._handle.remove()

    def _register(self):
        register = self._module.register_forward_hook
        if self._is_before:
            register = self._module.register_forward_pre_hook
        self._handle = register(self._hook, with_kwargs=self._takes_keywords)

    def _go_to_its_place(self, hooks, number):
        """Lets those that came behind it, or since it went out, go behind it."""
        for other in list(hooks):
            if other != number and other not in self._earlier:
                hooks.move_to_end(other)


def _keys_before(hooks, number):
    keys = list(hooks)
    return frozenset(keys[: keys.index(number)]) if number in hooks else ()
