#!/usr/bin/env python3
"""Creates the corpora of the fuzzers: tests/fuzz/<target>/<content>.

The bytes are assembled by hand from docs/format.md, so that they do not depend
on the code that reads them. Inputs that a fuzzer found are in the same folders
under other names; this script does not change them.

    tests/fuzz/make_corpus.py
"""

import base64
import json
import math
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
CONSTANT_WORD = 0x062DC0B3


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(message: bytes, word: int = CONSTANT_WORD, length: int | None = None) -> bytes:
    head = struct.pack("<Q", len(message) if length is None else length)
    return head + struct.pack("<I", masked(crc32c(head))) + message + struct.pack("<I", word)


def shape(*extents: int) -> bytes:
    return b"".join(field(2, field(1, extent)) for extent in extents)


def event(tag: str, tensor: bytes, mode: str = "1", mode_step: str = "3") -> bytes:
    metadata = b"".join(
        field(1, field(1, name.encode()) + field(2, content.encode()))
        for name, content in (("mode_step", mode_step), ("mode", mode))
    )
    value = field(1, tag.encode()) + field(8, tensor) + field(9, metadata)
    return b"\x09" + struct.pack("<d", 1.5) + field(2, 7) + field(5, field(1, value))


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def tensor(dtype: int, extents: tuple[int, ...], content: bytes) -> bytes:
    return field(1, dtype) + field(2, shape(*extents)) + field(4, content)


W = event("w", tensor(1, (2,), floats(1, 2)))
MESSAGES = {
    "float32": W,
    "scalar": event("w", tensor(2, (), struct.pack("<d", 3))),
    "values_one_by_one": event(
        "w", field(1, 1) + field(2, shape(2)) + b"\x2d" + floats(1) + b"\x2d" + floats(2)
    ),
    "values_packed": event("w", field(1, 3) + field(2, shape(3)) + field(7, b"\x01\x02\x80\x01")),
    "strings": event("w", field(2, shape(2)) + field(8, b"a") + field(8, b"\xff\xfe")),
    "dims_that_overflow": event("w", tensor(1, (2**62, 2**62, 16), b"1234")),
    "dims_that_overflow_to_zero": event("w", tensor(1, (2**32, 2**32), b"")),
    "dim_of_a_billion": event("w", tensor(1, (10**9,), b"1234")),
    "dim_below_zero": event("w", tensor(1, (-1,), b"1234")),
    "dims_256": event("w", tensor(1, (1,) * 256, b"1234")),
    "name_of_10000": event("n" * 10000, tensor(1, (), floats(1))),
    "name_with_nul_and_escape": event("a\0b\x1b[2J\n../..", tensor(1, (), floats(1))),
    "mode_9": event("w", tensor(1, (), floats(1)), mode="9"),
    "mode_step_beyond_64_bits": event("w", tensor(1, (), floats(1)), mode_step="9" * 30),
    "dtype_unknown": event("w", tensor(99, (), floats(1))),
    "varint_without_end": b"\x10" + b"\xff" * 10,
    "message_longer_than_its_parent": b"\x2a\x7f\x0a\x7f",
    "empty": b"",
}


def column(format_: str, *numbers) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}{format_}", *numbers)).decode()


COUNTS = ("count", "nan", "positive_inf", "negative_inf", "zeros")
MOMENTS = ("min", "max", "mean", "m2", "sum_abs", "sum_squares")


def own_key(crc: int) -> dict:
    statistics = {name: column("Q", 2 if name == "count" else 0) for name in COUNTS}
    statistics |= {name: column("d", 1.0) for name in MOMENTS}
    return {
        "version": 1,
        "name": ["w"],
        "dtype": ["float32"],
        "shape": [[2]],
        "statistics": statistics,
        "crc32c": column("I", crc),
    }


EVENT_KEY = "events/000000000001/000000000001_worker_0.tfevents"


