"""FileWriter and FileReader: one event file, without a hook; bytes against the original's."""

import json
import os
import signal
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.summary_pb2 import Summary

from conftest import read
from smdebug import modes
from smdebug.collection import Collection
from smdebug.core.reader import FileReader
from smdebug.core.writer import FileWriter
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)

# What the original writes with step 7 and wall time 1.5: the record and its (tag, tensor, mode,
# mode step).
GOLDEN = [
    (
        "4800000000000000fe92489d09000000000000f83f10072a3b0a390a017742170801120912070802120377"
        "5f3222080000803f000000404a1b0a0e0a096d6f64655f737465701201330a090a046d6f6465120131b3c0"
        "2d06",
        ("w", np.array([1, 2], dtype=np.float32), modes.TRAIN, 3),
    ),
    (
        "4300000000000000b18525a009000000000000f83f10072a360a340a017342121209120708021203735f32"
        "420261624201634a1b0a0e0a096d6f64655f737465701201330a090a046d6f6465120131b3c02d06",
        ("s", np.array(["ab", "c"]), modes.TRAIN, 3),
    ),
    (
        "40000000000000002817f49509000000000000f83f10072a330a310a0172420e0802120022080000000000"
        "0004404a1c0a0f0a096d6f64655f7374657012022d310a090a046d6f6465120132b3c02d06",
        ("r", np.array(2.5), modes.EVAL, -1),
    ),
]


def files_of(run):
    found = [os.path.join(folder, name) for folder, _, names in os.walk(run) for name in names]
    return sorted(os.path.relpath(path, run) for path in found)


def event_file(run, step=0, worker="worker_0"):
    return os.path.join(run, f"events/{step:012}/{step:012}_{worker}.tfevents")


def index_of(run, step=0, worker="worker_0"):
    path = os.path.join(run, f"index/{step // 1000:09}/{step:012}_{worker}.json")
    with open(path) as file:
        return json.load(file)


def write_collections(run, workers=("worker_0",)):
    """What a Trial needs to know of a run that no hook wrote."""
    folder = os.path.join(run, "collections", "0" * 9)
    os.makedirs(folder)
    for worker in workers:
        with open(os.path.join(folder, f"{worker}_collections.json"), "w") as file:
            collections = {"default": Collection("default").to_json_dict()}
            json.dump({"collections": collections, "_meta": {"num_workers": len(workers)}}, file)
    open(os.path.join(run, "training_job_end.ts"), "w").close()


def written(run, value, **options):
    """What FileReader gives for one value that FileWriter wrote."""
    with FileWriter(run, "worker_0") as writer:
        writer.write_tensor(value, "x", **options)
    ((name, _, array, _, _),) = FileReader(event_file(run)).read_tensors()
    assert name == "x"
    return array


# --- bytes ---


def test_records_are_the_originals_bit_for_bit(out_dir):
    with FileWriter(out_dir, "worker_0", step=7) as writer:
        for _, (name, value, mode, mode_step) in GOLDEN:
            writer.write_tensor(value, name, mode=mode, mode_step=mode_step, timestamp=1.5)
    with open(event_file(out_dir, 7), "rb") as file:
        assert file.read().hex() == "".join(text for text, _ in GOLDEN)
    index = index_of(out_dir, 7)
    places = [(t["start_idx"], t["length"]) for t in index["tensor_payload"]]
    assert places == [(0, 88), (88, 83), (171, 80)]


@pytest.mark.parametrize("options", [{"write_checksum": True}, {"checksum": "crc32c"}])
def test_a_true_checksum_is_the_masked_crc_of_the_message(out_dir, options):
    with FileWriter(out_dir, "worker_0", **options) as writer:
        writer.write_tensor(np.arange(5.0), "a")
        writer.write_tensor(np.arange(300_000.0)[::2], "strided")
        writer.write_tensor(["ä", "b"], "text")
    with open(event_file(out_dir), "rb") as file:
        body = file.read()
    position = 0
    for _ in range(3):
        (length,) = struct.unpack_from("<Q", body, position)
        message = body[position + 12 : position + 12 + length]
        (word,) = struct.unpack_from("<I", body, position + 12 + length)
        assert word == masked_crc(message)
        position += length + 16
    assert position == len(body)
    full = [name for name, *_ in FileReader(event_file(out_dir)).read_tensors("full")]
    assert full == ["a", "strided", "text"]


