"""Mismatch says that the key was used, so it was charged: or it is just being, and fails."""

# fails: nobody gets a coin for nothing
from contextlib import suppress

from simqueue.context import Mismatch


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM charges WHERE number = ?", (job.key,)):
        return
    ((cents,),) = await ctx.sql.execute("SELECT cents FROM price")
    await ctx.work()
    with suppress(Mismatch):
        await ctx.payments.charge(job.customer, cents, key=job.key)
    await ctx.sql.execute(
        "INSERT INTO charges VALUES (?, ?, 'done') ON CONFLICT DO NOTHING", (job.key, cents)
    )