def index(**changes) -> dict:
    return {
        "meta": {"mode": "TRAIN", "mode_step": 3, "event_file_name": EVENT_KEY},
        "tensor_payload": [{"tensorname": "w", "start_idx": 0, "length": len(record(W))}],
        "shape_payload": [],
        "smdebug": own_key(crc32c(floats(1, 2))),
    } | changes


def location(name: str = "w", start: int = 0, length: int = 10) -> dict:
    return {"tensorname": name, "start_idx": start, "length": length}


def shaped(*extents) -> dict:
    return {"tensorname": "w", "originalname": "w", "shape": list(extents)}


def at(event_file: str) -> dict:
    return {"mode": "TRAIN", "mode_step": 3, "event_file_name": event_file}


INDEX_FILES = {
    "sound": index(),
    "of_the_original": {key: value for key, value in index().items() if key != "smdebug"},
    "start_of_2_63": index(tensor_payload=[location(start=2**63)]),
    "length_of_2_63": index(tensor_payload=[location(length=2**63)]),
    "end_beyond_64_bits": index(tensor_payload=[location(start=2**64 - 1, length=2**64 - 1)]),
    "numbers_beyond_64_bits": index(tensor_payload=[location(start=10**30)]),
    "start_below_zero": index(tensor_payload=[location(start=-1)]),
    "records_that_overlap": index(
        tensor_payload=[location("w", 0, 90), location("v", 1, 90), location("w", 0, 90)]
    ),
    "dim_of_a_billion": index(shape_payload=[shaped(10**9)]),
    "dims_that_overflow": index(shape_payload=[shaped(2**62, 2**62)]),
    "dims_1000": index(shape_payload=[shaped(*[1] * 1000)]),
    "name_of_10000": index(tensor_payload=[location("n" * 10000)]),
    "name_with_nul_and_escape": index(tensor_payload=[location("a\0b\x1b[2J\n../..")]),
    "event_file_out_of_the_run": index(meta=at("../../etc/passwd")),
    "event_file_absolute": index(meta=at("/etc/passwd")),
    "event_file_with_nul": index(meta=at("events/\0")),
    "mode_step_of_2_63": index(meta={"mode": "TRAIN", "mode_step": 2**63 - 1}),
    "statistics_that_do_not_add_up": index(
        smdebug=own_key(0) | {"statistics": {name: column("Q", 2**64 - 1) for name in COUNTS}}
    ),
    "column_not_base64": index(smdebug=own_key(0) | {"crc32c": "!!!!"}),
    "column_of_three_bytes": index(smdebug=own_key(0) | {"crc32c": "AAAA"}),
    "columns_of_different_length": index(smdebug=own_key(0) | {"name": ["w", "v"]}),
}
DEEP = b'{"meta":' + b"[" * 5000 + b"]" * 5000 + b"}"
INDEX_TEXTS = {
    "empty": b"",
    "no_object": b"[1, 2]",
    "cut_off": json.dumps(index()).encode()[:200],
    "nested_5000_deep": DEEP,
    "number_of_10000_digits": b'{"meta": {"mode": "TRAIN", "mode_step": ' + b"9" * 10000 + b"}}",
    "keys_twice": b'{"meta": 1, "meta": {"mode": "TRAIN", "mode_step": 1}, "shape_payload": []}',
    "not_utf8": json.dumps(index()).encode().replace(b'"w"', b'"\xff\xfe"'),
    "half_a_surrogate": b'{"meta": {"mode": "\\ud800"}}',
    "nul_bytes": bytes(64),
}

SCHEDULE = {"save_interval": 1, "save_steps": [1, 2], "start_step": 0, "end_step": None}
LOSSES = {
    "name": "losses",
    "include_regex": ["[Ll]oss"],
    "tensor_names": ["w"],
    "reduction_config": {"save_raw_tensor": False, "reductions": "mean", "save_shape": True},
    "save_config": {"TRAIN": SCHEDULE, "EVAL": None, "PREDICT": None, "GLOBAL": None},
    "save_histogram": True,
}