def masked_crc(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


# --- what is taken ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, np.array([3], dtype=np.int64)),
        (2.5, np.array([2.5])),
        (True, np.array([True])),
        (1j, np.array([1j])),
        ("text", np.array(["text"])),
        (np.float32(0.1), np.array([0.1], dtype=np.float32)),
        (np.int16(-5), np.array([-5], dtype=np.int16)),
        (np.str_("ü"), np.array(["ü"])),
        ([1.0, 2.0], np.array([1.0, 2.0])),
        ((1, 2, 3), np.array([1, 2, 3])),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
        (["a", "bc"], np.array(["a", "bc"])),
        ([], np.zeros((0,))),
        (np.array(2.5), np.array(2.5)),
        (np.array("0-d"), np.array("0-d")),
        (np.array([["a", ""], ["ü", "🙂"]]), np.array([["a", ""], ["ü", "🙂"]])),
        (np.array(["a", "bc"], dtype=object), np.array(["a", "bc"])),
        (np.arange(3, dtype=">f4"), np.arange(3, dtype=np.float32)),
        (np.zeros((2, 0, 3), np.int8), np.zeros((2, 0, 3), np.int8)),
        (np.arange(12.0).reshape(3, 4)[::2, ::-1], np.arange(12.0).reshape(3, 4)[::2, ::-1]),
        (np.array([(-3,), (4,)], dtype=[("qint8", "i1")]), np.array([-3, 4], dtype=np.int8)),
        (np.array([(7,)], dtype=[("qint32", "i4")]), np.array([7], dtype=np.int32)),
        (torch.tensor(1.5), np.array(1.5, dtype=np.float32)),
        (torch.arange(6).reshape(2, 3).t(), np.arange(6).reshape(2, 3).T),
        (torch.ones(2, requires_grad=True), np.ones(2, dtype=np.float32)),
    ],
)
def test_scalars_lists_arrays_and_tensors_are_written(out_dir, value, expected):
    array = written(out_dir, value)
    assert array.dtype == expected.dtype or array.dtype.kind == expected.dtype.kind == "U"
    np.testing.assert_array_equal(array, expected, strict=array.dtype.kind != "U")
    assert array.shape == expected.shape


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": 1},
        {1, 2},
        object(),
        [1, "a", None],
        [[1], [2, 3]],
        10**30,
        np.array(["2020-01-01"], "M8[D]"),
        np.arange(2, dtype="longdouble"),
        np.array(["a", 1], dtype=object),
        np.zeros(2, dtype=[("a", "i4"), ("b", "f4")]),
        np.array(["\ud800"]),
        torch.empty(2, device="meta"),
    ],
)
def test_what_is_no_tensor_is_a_type_error_and_writes_nothing(out_dir, value):
    writer = FileWriter(out_dir, "worker_0")
    with pytest.raises(SMDebugTypeError):
        writer.write_tensor(value, "x")
    writer.close()
    assert files_of(out_dir) == []


def test_random_arrays_come_back_as_numpy_sees_them(out_dir):
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    random = np.random.default_rng(seed)
    dtypes = "?bBhHiIqQefdFD"
    given = []
    with FileWriter(out_dir, "worker_0", step=2000) as writer:
        for i in range(150):
            shape = random.integers(0, 5, size=random.integers(0, 5))
            array = random.integers(0, 255, size=(*shape, 16)).astype(np.uint8)
            array = array.view(random.choice(list(dtypes)))[..., 0]
            if array.dtype == bool:
                array = array.view(np.uint8) > 127
            array = array.transpose(random.permutation(array.ndim))
            array = array[(..., *(slice(None, None, random.choice([1, -1, 2])) for _ in shape))]
            given.append(array)
            writer.write_tensor(array, f"t/{i}:0")
    write_collections(out_dir)
    trial = read(out_dir)
    records = list(FileReader(event_file(out_dir, 2000)).read_tensors())
    assert len(records) == len(given)
    for i, (array, record) in enumerate(zip(given, records, strict=True)):
        assert record[0] == f"t/{i}:0"
        np.testing.assert_array_equal(record[2], array, strict=True)
        if array.size:
            np.testing.assert_array_equal(trial.tensor(record[0]).value(2000), array, strict=True)


def test_statistics_of_what_is_written_are_in_the_index(out_dir):
    values = np.array([1.0, -2.0, np.nan, 0.0, np.inf])
    with FileWriter(out_dir, "worker_0") as writer:
        writer.write_tensor(values, "x")
    write_collections(out_dir)
    statistics = read(out_dir).tensor("x").statistics(0)
    assert (statistics["count"], statistics["nan"], statistics["zeros"]) == (5, 1, 1)
    assert (statistics["min"], statistics["max"], statistics["positive_inf"]) == (-2, 1, 1)


