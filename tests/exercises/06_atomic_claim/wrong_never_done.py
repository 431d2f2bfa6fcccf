"""Whoever finds a claim retries, even if it was completed long ago."""
# fails: a finished session is not retried

from simqueue.context import Retry, UniqueViolation


async def handler(job, ctx):
    try:
        await ctx.sql.execute("INSERT INTO sessions VALUES (?, 'charging')", (job.key,))
    except UniqueViolation:
        raise Retry("somebody has it") from None
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