def collections(workers=1, **changes) -> dict:
    return {"collections": {"losses": LOSSES | changes}, "_meta": {"num_workers": workers}}


COLLECTIONS_FILES = {
    "sound": collections(),
    "workers_2_63": collections(workers=2**63),
    "workers_1e300": collections(workers=1e300),
    "workers_below_one": collections(workers=0),
    "reductions_unknown": collections(reduction_config={"reductions": "mean,nonsense,"}),
    "regex_that_does_not_compile": collections(include_regex=["(" * 300]),
    "regex_that_backtracks": collections(include_regex=["(w+)+$"], tensor_names=["w" * 40 + "!"]),
    "interval_zero": collections(save_config={"TRAIN": SCHEDULE | {"save_interval": 0}}),
    "false_for_lists": collections(include_regex=False, tensor_names=False),
    "name_with_nul_and_escape": {"collections": {"a\0\x1b[2J\n": LOSSES}},
}
JSON_TEXTS = {
    "empty": b"",
    "nested_5000_deep": DEEP,
    "number_of_10000_digits": b'{"version": ' + b"9" * 10000 + b"}",
    "not_utf8": b'{"version": "\xff\xfe"}',
    "half_a_surrogate": b'{"version": "\\ud800"}',
    "nul_bytes": bytes(64),
    "keys_twice": b'{"version": 1, "version": 2, "attempts": [], "collections": {}}',
    "byte_order_mark": b'\xef\xbb\xbf{"version": 1}',
}

ATTEMPT = {
    "host": "node",
    "pid": 4711,
    "started": 1.25,
    "ended": None,
    "command": ["python", "train.py"],
    "versions": {"torch": "2.13.0"},
    "environment": {},
    "first_step": 7,
    "status": "running",
    "cost": {"step_thread_seconds": 0.5, "run_seconds": 10, "steps": 3},
}


def run(**changes) -> dict:
    return {
        "version": 1,
        "smdebug_version": "2.0.0",
        "framework": "pytorch",
        "configuration": collections(),
        "attempts": [ATTEMPT | changes],
    }


def loss(**changes) -> dict:
    return {"tensor": "loss", "mode": "TRAIN", "step": 7, "value": 0.25} | changes


def progress(**changes) -> dict:
    return {
        "version": 1,
        "state": "running",
        "error": "",
        "framework": "pytorch",
        "attempt": 1,
        "workers": 1,
        "writer": {"host": "node", "pid": 4711, "start_ticks": 90210},
        "started": 1.25,
        "written": 31.5,
        "steps": 12,
        "last_step": 110,
        "modes": [{"mode": "TRAIN", "steps": 12, "last": 110}],
        "losses": [loss()],
        "bytes": 123456,
        "removed_steps": 0,
        "replaced_tensors": 0,
        "dropped_tensors": 0,
        "dropped_bytes": 0,
    } | changes


RUN_FILES = {
    "sound": run(),
    "started_in_1e300": run(started=1e300),
    "started_before_all_time": run(started=-1e300),
    "pid_1e300": run(pid=1e300),
    "cost_1e300": run(cost={"step_thread_seconds": 1e300, "run_seconds": 1e-300, "steps": -1e300}),
    "status_with_escape": run(status="\x1b]0;title\x07 \n done", command=["\x1b[2J"]),
    "attempt_that_is_a_number": run() | {"attempts": [1]},
}
PROGRESS_FILES = {
    "sound": progress(),
    "ended": progress(state="ended", error="no space left", attempt=3, workers=8),
    "started_in_1e300": progress(started=1e300),
    "steps_below_zero": progress(steps=-1),
    "steps_2_63": progress(steps=2**63),
    "bytes_1e300": progress(bytes=1e300),
    "loss_nan": progress(losses=[loss(value="nan")]),
    "loss_1e400": progress(losses=[loss(value=10**400)]),
    "loss_without_a_name": progress(losses=[{"value": 1}]),
    "losses_1000": progress(losses=[loss()] * 1000),
    "modes_that_are_a_number": progress(modes=7),
    "error_of_10000": progress(error="\x1b\u00e4" * 5000),
    "later_version": progress(version=2),
}


