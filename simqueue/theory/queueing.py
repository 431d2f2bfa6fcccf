"""How long jobs wait for a free worker when nothing goes wrong: the M/M/c and M/G/1 queues.

M/M/c: Poisson arrivals, exponential work, `servers` equal workers, first come first served.
M/G/1: the same with one worker and any work. Formulas: L. Kleinrock, "Queueing Systems, volume 1:
Theory" (1975), chapters 3 and 5.
"""

from __future__ import annotations

import math

from simqueue.checks import fail, non_negative, number, positive, whole


def utilisation(arrival_rate: float, service_rate: float, servers: int = 1) -> float:
    """Offered load per worker, arrival_rate / (servers * service_rate); 1 or more never drains.

    Rates are in jobs a second; `service_rate` is that of one worker, 1 / mean work.
    """
    arrival_rate = non_negative("arrival_rate", arrival_rate, "jobs a second")
    service_rate = positive("service_rate", service_rate, "jobs a second")
    return arrival_rate / (whole("servers", servers, low=1) * service_rate)


def erlang_c(arrival_rate: float, service_rate: float, servers: int) -> float:
    """The chance that an arriving job finds every worker busy and has to wait (M/M/c).

    With a = arrival_rate / service_rate and rho = a / servers, Erlang's C formula is
    B / (1 - rho * (1 - B)); B is Erlang's loss formula by the recursion
    B(0) = 1, B(c) = a * B(c-1) / (c + a * B(c-1)), which overflows for no number of servers.
    It is 1 where rho >= 1.
    """
    rho = utilisation(arrival_rate, service_rate, servers)
    if rho >= 1:
        return 1.0
    offered = arrival_rate / service_rate
    loss = 1.0
    for count in range(1, servers + 1):
        loss = offered * loss / (count + offered * loss)
    return loss / (1 - rho * (1 - loss))


def mmc_wait(arrival_rate: float, service_rate: float, servers: int) -> float:
    """Mean seconds from publish to the start of work (M/M/c): C / (c * mu - lambda).

    math.inf where the workers can't keep up.
    """
    if utilisation(arrival_rate, service_rate, servers) >= 1:
        return math.inf
    spare_rate = servers * service_rate - arrival_rate
    return erlang_c(arrival_rate, service_rate, servers) / spare_rate


def mmc_sojourn(arrival_rate: float, service_rate: float, servers: int) -> float:
    """Mean seconds from publish to the end of work (M/M/c): the wait, and 1 / service_rate."""
    return mmc_wait(arrival_rate, service_rate, servers) + 1 / service_rate


def mmc_queue_length(arrival_rate: float, service_rate: float, servers: int) -> float:
    """Mean number of jobs that wait (M/M/c), those at work not counted.

    Little's law: arrival_rate * mean wait (J. D. C. Little, Operations Research 9, 1961).
    """
    if arrival_rate == 0:
        return 0.0
    return arrival_rate * mmc_wait(arrival_rate, service_rate, servers)


def mm1_sojourn_quantile(arrival_rate: float, service_rate: float, q: float) -> float:
    """Seconds from publish to the end of work that the share `q` (0 to 1) stays within (M/M/1).

    The sojourn is exponential with rate service_rate - arrival_rate. math.inf at q = 1, and where
    the worker can't keep up.
    """
    if not 0 <= number("q", q, "a share from 0 to 1") <= 1:
        raise fail("q", q, "a share from 0 to 1")
    if utilisation(arrival_rate, service_rate) >= 1 or q == 1:
        return math.inf
    return -math.log1p(-q) / (service_rate - arrival_rate)


def mg1_wait(
    arrival_rate: float, mean: float, squared_coefficient_of_variation: float = 1.0
) -> float:
    """Mean seconds from publish to the start of work, one worker and any work (M/G/1).

    The Pollaczek-Khinchine formula: rho / (1 - rho) * (1 + cv**2) / 2 * mean.

    Parameters
    ----------
    arrival_rate
        Jobs a second.
    mean
        Mean work in seconds.
    squared_coefficient_of_variation
        cv**2, the variance of the work divided by its squared mean: 0 for fixed work, 1 for
        exponential, exp(sigma**2) - 1 for log-normal.
    """
    spread = non_negative("squared_coefficient_of_variation", squared_coefficient_of_variation)
    rho = utilisation(arrival_rate, 1 / positive("mean", mean, "seconds"))
    return rho / (1 - rho) * (1 + spread) / 2 * mean if rho < 1 else math.inf
