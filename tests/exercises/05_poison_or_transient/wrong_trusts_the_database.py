"""It retries the provider with patience, and lets trouble with the database use up the attempts."""
# fails: an outage costs no invoice; few calls while the provider is down; poison is parked at its first delivery

import re

from simqueue.context import ResponseLost, Retry, Unavailable


async def handler(job, ctx):
    rows = await ctx.sql.execute("SELECT amount FROM invoices WHERE number = ?", (job.key,))
    amount = rows[0][0]
    if isinstance(amount, int) and amount > 0:
        try:
            await ctx.payments.charge(job.customer, amount, key=job.key)
        except (Unavailable, ResponseLost) as trouble:
            raise Retry("down", after=900) from trouble
    else:
        await park(job, ctx, amount)


async def park(job, ctx, amount):
    await ctx.sql.execute(
        "INSERT INTO parking VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (job.key, f"the amount is {amount!r}", ctx.now),
    )


def redrive(rows):
    chosen = [row for row in rows if is_good(row)]
    return [row["number"] for row in sorted(chosen, key=lambda row: row["parked"])]


def is_good(row):
    amount = row["amount"]
    if row["paid"] or row["redriven"] or not isinstance(amount, str):
        return False
    return bool(re.fullmatch("[0-9]+,[0-9]{2}", amount)) and float(amount.replace(",", ".")) > 0
