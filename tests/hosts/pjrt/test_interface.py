"""The plug-in's functions called as no sane caller would: an error with a sentence, and nothing worse."""
import ctypes
import unittest

from support import library

WORD = ctypes.c_uint64


class Table:
    """Every member of the arguments that are used here takes 8 bytes, or two that are numbers of 4 share them."""

    def __init__(self):
        library.GetPjrtApi.restype = ctypes.POINTER(WORD)
        self.words = library.GetPjrtApi()
        self.kept = []

    def call(self, place, *words):
        """(code, sentence) or None, and the arguments afterwards."""
        arguments = (WORD * (len(words) + 2))(8 * (len(words) + 2), 0, *words)
        error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self.words[5 + place])(ctypes.addressof(arguments))
        if not error:
            return None, list(arguments)[2:]
        _, message = self.call(1, error, 0, 0)
        _, code = self.call(2, error, 0)
        sentence = ctypes.string_at(message[1], message[2]).decode()
        self.call(0, error)
        return (code[1] & 0xFFFFFFFF, sentence), list(arguments)[2:]

    def address(self, data):
        held = ctypes.create_string_buffer(data, len(data) + 1)
        self.kept.append(held)
        return ctypes.addressof(held)

    def text(self, data):
        return self.address(data), len(data)

    def words_at(self, *words):
        return self.address(b"".join(int(w).to_bytes(8, "little", signed=w < 0) for w in words))


