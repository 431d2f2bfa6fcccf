"""Of the jobs above the true quantile, the log has a binomial number: count on few of them."""

import math


def choose(durations, duplicates, recovery):
    rows, above, chance = len(durations), 0, 0.0
    slow_first = sorted(durations, reverse=True)
    if sum(seconds > recovery for seconds in durations) > duplicates * rows:
        return None
    while above < rows:
        ways = math.log(math.comb(rows, above))
        odds = above * math.log(duplicates) + (rows - above) * math.log1p(-duplicates)
        chance += math.exp(ways + odds)
        if chance > 0.03:
            break
        above += 1
    if above == 0:
        return recovery
    return min(slow_first[above - 1] + 1, recovery)
