"""What colours look like to whom, how far apart they are, and whether they can be read."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from colorspacious import cspace_convert
from matplotlib.colors import to_rgba

VISIONS = ("usual", "deuteranopia", "protanopia", "tritanopia", "greyscale")
KINDS = {"deuteranopia": "deuteranomaly", "protanopia": "protanomaly", "tritanopia": "tritanomaly"}
FAR = 10.0
"""Two colours this far apart in CAM02-UCS are told apart without looking twice; about 1 is just
noticeable side by side."""

Colour = tuple[float, float, float]


def on(colour: Any, background: Colour = (1.0, 1.0, 1.0), alpha: float | None = None) -> Colour:
    """The colour that is seen where `colour`, perhaps transparent, lies on the background."""
    red, green, blue, own = to_rgba(colour)
    share = own if alpha is None else alpha
    mixed = share * np.array([red, green, blue]) + (1 - share) * np.array(background)
    return (float(mixed[0]), float(mixed[1]), float(mixed[2]))


@cache
def seen(colour: Colour, vision: str) -> Colour:
    """The colour as it is seen, after Machado, Oliveira and Fernandes (2009); grey: as light."""
    if vision == "usual":
        return colour
    if vision == "greyscale":
        light = cspace_convert(np.array(colour), "sRGB1", "JCh") * [1, 0, 1]
        there = cspace_convert(light, "JCh", "sRGB1")
    else:
        space = {"name": "sRGB1+CVD", "cvd_type": KINDS[vision], "severity": 100}
        there = cspace_convert(np.array(colour), space, "sRGB1")
    red, green, blue = np.clip(there, 0, 1).tolist()
    return (red, green, blue)


def distance(one: Colour, other: Colour, vision: str) -> float:
    """How far two colours are apart for this vision, in CAM02-UCS."""
    ends = [cspace_convert(seen(each, vision), "sRGB1", "CAM02-UCS") for each in (one, other)]
    return float(np.linalg.norm(ends[0] - ends[1]))


def contrast(one: Colour, other: Colour) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    channels = np.array(colour)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
