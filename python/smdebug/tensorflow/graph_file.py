"""`GraphFile`: the graph that TensorBoard shows beside the summaries of a run."""

from typing import Any

from smdebug._core import ModeKeys
from smdebug.file_writer import FileWriter
from smdebug.log import get_logger

# TensorBoard reads the files of a folder in the order of their names. This one sorts before the
# files of steps, whose names continue with a process id.
_WORKER = "0_graph"

_logger = get_logger()


class GraphFile:
    """Writes the first graph that `offer` receives, once.

    `tensorboard_dir` is the folder of TensorBoard's files; None writes nothing.
    """

    def __init__(self, tensorboard_dir: str | None) -> None:
        self._tensorboard_dir = tensorboard_dir
        self._graph: Any = None  # until it is written
        self._is_written = False

    def offer(self, graph: Any) -> None:
        """Takes `graph`, a tf.Graph that may still grow, unless there is one already."""
        if self._tensorboard_dir is not None and not self._is_written:
            self._graph = self._graph or graph

    def write(self, mode: ModeKeys) -> None:
        """Writes the graph, which is complete now, into the folder of `mode`. A failure is logged;
        the run continues."""
        if self._graph is None:
            return
        graph, self._graph, self._is_written = self._graph, None, True
        try:
            where = {"trial_dir": self._tensorboard_dir, "mode": mode}
            with FileWriter(worker=_WORKER, wtype="tensorboard", **where) as file:
                file.write_graph(graph.as_graph_def())
        except Exception as error:  # a full disk, or a graph beyond the 2 GiB of a message
            _logger.warning("TensorBoard shows no graph; the run continues: %s", error)
