"""The options of cmake/hardening.cmake, as the linked files show them."""

import pathlib
import struct

import pytest

import smdebug._core

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = pathlib.Path(smdebug._core.__file__)
PROGRAM = ROOT / "build/release/apps/cli/smdebug"
LIBRARY = ROOT / "build/release/libsmdebug.so"  # whose code the program runs

# Of the ELF specification and <elf.h>.
ET_DYN = 3
PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO = 2, 0x6474E551, 0x6474E552
PF_X = 1
DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1 = 24, 30, 0x6FFFFFFB
DF_BIND_NOW, DF_1_NOW = 8, 1


class Elf:
    """A 64-bit little-endian ELF file."""

    def __init__(self, path: pathlib.Path):
        self.bytes = path.read_bytes()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", path
        (self.type,) = struct.unpack_from("<H", self.bytes, 16)
        (start,) = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        self.segments = {}
        for at in range(start, start + size * count, size):
            kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", self.bytes, at)
            self.segments.setdefault(kind, (flags, offset, length))

    def dynamic(self) -> dict[int, int]:
        _, offset, length = self.segments[PT_DYNAMIC]
        return dict(struct.iter_unpack("<qQ", self.bytes[offset : offset + length]))

    def names(self, symbol: bytes) -> bool:
        return b"\0" + symbol + b"\0" in self.bytes


def read(path: pathlib.Path) -> Elf:
    if not path.exists():
        pytest.skip(f"{path.name} is not built")
    return Elf(path)


@pytest.fixture(params=[CORE, LIBRARY, PROGRAM], ids=["extension", "library", "program"])
def elf(request):
    return read(request.param)


@pytest.fixture(params=[CORE, LIBRARY], ids=["extension", "library"])
def code(request):
    return read(request.param)


def test_all_relocations_are_read_only_after_loading(elf):
    dynamic = elf.dynamic()
    assert PT_GNU_RELRO in elf.segments
    assert (
        DT_BIND_NOW in dynamic
        or dynamic.get(DT_FLAGS, 0) & DF_BIND_NOW
        or dynamic.get(DT_FLAGS_1, 0) & DF_1_NOW
    )


def test_the_stack_is_not_executable(elf):
    assert elf.segments[PT_GNU_STACK][0] & PF_X == 0


def test_functions_with_arrays_check_the_stack(code):
    assert code.names(b"__stack_chk_fail")


def test_copies_of_the_c_library_check_their_target(code):
    assert any(code.names(b"__" + name + b"_chk") for name in (b"memcpy", b"read", b"snprintf"))


def test_the_code_is_loaded_at_any_address(elf):
    assert elf.type == ET_DYN
