"""The normal distribution on arrays, which numpy lacks: quantiles and tails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simqueue.distributions.base import Floats

# Rational approximations, each (numerator, denominator) from the highest power down, of
# M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution",
# Applied Statistics 37 (1988), 477-484, routine PPND16: exact to about 16 digits.
CENTRE = (
    [
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ],
    [
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ],
)
TAIL = (
    [
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ],
    [
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ],
)
FAR_TAIL = (
    [
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ],
    [
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ],
)


def normal_quantile(q: Floats) -> Floats:
    """The standard normal quantiles of the flat array `q` (0 to 1); -inf at 0, inf at 1."""
    from_centre = q - 0.5
    result = np.empty_like(from_centre)
    central = np.abs(from_centre) <= 0.425
    middle = from_centre[central]
    result[central] = middle * _ratio(CENTRE, 0.180625 - middle * middle)

    outer = ~central
    share_beyond = np.minimum(q[outer], 1.0 - q[outer])
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.sqrt(-np.log(share_beyond))
        magnitude = _ratio(TAIL, distance - 1.6)
        far = distance > 5.0
        magnitude[far] = _ratio(FAR_TAIL, distance[far] - 5.0)
    magnitude[share_beyond == 0] = np.inf
    result[outer] = np.copysign(magnitude, from_centre[outer])
    return result


def normal_survival(z: Floats) -> Floats:
    """P(Z > z) of a standard normal Z, for each of the flat array `z`, exact far into the tail."""
    return 0.5 * np.fromiter(map(math.erfc, (z / math.sqrt(2.0)).tolist()), np.float64, z.size)


def _ratio(polynomials: tuple[list[float], list[float]], x: Floats) -> Floats:
    numerator, denominator = polynomials
    return _polynomial(numerator, x) / _polynomial(denominator, x)


def _polynomial(coefficients: list[float], x: Floats) -> Floats:
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += coefficient
    return value
