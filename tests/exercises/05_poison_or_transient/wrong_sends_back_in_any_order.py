"""The right ones, in the order in which they were listed."""
# fails: only what can succeed is sent back

import re

from simqueue.context import ResponseLost, Retry, Unavailable


async def handler(job, ctx):
    try:
        await collect(job, ctx)
    except (Unavailable, ResponseLost) as trouble:
        raise Retry("down", after=900) from trouble


async def collect(job, ctx):
    rows = await ctx.sql.execute("SELECT amount FROM invoices WHERE number = ?", (job.key,))
    amount = rows[0][0]
    if isinstance(amount, int) and amount > 0:
        await ctx.payments.charge(job.customer, amount, key=job.key)
    else:
        await park(job, ctx, amount)


async def park(job, ctx, amount):
    await ctx.sql.execute(
        "INSERT INTO parking VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (job.key, f"the amount is {amount!r}", ctx.now),
    )


def redrive(rows):
    chosen = [row for row in rows if is_good(row)]
    return [row["number"] for row in chosen]


def is_good(row):
    amount = row["amount"]
    if row["paid"] or row["redriven"] or not isinstance(amount, str):
        return False
    return bool(re.fullmatch("[0-9]+,[0-9]{2}", amount)) and float(amount.replace(",", ".")) > 0
