"""`TensorFlowHook`: what the hooks for TensorFlow and Keras share."""

import sys

from smdebug import _core
from smdebug.file_writer import FileWriter
from smdebug.hook import BaseHook
from smdebug.log import get_logger
from smdebug.tensorflow import names
from smdebug.tensorflow.collection import Collection, layer_pattern

# Sorts before the files of steps, whose names go on with a process id: TensorBoard reads the files
# of a folder in their order.
_GRAPH_FILE = "0_graph"

logger = get_logger()


class TensorFlowHook(BaseHook):
    """A hook whose collections take variables, tensors and layers."""

    collection_class = Collection
    _graph = None  # that TensorBoard is to show, until it is written
    _has_graph_file = False
    _said = frozenset()  # what was said once

    def add_to_collection(self, collection_name, variable):
        """Adds a variable, tensor, operation, or a list of them to the collection of that name,
        which is made where there is none."""
        self.get_collection(collection_name).add(variable)

    @classmethod
    def make_framework(cls):
        return _core.tensorflow_framework()

    def _versions(self):
        found = {name: sys.modules.get(name) for name in ("tensorflow", "keras")}
        versions = {name: module.__version__ for name, module in found.items() if module}
        return super()._versions() | versions

    def _layer_name(self, layer):
        """What the tensors of a layer are named after."""
        return layer.name

    def _module_patterns(self, collection):
        patterns = list(getattr(collection, "added_patterns", list)())
        for layer, inputs, outputs in getattr(collection, "added_layers", list)():
            name = self._layer_name(layer)
            if inputs:
                patterns.append(layer_pattern(names.layer_inputs(name)))
            if outputs:
                patterns.append(layer_pattern(names.layer_outputs(name)))
        return patterns

    def _say_once(self, sentence, subject):
        """Warns with a sentence, the first of its subject."""
        if subject not in self._said:
            self._said |= {subject}
            logger.warning(sentence)

    # --- TensorBoard ---

    def graph_made(self, graph):
        """`graph`, a tf.Graph, belongs to the training; it need not be complete yet. TensorBoard is
        shown the first one."""
        if self.tensorboard_dir is not None and not self._has_graph_file and not self.dry_run:
            self._graph = self._graph or graph

    def _write_graph(self, mode):
        """Writes the graph beside the summaries of a mode, once it is complete."""
        if self._graph is None:
            return
        graph, self._graph, self._has_graph_file = self._graph, None, True
        try:
            where = {"trial_dir": self.tensorboard_dir, "mode": mode}
            with FileWriter(worker=_GRAPH_FILE, wtype="tensorboard", **where) as file:
                file.write_graph(graph.as_graph_def())
        except Exception as error:  # a full disk; a graph of more than the 2 GiB of a message
            logger.warning("TensorBoard is shown no graph, the run goes on: %s", error)
