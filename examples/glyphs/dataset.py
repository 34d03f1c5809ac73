# SPDX-License-Identifier: Apache-2.0
"""Labelled 28x28 pictures of digits and capital letters, rendered from Debian fonts.

Nothing is downloaded: a picture is a font, a character and a random distortion,
so a seed and the font files determine a whole data set.
"""

import os

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIZE = 28
LABELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# The glyph is distorted on a larger canvas and then averaged down, so that
# strokes keep their antialiased edges.
_OVERSAMPLE = 4
_CANVAS = SIZE * _OVERSAMPLE
_CAP_HEIGHT = 76
_MAX_WIDTH = 100

TRAIN_FONTS = (
    "dejavu/DejaVuSans.ttf",
    "dejavu/DejaVuSans-Bold.ttf",
    "dejavu/DejaVuSansMono.ttf",
    "dejavu/DejaVuSansMono-Bold.ttf",
    "dejavu/DejaVuSerif.ttf",
    "dejavu/DejaVuSerif-Bold.ttf",
    "freefont/FreeMono.ttf",
    "freefont/FreeMonoBold.ttf",
    "freefont/FreeSans.ttf",
    "freefont/FreeSansBold.ttf",
    "freefont/FreeSansOblique.ttf",
    "freefont/FreeSerif.ttf",
    "freefont/FreeSerifBold.ttf",
    "freefont/FreeSerifItalic.ttf",
    "liberation/LiberationMono-Regular.ttf",
    "liberation/LiberationMono-Bold.ttf",
    "liberation/LiberationSans-Regular.ttf",
    "liberation/LiberationSans-Bold.ttf",
    "liberation/LiberationSans-Italic.ttf",
    "liberation/LiberationSansNarrow-Regular.ttf",
    "liberation/LiberationSansNarrow-Bold.ttf",
    "liberation/LiberationSerif-Regular.ttf",
    "liberation/LiberationSerif-Bold.ttf",
    "liberation/LiberationSerif-BoldItalic.ttf",
    "roboto/unhinted/RobotoTTF/Roboto-Regular.ttf",
    "roboto/unhinted/RobotoTTF/Roboto-Bold.ttf",
    "roboto/unhinted/RobotoTTF/Roboto-Light.ttf",
    "roboto/unhinted/RobotoTTF/Roboto-Italic.ttf",
    "roboto/unhinted/RobotoCondensed-Regular.ttf",
)

# Families that the training never sees.
UNSEEN_FONTS = (
    "lato/Lato-Regular.ttf",
    "lato/Lato-Bold.ttf",
    "lato/Lato-Light.ttf",
    "lato/Lato-Italic.ttf",
    "open-sans/OpenSans-Regular.ttf",
    "open-sans/OpenSans-Bold.ttf",
    "open-sans/OpenSans-Light.ttf",
    "open-sans/OpenSans-Italic.ttf",
)


class Renderer:
    """Renders distorted glyphs; keeps one clean master bitmap per font and character."""

    def __init__(self, font_root, fonts):
        self._masters = []
        for name in fonts:
            font = self._load(os.path.join(font_root, name))
            self._masters.append([self._master(font, c) for c in LABELS])
        self.fonts = tuple(fonts)

    @staticmethod
    def _load(path):
        # Fonts differ in cap height per em: measure it and load the size that
        # makes all fonts equally tall.
        probe = ImageFont.truetype(path, 100, layout_engine=ImageFont.Layout.BASIC)
        box = probe.getbbox("H")
        size = round(100 * _CAP_HEIGHT / (box[3] - box[1]))
        return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)

    @staticmethod
    def _master(font, char):
        left, top, right, bottom = font.getbbox(char)
        image = Image.new("L", (_CANVAS, _CANVAS), 0)
        origin = ((_CANVAS - (right - left)) / 2 - left, (_CANVAS - (bottom - top)) / 2 - top)
        ImageDraw.Draw(image).text(origin, char, fill=255, font=font)
        return image, right - left

    def render(self, rng, font, label, strength=1.0):
        """One picture as uint8 [28,28]: light glyph on dark ground."""
        master, width = self._masters[font][label]

        def spread(amount):
            return rng.uniform(-amount, amount) * strength

        weight = rng.uniform()
        if weight < 0.15:
            master = master.filter(ImageFilter.MaxFilter(5))
        elif weight < 0.30:
            master = master.filter(ImageFilter.MinFilter(3))

        angle = np.deg2rad(spread(12.0))
        scale = 0.96 + spread(0.16)
        scale_x = min(scale * (1.0 + spread(0.10)), _MAX_WIDTH / max(width, 1))
        scale_y = scale * (1.0 + spread(0.10))
        shear = spread(0.20)
        rotate = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        forward = rotate @ np.array([[1.0, shear], [0.0, 1.0]]) @ np.diag([scale_x, scale_y])
        # The imaging library maps output pixels to input pixels.
        inverse = np.linalg.inv(forward)
        centre = np.full(2, _CANVAS / 2)
        moved = centre + np.array([spread(2.0), spread(2.0)]) * _OVERSAMPLE
        offset = centre - inverse @ moved
        image = master.transform(
            master.size, Image.Transform.AFFINE,
            (inverse[0, 0], inverse[0, 1], offset[0], inverse[1, 0], inverse[1, 1], offset[1]),
            Image.Resampling.BILINEAR)
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.0, 3.2) * strength))
        glyph = np.asarray(image.reduce(_OVERSAMPLE), np.float64) / 255.0

        ground = rng.uniform(0.0, 0.25) * strength
        ink = 1.0 - rng.uniform(0.0, 0.40) * strength
        slope = np.linspace(-0.5, 0.5, SIZE)
        shade = slope[:, None] * spread(0.20) + slope[None, :] * spread(0.20)
        noise = rng.standard_normal((SIZE, SIZE)) * rng.uniform(0.0, 0.09) * strength
        picture = ground + (ink - ground) * glyph + shade + noise
        return np.clip(np.round(picture * 255.0), 0, 255).astype(np.uint8)

    def make_set(self, seed, per_class):
        """Pictures uint8 [N,28,28,1], labels and font indices, in random order."""
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.repeat(np.arange(len(LABELS)), per_class))
        fonts = rng.integers(0, len(self.fonts), len(labels))
        pictures = np.stack([self.render(rng, f, c) for f, c in zip(fonts, labels)])
        return pictures[..., None], labels, fonts


def to_float(pictures):
    """The fp32 network takes 0..1."""
    return pictures.astype(np.float32) / np.float32(255.0)
