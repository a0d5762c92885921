"""What is hung into a block: hooks that MXNet calls, and that read one bool."""

from smdebug.mxnet.arrays import arrays_in, is_symbolic, readable


class Gate:
    """Open while a step wants tensors. All hooks of one smdebug hook share one."""

    def __init__(self):
        self.is_open = False
        self.has_loss = False  # a loss block ran in this step


class WatchedBlock:
    """One block and the hooks in it, which come out while nothing of it can be saved.

    `graphs` (hybrid.py) sees to blocks that run inside a graph. A deep copy of the block keeps
    calling the same hooks; a block that was pickled carries hooks without state, which do nothing.
    """

    _graphs = None

    def __init__(self, block, name, gate, site, graphs, unharmed, is_loss=False):
        self.block = block
        self.name = name
        self._site = site
        self._gate = gate
        self._graphs = graphs
        self._unharmed = unharmed
        self._is_loss = is_loss
        self._handles = []
        self._was_seen = False

    def __deepcopy__(self, memo):
        return self

    def __getstate__(self):
        return {}

    def install(self):
        if not self._handles:
            self._handles = [
                self.block.register_forward_pre_hook(self._before),
                self.block.register_forward_hook(self._after),
            ]

    def remove(self):
        for handle in self._handles:
            handle.detach()
        self._handles = []

    def prune(self):
        """Takes the hooks out of a block of which nothing can ever be saved. False: it was not
        called yet. Those of a block that runs as a graph stay: its insides may be saved."""
        if not self._was_seen:
            return False
        if not (self.can_match() or self._graphs.is_tapped(self.block)):
            self.remove()
        return True

    def can_match(self):
        """Whether the coming plan may save anything of it."""
        return self._site.may_match_input() or self._site.may_match_output()

    def capture_inputs(self, values):
        """`values` are arrays, MXNet's or numpy's, or None where one is not there."""
        self._put(self._site.next_input, values)

    def capture_outputs(self, values):
        self._put(self._site.next_output, values)

    def _put(self, next_site, values):
        for value in values:
            site = next_site()
            if site is not None and value is not None:
                site.put(readable(value) if hasattr(value, "asnumpy") else value)

    def _before(self, block, arguments):
        if self._graphs is None or is_symbolic(arguments):
            return
        self._was_seen = True
        with self._unharmed("before a block"):
            self._graphs.enter(block)
            if self._gate.is_open:
                self.capture_inputs(arrays_in(arguments))

    def _after(self, block, arguments, output):
        if self._graphs is None:
            return
        if is_symbolic(arguments):
            self._graphs.trace(self, arguments, output)
            return
        with self._unharmed("after a block"):
            self._graphs.leave(block, arguments)
            if self._is_loss:
                self._gate.has_loss = True
            if self._gate.is_open:
                self.capture_outputs(arrays_in(output))