class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = Table()
        error, words = cls.table.call(10, *[0] * 7, 0, 0)
        assert error is None, error
        cls.client = words[6]
        cls.device = ctypes.cast(cls.table.call(15, cls.client, 0, 0)[1][1], ctypes.POINTER(WORD))[0]

    @classmethod
    def tearDownClass(cls):
        assert cls.table.call(11, cls.client)[0] is None

    def refused(self, place, *words, code=3, about="."):
        error, after = self.table.call(place, *words)
        self.assertIsNotNone(error)
        self.assertEqual(error[0], code, error)
        self.assertRegex(error[1], about)
        return after

    def compile(self, code, options=b"", kind=b"mlir"):
        program = self.table.words_at(48, 0, *self.table.text(code), *self.table.text(kind))
        return self.table.call(20, self.client, program, *self.table.text(options), 0)

    def array(self, kind=11, dims=(2,), **others):
        data = self.table.address(b"\0" * 64)
        strides = others.get("strides", ())
        return self.table.call(22, self.client, data, kind, self.table.words_at(*dims), len(dims),
                               self.table.words_at(*strides), len(strides), 0, others.get("device", self.device),
                               0, others.get("layout", 0), 0, 0)

    def by_columns(self):
        """A layout of two dimensions, of which the first one's elements are neighbours."""
        return self.table.words_at(0, 0, 0, 0, self.table.words_at(0, 1), 2, 0, 0, 0, 0)

    def test_table(self):
        self.assertEqual(self.table.words[0], 40 + 117 * 8)
        self.assertEqual(self.table.words[4], 78 << 32)
        for place in range(117):
            self.assertTrue(self.table.words[5 + place], place)

    def test_no_error(self):
        self.assertIsNone(self.table.call(0, 0)[0])

    def test_what_is_not_there(self):
        for place in (48, 74, 82, 95, 101, 110):
            self.refused(place, *[0] * 12, code=12, about="no address" if place in (73, 74, 76) else f"function {place}")

    def test_devices(self):
        self.refused(17, self.client, 99, 0, about="no device 99")
        self.refused(17, self.client, 0xFFFFFFFF, 0, about="no device -1")
        self.refused(21, self.client, 1 | 4 << 32, 1, self.table.address(b"\0" * 64), about="no room for 4")
        self.refused(21, self.client, 0, 1, self.table.address(b"\0" * 64))

    def test_client_options(self):
        def value(name, kind, word, size):
            return self.table.words_at(56, 0, *self.table.text(name), kind, word, size)

        self.refused(10, value(b"speed", 0, *self.table.text(b"1")), 1, *[0] * 7, about="no option 'speed'")
        self.refused(10, value(b"device", 1, 3, 1), 1, *[0] * 7, about="device is no string")
        self.refused(10, value(b"precision", 0, *self.table.text(b"best")), 1, *[0] * 7, about="'best'")
        self.refused(10, value(b"f64_as_f32", 0, *self.table.text(b"1")), 1, *[0] * 7, about="neither true nor false")
        self.refused(10, value(b"device", 0, *self.table.text(b"no such device")), 1, *[0] * 7, code=5)

    def test_programs(self):
        text = b"module @m { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> } }"
        for code, kind, about in ((b"", b"mlir", "."), (b"junk", b"mlir", "."), (text, b"hlo", "'hlo'"),
                                  (b"ML\xefR\x0d", b"mlir", "."), (text[:60], b"mlir", ".")):
            error, _ = self.compile(code, kind=kind)
            self.assertIsNotNone(error, code)
            self.assertIn(error[0], (3, 12), error)
            self.assertTrue(error[1])
            self.assertRegex(error[1], about)
        self.assertIn("CompileOptionsProto", self.compile(text, b"\xff\xff")[0][1])
        self.assertEqual(self.compile(text, b"\x1a\x02\x28\x02")[0][0], 12)  # two partitions
        self.assertRegex(self.compile(text, b"\x1a\x0a\x4a\x08\x1a\x06\x0a\x04\x09\0\0\0")[0][1], "no device|Proto")

    def test_runs(self):
        text = b"module @m { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> } }"
        error, words = self.compile(text)
        self.assertIsNone(error)
        loaded = words[4]
        options = self.table.words_at(72, 0, *[0] * 8)

        def run(arguments, devices=1):
            given = self.table.words_at(self.table.words_at(*arguments))
            results = self.table.words_at(self.table.words_at(0, 0))
            error, _ = self.table.call(55, loaded, options, given, devices, len(arguments), results, 0, 0)
            return error

        good, wrong_type, wrong_shape = (self.array(kind=kind, dims=dims)[1]
                                         for kind, dims in ((11, (2,)), (4, (2,)), (11, (3,))))
        self.assertIsNone(run([good[12]]))
        self.assertRegex(run([])[1], "1 arguments, but 0")
        self.assertRegex(run([wrong_type[12]])[1], "another type or shape")
        self.assertRegex(run([wrong_shape[12]])[1], "another type or shape")
        self.assertEqual(run([good[12]], devices=2)[0], 12)
        self.table.call(67, good[12])
        self.assertRegex(run([good[12]])[1], "deleted")
        self.table.call(53, loaded)
        self.assertRegex(run([wrong_type[12]])[1], "deleted")
        for handle in (good, wrong_type, wrong_shape):
            self.table.call(58, handle[12])
            self.table.call(5, handle[11])
        self.table.call(50, loaded)

    def test_arrays(self):
        for change, code, about in (({"kind": 12}, 12, "float64"), ({"kind": 99}, 12, "99"), ({"dims": (-1,)}, 3, "."),
                                    ({"dims": (1 << 40, 1 << 40)}, 8, "."), ({"device": 0}, 3, "no device"),
                                    ({"strides": (4, 4)}, 3, "rank")):
            error, _ = self.array(**change)
            self.assertIsNotNone(error, change)
            self.assertEqual(error[0], code, error)
            self.assertRegex(error[1], about)
        error, _ = self.array(dims=(1, 2), layout=self.by_columns())
        self.assertEqual(error[0], 12)
        self.assertRegex(error[1], "row-major")
        error, words = self.array()
        self.assertIsNone(error)
        array = words[12]
        self.refused(70, array, 0, self.table.address(b"\0" * 8), 7, 0, about="8 bytes does not fit into 7")
        self.refused(100, array, self.table.address(b"\0" * 8), 4, 5, 0, about="outside")
        self.table.call(67, array)
        self.refused(70, array, 0, self.table.address(b"\0" * 8), 8, 0, about="deleted")
        self.refused(72, array, 0, about="deleted")
        self.assertEqual(self.table.call(59, array, 0)[1][1] & 0xFF, 11)
        self.table.call(5, words[11])
        self.table.call(58, array)

    def test_shared_memory(self):
        """Addresses stand for memory; those that the plug-in did not give, or has forgotten, do so no more."""
        library.tosavk_pjrt_lend.restype = library.tosavk_pjrt_offer.restype = ctypes.c_void_p
        buffer, device = ctypes.c_void_p(), ctypes.c_void_p()

        def lend(address):
            return library.tosavk_pjrt_lend(ctypes.c_void_p(address), ctypes.byref(buffer), ctypes.byref(device))

        def view(address, dims=(2,), kind=11, where=self.device, layout=0):
            return 93, self.client, address, self.table.words_at(*dims), len(dims), kind, layout, where, *[0] * 5

        array = self.array()[1]
        self.assertFalse(lend(array[12]))
        address = self.table.call(73, array[12], 0)[1][1]
        self.assertFalse(lend(address + 8))
        loan = ctypes.c_void_p(lend(address))
        self.assertTrue(loan and buffer and device)
        self.assertFalse(library.tosavk_pjrt_offer(buffer, WORD(1 << 40), 1, (ctypes.c_int64 * 1)(2), 2, 32, 7))
        offer = library.tosavk_pjrt_offer(buffer, WORD(8), 1, (ctypes.c_int64 * 1)(2), 2, 32, 7)
        data = ctypes.cast(offer, ctypes.POINTER(WORD))[0]
        self.refused(*view(0), code=12, about="to_jax")
        self.refused(*view(address), code=12, about="to_jax")
        self.refused(*view(data, (3,)), about="larger")
        self.refused(*view(data, (1,), 14), code=12, about="other bytes")
        self.refused(*view(data, (1,), 99), code=12, about="99")
        self.refused(*view(data, where=0), about="no device")
        self.refused(*view(data, (2, 1), layout=self.by_columns()), code=12, about="row-major")
        error, shared = self.table.call(*view(data))
        self.assertIsNone(error)
        self.refused(*view(data), code=12, about="to_jax")  # it has been taken
        library.tosavk_pjrt_end_offer(ctypes.c_void_p(offer))
        self.refused(*view(data), code=12, about="to_jax")
        self.table.call(58, shared[10])
        self.table.call(67, array[12])
        self.refused(73, array[12], 0, about="deleted")
        again = lend(address)  # the loan keeps it
        self.assertTrue(again)
        library.tosavk_pjrt_end_loan(ctypes.c_void_p(again))
        library.tosavk_pjrt_end_loan(loan)
        self.assertFalse(lend(address))
        complex_array = self.array(kind=14)[1]
        self.refused(73, complex_array[12], 0, code=12, about="other bytes")
        for words in (array, complex_array):
            self.table.call(58, words[12])
            self.table.call(5, words[11])

    def test_executables_of_others(self):
        for data in (b"", b"junk", b"tosavk-pjrt-executable-1\n", b"tosavk-pjrt-executable-1\n\xff\0\0\0\0\0\0\0"):
            self.refused(56, self.client, *self.table.text(data), 0)