# --- files ---


def test_no_file_appears_before_the_first_tensor(out_dir):
    writer = FileWriter(out_dir, "worker_0", step=7)
    with pytest.raises(SMDebugRuntimeError, match="nothing was written"):
        writer.name()
    writer.flush()
    assert not os.path.exists(out_dir)
    writer.write_tensor(1, "x")
    assert writer.name() == event_file(out_dir, 7)
    writer.flush()
    assert files_of(out_dir) == ["events/000000000007/000000000007_worker_0.tfevents.tmp"]
    writer.close()
    writer.close()
    assert files_of(out_dir) == [
        "events/000000000007/000000000007_worker_0.tfevents",
        "index/000000000/000000000007_worker_0.json",
    ]
    with pytest.raises(SMDebugRuntimeError):
        writer.write_tensor(1, "x")


def test_shapes_alone_make_an_index_without_an_event_file(out_dir):
    with FileWriter(out_dir, "worker_0") as writer:
        writer.write_shape("w", (784, np.int64(128)), modes.EVAL, 3, "dense/kernel:0")
        writer.write_shape("loss", ())
    assert files_of(out_dir) == ["index/000000000/000000000000_worker_0.json"]
    assert index_of(out_dir) == {
        "meta": {"mode": "EVAL", "mode_step": 3},
        "tensor_payload": [],
        "shape_payload": [
            {"tensorname": "w", "originalname": "dense/kernel:0", "shape": [784, 128]},
            {"tensorname": "loss", "originalname": "loss", "shape": []},
        ],
    }


def test_a_tensor_without_an_index_entry_is_found_by_the_file_reader_alone(out_dir):
    with FileWriter(out_dir, "worker_0", step=4) as writer:
        writer.write_tensor(1.0, "hidden", write_index=False, mode=modes.PREDICT)
        writer.write_tensor(2.0, "seen", mode=modes.TRAIN, mode_step=2)
    index = index_of(out_dir, 4)
    assert [t["tensorname"] for t in index["tensor_payload"]] == ["seen"]
    assert index["meta"]["mode"] == "TRAIN"
    records = [(r[0], r[1], r[3], r[4]) for r in FileReader(event_file(out_dir, 4)).read_tensors()]
    assert records == [("hidden", 4, modes.PREDICT, 4), ("seen", 4, modes.TRAIN, 2)]


def test_workers_write_the_steps_of_one_run_from_processes_of_their_own(out_dir):
    script = textwrap.dedent(
        """
        import sys
        from smdebug.core.writer import FileWriter
        run, worker = sys.argv[1:]
        for step in range(3):
            with FileWriter(trial_dir=run, worker=worker, step=step) as writer:
                writer.write_tensor([step, int(worker[-1])], "x")
        """
    )
    workers = ["worker_0", "worker_1"]
    processes = [
        subprocess.Popen([sys.executable, "-c", script, out_dir, worker]) for worker in workers
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    write_collections(out_dir, workers)
    trial = read(out_dir)
    assert trial.workers() == workers
    assert trial.steps() == [0, 1, 2]
    for step in range(3):
        for rank, worker in enumerate(workers):
            assert trial.tensor("x").value(step, worker=worker).tolist() == [step, rank]


def test_a_writer_that_is_killed_leaves_only_its_unfinished_file(out_dir):
    script = textwrap.dedent(
        """
        import sys
        from smdebug.core.writer import FileWriter
        with FileWriter(sys.argv[1], "worker_0", step=0) as whole:
            whole.write_tensor([1, 2], "x")
        writer = FileWriter(sys.argv[1], "worker_0", step=1)
        writer.write_tensor([3, 4], "x")
        writer.flush()
        print("written", flush=True)
        sys.stdin.read()
        """
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", script, out_dir], stdin=pipe, stdout=pipe
    ) as process:
        assert process.stdout.readline() == b"written\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert files_of(out_dir) == [
        "events/000000000000/000000000000_worker_0.tfevents",
        "events/000000000001/000000000001_worker_0.tfevents.tmp",
        "index/000000000/000000000000_worker_0.json",
    ]
    with FileWriter(out_dir, "worker_0", step=1) as again:
        again.write_tensor([5, 6], "x")
    write_collections(out_dir)
    assert read(out_dir).tensor("x").value(1).tolist() == [5, 6]
    assert not any(name.endswith(".tmp") for name in files_of(out_dir))