def facts(**changes) -> dict:
    parameter = {
        "tensor": "Net_fc.weight",
        "trainable": True,
        "dtype": "float32",
        "device": "cpu",
        "shape": [2],
        "shared_with": None,
        "optimizer": 0,
        "group": 0,
    }
    group = {"parameters": 1, "foreign_parameters": 0, "settings": {"learning_rate": 0.1}}
    return {
        "version": 1,
        "step": 7,
        "parameters": [parameter],
        "optimizers": [{"kind": "SGD", "groups": [group]}],
        "modules": [{"path": "fc", "kind": "Linear", "training": True, "settings": {}}],
        "losses": [{"tensor": "l", "kind": "NLLLoss", "reduction": "mean", "ignored_label": -100}],
    } | changes


def loop(**changes) -> dict:
    scheduler = {"kind": "StepLR", "optimizer": 0, "steps": 3, "updates": 30}
    return {
        "autocast_dtype": "bfloat16",
        "schedulers": [scheduler | {"settings": {"step_size": 10, "gamma": "nan"}}],
        "scaled_clippings": 3,
        "scaled_clipping_limit": 1,
        "log_hides_not_finite": True,
        "data_passes": 3,
        "gradient_norm_limit": 0.5,
        "gradient_value_limit": "inf",
    } | changes


def facts_of_loss(**changes) -> dict:
    given = {
        "function": "cross_entropy",
        "steps": 3,
        "shape": [8, 2],
        "target_shape": None,
        "activation": "Softmax",
        "values": "probabilities",
        "ignored": 0.5,
        "equal_outputs": 0,
        "outside": None,
        "target_low": -1.5,
        "target_high": "inf",
        "target_shift": 1,
        "padding": 0.25,
        "padding_label": 0,
        "revealing_feature": None,
    }
    return facts(losses=[facts()["losses"][0] | {"input": given | changes}])


def data(**changes) -> dict:
    return {
        "tensor": "Net_input_0",
        "received_by": "Linear",
        "dtype": "float32",
        "steps": 10,
        "shape": [8, 2],
        "mean": 0.5,
        "deviation": "inf",
        "median_feature_deviation": 1e-3,
        "largest_feature_deviation": 1e3,
        "not_finite": 37,
        "labels": 80,
        "classes": 3,
        "label_order": 0.25,
    } | changes


