"""The buffers of one root, such as the running mean of a BatchNorm: collection `buffers`."""

import torch

from smdebug._core import buffer_name


class RootBuffers:
    """Saves a root's buffers at the beginning of a step, as `buffer/<root>_<path>`."""

    def __init__(self, session, root_name, root):
        self._session = session
        self._root_name = root_name
        self._root = root
        self._paths = []
        self._sites = None
        self._is_saved = False

    def follow_plan(self):
        """Buffers are looked for only where the plan has their collection."""
        self._is_saved = self._session.saves("buffers")

    def put(self):
        """Saves the values that are due. A buffer is listed anew each time: a model may gain,
        lose and replace them."""
        if not self._is_saved:
            return
        paths, values = [], []
        for path, buffer in self._root.named_buffers():
            if not torch.nn.parameter.is_lazy(buffer):
                paths.append(path)
                values.append(buffer)
        if paths != self._paths:
            self._paths = paths
            self._sites = self._session.tensors([self._name(path) for path in paths])
        if self._sites is not None:
            self._sites.put(values)

    def _name(self, path):
        return buffer_name(self._root_name, path.replace("_orig_mod.", ""))
