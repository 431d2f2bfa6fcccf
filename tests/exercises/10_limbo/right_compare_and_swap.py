"""It looks, and then takes over only the row that it has seen: the second of two changes nothing."""

from simqueue.context import Retry, Unavailable


async def handler(order, ctx):
    rows = await ctx.sql.execute("SELECT status, since FROM orders WHERE number = ?", (order.key,))
    if not rows:
        mine = await ctx.sql.execute(
            "INSERT INTO orders VALUES (?, 'processing', ?) ON CONFLICT DO NOTHING",
            (order.key, ctx.now),
        )
    elif rows[0][0] == "done":
        return
    elif rows[0][0] == "processing" and ctx.now - rows[0][1] < 1_000:
        raise Retry("young")
    else:
        mine = await ctx.sql.execute(
            "UPDATE orders SET status = 'processing', since = ? WHERE number = ? AND status = ? "
            "AND since = ?",
            (ctx.now, order.key, *rows[0]),
        )
    if mine.rowcount != 1:
        raise Retry("somebody was quicker")
    try:
        await ctx.work()
        await ctx.payments.charge(order.customer, order.amount)
    except Unavailable:
        await ctx.sql.execute(
            "UPDATE orders SET status = 'failed', since = ? WHERE number = ?", (ctx.now, order.key)
        )
        raise
    await ctx.sql.execute("UPDATE orders SET status = 'done' WHERE number = ?", (order.key,))