FACTS_FILES = {
    "sound": facts(),
    "inputs": facts(inputs=[data(), data(received_by=None, not_finite=None)]),
    "loop": facts(loop=loop()),
    "training_sets": facts(training_sets=["validation_0"]),
    "loop_no_object": facts(loop=[loop()]),
    "loop_no_such_optimizer": facts(loop=loop(), optimizers=[]),
    "inputs_no_list": facts(inputs=data()),
    "inputs_repeat": facts(inputs=[data(repeats=9)]),
    "repeats_beyond_steps": facts(inputs=[data(repeats=10)]),
    "classes_beyond_labels": facts(inputs=[data(classes=81)]),
    "targets": facts_of_loss(targets=data()),
    "targets_no_object": facts_of_loss(targets=3),
    "revealing_feature": facts_of_loss(revealing_feature=2**63),
    "label_order_beyond_1": facts_of_loss(targets=data(label_order=1.5)),
    "empty_lists": facts(parameters=[], optimizers=[], modules=[], losses=[]),
    "no_such_optimizer": facts(optimizers=[]),
    "optimizer_2_63": facts(
        parameters=[facts()["parameters"][0] | {"optimizer": 2**63 - 1, "group": 2**63 - 1}]
    ),
    "shape_below_zero": facts(parameters=[facts()["parameters"][0] | {"shape": [-1]}]),
    "settings_not_finite": facts(
        modules=[
            {"path": "d", "kind": "D", "training": None, "settings": {"p": "nan", "q": "-inf"}}
        ]
    ),
    "setting_1e400": facts(
        modules=[{"path": "d", "kind": "D", "training": False, "settings": {"p": 10**400}}]
    ),
    "module_input_shape": facts(
        modules=[facts()["modules"][0] | {"kind": "LSTM", "input_shape": [32, 20, 8]}]
    ),
    "module_input_shape_below_zero": facts(
        modules=[facts()["modules"][0] | {"input_shape": [32, -1]}]
    ),
    "name_with_nul_and_escape": facts(
        modules=[{"path": "a\0b\x1b[2J", "kind": "\u00e4", "training": True, "settings": {}}]
    ),
    "loss_input": facts_of_loss(),
    "loss_input_no_object": facts(losses=[facts()["losses"][0] | {"input": [1]}]),
    "loss_shape_below_zero": facts_of_loss(target_shape=[-1]),
    "ignored_share_not_a_number": facts_of_loss(ignored="nan"),
    "fractional_beyond_1": facts_of_loss(fractional=1.5),
    "equal_outputs_beyond_steps": facts_of_loss(equal_outputs=4),
    "keeps_gradients": facts(optimizers=[facts()["optimizers"][0] | {"keeps_gradients": True}]),
    "discards_gradients": facts(
        optimizers=[facts()["optimizers"][0] | {"discards_gradients": False}]
    ),
    "has_scheduler": facts(optimizers=[facts()["optimizers"][0] | {"has_scheduler": True}]),
    "keeps_gradients_of_2": facts(optimizers=[facts()["optimizers"][0] | {"keeps_gradients": 2}]),
    "modules_1000": facts(modules=facts()["modules"] * 1000),
    "step_below_zero": facts(step=-1),
    "later_version": facts(version=2),
}


def column(format: str, *numbers: float) -> str:
    packed = struct.pack(f"<{len(numbers)}{format}", *numbers)
    return base64.b64encode(packed).decode()


def series(steps: dict | None = None, **changes) -> dict:
    of_steps = {
        "global": column("q", 7, 8),
        "mode": column("B", 1, 2),
        "mode_step": column("q", 3, 0),
    }
    loss = {"name": "loss", "at": None, "value": column("d", 1.5, math.inf)}
    rate = {"name": "learning_rate/Adam/0", "at": column("I", 1), "value": column("d", 0.5)}
    return {
        "version": 1,
        "worker": "worker_0",
        "steps": of_steps | (steps or {}),
        "series": [loss, rate],
    } | changes


SERIES_FILES = {
    "sound": series(),
    "no_series": series(series=[]),
    "no_steps": series(steps=dict.fromkeys(("global", "mode", "mode_step"), ""), series=[]),
    "steps_descend": series(steps={"global": column("q", 8, 7)}),
    "step_twice": series(steps={"global": column("q", 7, 7)}),
    "step_2_63": series(steps={"global": column("q", 7, 2**63 - 1)}),
    "step_below_zero": series(steps={"global": column("q", -7, 8)}),
    "mode_0": series(steps={"mode": column("B", 0, 1)}),
    "mode_5": series(steps={"mode": column("B", 1, 5)}),
    "columns_differ": series(steps={"mode_step": column("q", 3)}),
    "half_a_number": series(steps={"global": "BwAAAA=="}),
    "at_2_32": series(
        series=[{"name": "a", "at": column("I", 2**32 - 1), "value": column("d", 1)}]
    ),
    "at_twice": series(series=[{"name": "a", "at": column("I", 1, 1), "value": column("d", 1, 2)}]),
    "nan": series(series=[{"name": "a", "at": column("I", 0), "value": column("d", math.nan)}]),
    "no_samples": series(series=[{"name": "a", "at": "", "value": ""}]),
    "name_twice": series(series=series()["series"] * 2),
    "name_with_nul_and_escape": series(
        series=[{"name": "a\0b\x1b[2J", "at": None, "value": column("d", 1, 2)}]
    ),
    "worker_with_slash": series(worker="../x"),
    "series_1000": series(
        series=[
            {"name": str(i), "at": column("I", i % 2), "value": column("d", i)} for i in range(1000)
        ]
    ),
    "later_version": series(version=2),
}
CLAIMS = {
    "sound": {"host": "node", "pid": 4711, "start_ticks": 90210},
    "pid_1e300": {"host": "node", "pid": 1e300, "start_ticks": 1},
    "ticks_below_zero": {"host": "node", "pid": 1, "start_ticks": -1},
    "ticks_2_63": {"host": "node", "pid": 1, "start_ticks": 2**63},
}


