"""Somebody else is at it, so it is as good as done; but they may fail."""

# fails: nobody gets a coin for nothing
from contextlib import suppress

from simqueue.context import Conflict

REMEMBER = """
INSERT INTO charges SELECT ?, cents, 'begun' FROM price WHERE true ON CONFLICT DO NOTHING
"""
LOOK = "SELECT cents, status FROM charges WHERE number = ?"
DONE = "UPDATE charges SET status = 'done' WHERE number = ?"


async def handler(job, ctx):
    await ctx.sql.execute(REMEMBER, (job.key,))
    ((cents, status),) = await ctx.sql.execute(LOOK, (job.key,))
    if status == "done":
        return
    await ctx.work()
    with suppress(Conflict):
        await ctx.payments.charge(job.customer, cents, key=job.key)
    await ctx.sql.execute(DONE, (job.key,))
