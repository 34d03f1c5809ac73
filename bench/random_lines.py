"""Random problem lines (tosa-vk-bench --help-problems) of many sizes, for scripts/gpu-compilers --random."""
import random

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 30, 32, 40, 48, 56, 64, 72, 80, 96, 100, 112, 128, 144, 160, 192, 200,
            256, 320, 384, 512)
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 10, 12, 14, 16, 17, 20, 24, 28, 32, 34, 40, 48, 56, 64, 72, 80, 96, 112, 128)
WINDOWS = ((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (2, 2), (4, 4), (1, 3), (3, 1), (1, 7), (7, 3))
INNER = (1, 3, 8, 16, 32, 37, 48, 64, 77, 80, 96, 100, 128, 192, 196, 256, 300, 384, 512, 700, 768, 1000, 1024, 2048)
MOST_PRODUCTS = 4e9  # larger ones take the kernels of these


class Lines:
    """Endless, the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def __iter__(self):
        kinds = (self.conv2d,) * 6 + (self.matmul,) * 4 + (self.depthwise,) * 3 + (
            self.transpose_conv2d, self.transpose_conv2d, self.conv3d, self.conv3d, self.fully_connected, self.pool,
            self.reduction, self.softmax, self.chain, self.attention, self.transpose)
        while True:
            yield self.pick(kinds)()

    def pick(self, of):
        return self.random.choice(of)

    def typed(self):
        """A type, and what may follow a product of it."""
        kind = self.pick(("f32",) * 8 + ("i8",) * 6 + ("f16",) * 5 + ("bf16", "16x8", "e4m3"))
        return kind, self.pick(("", " rescale", " rescale clamp") if kind in ("i8", "16x8") else
                               ("",) if kind == "e4m3" else ("", "", " clamp", " sigmoid", " tanh", " add", " mul"))

    def window(self, stride, dilation=1, of=WINDOWS):
        """A kernel, its padding, an input that its steps fill, and how many pixels it makes."""
        kernel = self.pick(of)
        pad = self.pick((min(kernel) // 2, min(kernel) // 2, 0))
        high = self.pick(EXTENTS)
        wide = self.pick((high, high, self.pick(EXTENTS)))
        sizes = [stride * (n - 1) + dilation * (k - 1) + 1 - 2 * pad for n, k in zip((high, wide), kernel)]
        if min(sizes) < 1:
            return self.window(stride, dilation, of)
        return kernel, pad, sizes, high * wide

    def conv2d(self):
        stride, dilation = self.pick(((1, 1), (1, 1), (1, 1), (2, 1), (2, 1), (3, 1), (1, 2)))
        (kh, kw), pad, (h, w), pixels = self.window(stride, dilation)
        inner, outer, (kind, then) = self.pick(CHANNELS), self.pick(CHANNELS), self.typed()
        if pixels * inner * outer * kh * kw > MOST_PRODUCTS:
            return self.conv2d()
        return (f"conv2d {kind} {self.pick((1, 1, 1, 2, 4))}x{h}x{w}x{inner} {outer}x{kh}x{kw} s{stride} p{pad}"
                f"{' d2' if dilation == 2 else ''}{then}")

    def conv3d(self):
        kind, then = self.typed()
        side, few = self.pick((4, 7, 8, 14, 16, 28)), CHANNELS[:23]
        return (f"conv3d {kind} 1x{self.pick((2, 4, 8, 16))}x{side}x{side}x{self.pick(few)} "
                f"{self.pick(few)}x{self.pick(('3x3x3', '1x3x3', '3x1x1', '2x2x2', '1x1x1'))} same{then}")

    def transpose_conv2d(self):
        kind, then = self.typed()
        side, few, kernel = self.pick((4, 7, 8, 14, 16, 20, 28, 40)), CHANNELS[:28], self.pick((1, 2, 3, 4, 5))
        return (f"transpose_conv2d {kind} 1x{side}x{self.pick((side, side, 16))}x{self.pick(few)} "
                f"{self.pick(few)}x{kernel}x{kernel} s{self.pick((1, 2, 2, 3))}{then}")

    def depthwise(self):
        stride = self.pick((1, 1, 2))
        (kh, kw), pad, (h, w), _ = self.window(stride)
        kind, then = self.typed()
        return (f"depthwise {kind} {self.pick((1, 1, 2))}x{h}x{w}x{self.pick(CHANNELS)} "
                f"{self.pick((1, 1, 1, 2, 3))}x{kh}x{kw} s{stride} p{pad}{then}")

    def matmul(self):
        kind, then = self.typed()
        batch, rows, columns, inner = (self.pick((1, 1, 1, 2, 6, 8, 12, 32)), self.pick((1, 1, *INNER)),
                                       self.pick(INNER), self.pick(INNER))
        if batch * rows * columns * inner > MOST_PRODUCTS:
            return self.matmul()
        return f"matmul {kind} {batch}x{rows}x{inner}x{columns}{then}"

    def fully_connected(self):
        kind, then = self.typed()
        return f"fully_connected {kind} {self.pick((1, 1, 2, 4, 7, 49))}x{self.pick(INNER)} {self.pick(INNER)}{then}"

    def pool(self):
        (kh, kw), _, (h, w), _ = self.window(1, of=((2, 2), (3, 3), (5, 5), (7, 7), (1, 3)))
        return (f"{self.pick(('avg_pool2d', 'max_pool2d'))} {self.pick(('f32', 'f16', 'i8'))} "
                f"1x{h}x{w}x{self.pick(CHANNELS)} {kh}x{kw} s1 same")

    def shape(self):
        return self.pick(((self.pick(INNER), self.pick(INNER)), (12, self.pick(EXTENTS), self.pick(INNER)),
                          (1, self.pick(EXTENTS), self.pick(EXTENTS), self.pick(CHANNELS))))

    def reduction(self):
        name = self.pick(("reduce_max", "reduce_min", "reduce_sum", "argmax"))
        shape, kind = self.shape(), self.pick(("f32", "f16"))
        return f"{name} {kind} {'x'.join(map(str, shape))} axis{self.random.randrange(len(shape))}"

    def softmax(self):
        shape, kind = self.shape(), self.pick(("f32", "f16"))
        return f"softmax {kind} {'x'.join(map(str, shape))} axis{self.random.randrange(len(shape))}"

    def chain(self):
        then = (self.pick(("add", "mul", "sigmoid", "tanh", "exp", "relu6", "sub", "abs", "rsqrt", "erf"))
                for _ in range(self.random.randint(2, 7)))
        return f"chain {self.pick(('f32', 'f16'))} {'x'.join(map(str, self.shape()))} {' '.join(then)}"

    def attention(self):
        return (f"attention {self.pick(('f32', 'f16'))} {self.pick((1, 8, 12))}x{self.pick((1, 49, 64, 77, 196, 512))}x"
                f"{self.pick((24, 32, 64, 80, 128))}{self.pick(('', ' mask'))}")

    def transpose(self):
        shape = self.shape()
        order = self.random.sample(range(len(shape)), len(shape))
        return f"transpose {self.pick(('f32', 'f16', 'i8'))} {'x'.join(map(str, shape))} {','.join(map(str, order))}"
