"""Exercise 11, solved: one request on all attempts, and a longer memory than the provider's."""

from simqueue.context import Context, Job

REMEMBER = """
INSERT INTO charges SELECT ?, cents, 'begun' FROM price WHERE true ON CONFLICT DO NOTHING
"""


async def handler(job: Job, ctx: Context) -> None:
    """Charge one purchase at the price of its first attempt, unless it was charged.

    What the provider raises is passed on: another attempt will ask for the same again.
    """
    await ctx.sql.execute(REMEMBER, (job.key,))
    rows = await ctx.sql.execute(
        "SELECT cents FROM charges WHERE number = ? AND status = 'begun'", (job.key,)
    )
    for (cents,) in rows:
        await ctx.work()
        await ctx.payments.charge(job.customer, cents, key=job.key)
        await ctx.sql.execute("UPDATE charges SET status = 'done' WHERE number = ?", (job.key,))