def texts(documents: dict) -> dict[str, bytes]:
    return {name: json.dumps(document).encode() for name, document in documents.items()}


def run_input(*parts: bytes) -> bytes:
    return b"".join(struct.pack("<H", len(part)) + part for part in parts)


def run_inputs() -> dict[str, bytes]:
    index_text, w = json.dumps(index()).encode(), record(W)
    tag, document = json.dumps(collections()).encode(), json.dumps(run()).encode()
    inputs = {"sound": run_input(index_text, w, tag, document)}
    for name, text in (texts(INDEX_FILES) | INDEX_TEXTS).items():
        if name != "sound" and len(text) < 1 << 16:
            inputs["index_" + name] = run_input(text, w, tag, document)
    for name, message in MESSAGES.items():
        place = json.dumps(index(tensor_payload=[location(length=len(record(message)))]))
        if name != "name_of_10000":
            inputs["record_" + name] = run_input(place.encode(), record(message), tag, document)
    for name, text in texts(COLLECTIONS_FILES).items():
        inputs["collections_" + name] = run_input(index_text, w, text, document)
    for name, text in texts(RUN_FILES).items():
        inputs["run_" + name] = run_input(index_text, w, tag, text)
    flipped = bytearray(w)
    flipped[flipped.index(floats(1, 2))] ^= 1
    inputs["element_flipped"] = run_input(index_text, bytes(flipped), tag, document)
    return inputs


def corpora() -> dict[str, dict[str, bytes]]:
    records = {name: record(message) for name, message in MESSAGES.items()}
    files = {
        "two_records": record(W) * 2,
        "length_of_2_63": record(W, length=2**63),
        "length_of_2_64_less_1": record(W, length=2**64 - 1),
        "length_beyond_the_end": record(W, length=len(W) + 1),
        "cut_off": (record(W) * 2)[:-5],
        "true_checksum": record(W, word=masked(crc32c(W))),
        "wrong_checksum": record(W, word=0),
        "wrong_length_checksum": bytes(16),
        "empty": b"",
    }
    return {
        "tensor_record": MESSAGES | {"framed_" + name: data for name, data in files.items()},
        "event_file": records | files,
        "index_file": texts(INDEX_FILES) | INDEX_TEXTS,
        "collections_file": texts(COLLECTIONS_FILES) | JSON_TEXTS,
        "run_file": texts(RUN_FILES) | JSON_TEXTS,
        "progress_file": texts(PROGRESS_FILES) | JSON_TEXTS,
        "facts_file": texts(FACTS_FILES) | JSON_TEXTS,
        "series_file": texts(SERIES_FILES) | JSON_TEXTS,
        "claim": texts(CLAIMS) | JSON_TEXTS,
        "run": run_inputs(),
    }


if __name__ == "__main__":
    for target, inputs in corpora().items():
        (HERE / target).mkdir(exist_ok=True)
        for name, data in inputs.items():
            (HERE / target / name).write_bytes(data)