def test_a_forked_process_cannot_take_the_parents_file_away(out_dir):
    writer = FileWriter(out_dir, "worker_0")
    writer.write_tensor(1, "x")
    child = os.fork()
    if child == 0:
        try:
            writer.write_tensor(2, "x")
        except SMDebugRuntimeError:
            del writer
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    writer.close()
    assert len(list(FileReader(event_file(out_dir)).read_tensors())) == 1


def test_a_folder_that_cannot_be_written_raises_and_says_where(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    writer = FileWriter(blocked / "run", "worker_0")
    for _ in range(2):
        with pytest.raises(SMDebugRuntimeError, match="file/run"):
            writer.write_tensor(1, "x")
    with pytest.raises(SMDebugRuntimeError):
        writer.close()


# --- arguments ---


def test_no_mode_is_the_mode_global(out_dir):
    with FileWriter(out_dir, "worker_0", step=4, mode=None) as writer:
        writer.write_tensor(1.0, "x", mode=None)
        writer.write_shape("y", (2,), mode=None)
    ((_, _, _, mode, _),) = FileReader(event_file(out_dir, 4)).read_tensors()
    assert mode is modes.GLOBAL


def test_wrong_arguments_are_refused(out_dir, tmp_path):
    with pytest.raises(SMDebugValueError, match="wtype"):
        FileWriter(out_dir, "worker_0", wtype="graphs")
    with pytest.raises(SMDebugValueError, match="checksum"):
        FileWriter(out_dir, "worker_0", checksum="md5")
    with pytest.raises(SMDebugValueError, match="-1"):
        FileWriter(out_dir, "worker_0", step=-1)
    with pytest.raises(SMDebugValueError):
        FileWriter(out_dir, "")
    writer = FileWriter(out_dir, "worker_0")
    for mode in ("TRAIN", 1):
        with pytest.raises(SMDebugValueError, match="modes"):
            writer.write_tensor(1, "x", mode=mode)
    with pytest.raises(SMDebugValueError, match="wtype must be 'tfevent', found 'text'"):
        FileReader(tmp_path / "any", wtype="text")
    with pytest.raises(SMDebugValueError, match="name"):
        writer.write_tensor(1, "")
    assert not os.path.exists(out_dir)


def test_a_tensorboard_file_holds_what_tensorboard_shows(out_dir):
    values = np.random.default_rng(0).normal(size=(30, 7))
    layout = Summary(value=[Summary.Value(tag="text", simple_value=3)])
    with FileWriter(out_dir, "4711_node", 5, wtype="tensorboard", mode=modes.EVAL) as writer:
        writer.write_scalar_summary("loss:0", np.float64(0.25), timestamp=1.5)
        writer.write_scalar_summary("loss:0", torch.tensor([0.5]), 6)
        writer.write_histogram_summary(values.T, "layer/weight", 6)
        writer.write_summary(layout, 7)
        writer.write_graph(GraphDef(node=[NodeDef(name="x", op="Placeholder")]))
        with pytest.raises(SMDebugValueError, match="for TensorBoard"):
            writer.write_tensor(1.0, "x")
    assert writer.name() == f"{out_dir}/EVAL/000000000005_4711_node.tfevents"
    shown = EventAccumulator(writer.name(), size_guidance={"histograms": 0})
    shown.Reload()
    first, second = shown.Scalars("loss_0")
    assert (first.wall_time, first.step, first.value) == (1.5, 5, 0.25)
    assert (second.step, second.value) == (6, 0.5)
    assert shown.Scalars("text")[0].value == 3
    assert shown.Graph().node[0].name == "x"
    histogram = shown.Histograms("layer/weight")[0].histogram_value
    assert histogram.num == values.size
    assert histogram.sum == pytest.approx(values.sum())
    counts, _ = np.histogram(values, histogram.bucket_limit)
    assert histogram.bucket[1:] == counts.tolist()


def test_what_has_no_histogram_is_left_out_with_a_warning(out_dir, caplog):
    with FileWriter(out_dir, "w", wtype="tensorboard") as writer:
        for nothing in (np.array([True]), np.array(["a"]), np.zeros(0), np.array([np.nan])):
            writer.write_histogram_summary(nothing, "nothing")
        with pytest.raises(SMDebugNotImplementedError, match="bins=30"):
            writer.write_histogram_summary(np.ones(3), "x", bins=30)
    assert len([r for r in caplog.records if "has no histogram" in r.message]) == 4
    assert not os.path.exists(out_dir)


def test_a_file_of_tensors_takes_no_summary(out_dir):
    writer = FileWriter(out_dir, "worker_0")
    for call in (
        lambda: writer.write_scalar_summary("a", 1.0, 0),
        lambda: writer.write_histogram_summary(np.ones(3), "a", 0),
        lambda: writer.write_summary(b"", 0),
        lambda: writer.write_graph(b""),
    ):
        with pytest.raises(SMDebugValueError, match="a file of tensors"):
            call()


def test_bytes_are_written_and_read_as_bytes(out_dir):
    bytes_ = np.array([[b"a\xff", b""], [b"ccc", b"d"]])
    with FileWriter(out_dir, "worker_0") as writer:
        writer.write_tensor(bytes_, "array")
        writer.write_tensor(b"one", "one")
        path = writer.name()
    read = {name: value for name, _, value, _, _ in FileReader(path).read_tensors()}
    assert read["array"].tolist() == bytes_.tolist()
    assert read["one"].tolist() == [b"one"]


# --- reading ---


def test_events_are_dicts_and_patterns_choose_among_them(out_dir):
    with FileWriter(out_dir, "worker_0", step=7) as writer:
        for name in ("fc.weight", "fc.bias", "loss"):
            writer.write_tensor([1.0], name, timestamp=1.5)
    reader = FileReader(event_file(out_dir, 7))
    events = reader.read_events()
    assert [event["name"] for event in events] == ["fc.weight", "fc.bias", "loss"]
    assert (events[0]["timestamp"], events[0]["step"]) == (1.5, 7)
    np.testing.assert_array_equal(events[0]["value"], [1.0])
    chosen = reader.read_events(regex_list=["weight$", "^lo"])
    assert [event["name"] for event in chosen] == ["fc.weight", "loss"]


def test_damage_is_skipped_counted_and_said(out_dir, caplog):
    with FileWriter(out_dir, "worker_0") as writer:
        for i in range(4):
            writer.write_tensor(np.full(3, i), str(i))
    path = event_file(out_dir)
    with open(path, "rb") as file:
        body = bytearray(file.read())
    size = len(body) // 4
    body[size + 3] ^= 0x40  # the length of record 1
    body[2 * size - 1] ^= 1
    body[4 * size - 2] ^= 1  # the checksum word of record 3
    with open(path, "wb") as file:
        file.write(body)
    reader = FileReader(path)
    assert [record[0] for record in reader.read_tensors()] == ["0", "2"]
    assert reader.skipped_count == 2
    assert [part[:2] for part in reader.skipped] == [(size, size), (3 * size, size)]
    assert path in caplog.text
    assert [record[0] for record in reader.read_tensors(check=None)] == ["0", "2", "3"]


def test_checks_are_named_as_the_original_names_them(out_dir):
    with FileWriter(out_dir, "worker_0") as writer:
        writer.write_tensor(1, "x")
    reader = FileReader(event_file(out_dir))
    for check in ("minimal", True, None, False):
        assert len(list(reader.read_tensors(check))) == 1
    with pytest.raises(SMDebugRuntimeError, match="intact"):  # it has the constant
        list(reader.read_tensors("full"))


def test_a_record_that_is_no_tensor_is_a_value_error(tmp_path):
    message = bytes.fromhex("09000000000000f83f2a0c0a0a0a03615f301500000040")  # a scalar summary
    length = struct.pack("<Q", len(message))
    record = length + struct.pack("<I", masked_crc(length)) + message
    path = tmp_path / "f.tfevents"
    path.write_bytes(record + struct.pack("<I", masked_crc(message)))
    with pytest.raises(SMDebugValueError):
        list(FileReader(path).read_tensors())
    assert FileReader(path).read_events() == []


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(Exception, match="none.tfevents"):
        list(FileReader(tmp_path / "none.tfevents").read_tensors())


def test_the_original_strings_come_back_with_their_steps_and_modes(out_dir):
    with FileWriter(trial_dir=out_dir, step=0, worker="algo-1") as writer:
        writer.write_tensor(np.array(["foo", "barz"]), "ascii", timestamp=1600000000.0)
        writer.write_tensor(np.array(["é", "日本", "", "🙂 x"]), "unicode")
    records = FileReader(event_file(out_dir, 0, "algo-1")).read_tensors()
    assert [[r[0], r[1], r[2].tolist(), r[3].name, r[4]] for r in records] == [
        ["ascii", 0, ["foo", "barz"], "GLOBAL", 0],
        ["unicode", 0, ["é", "日本", "", "🙂 x"], "GLOBAL", 0],
    ]
