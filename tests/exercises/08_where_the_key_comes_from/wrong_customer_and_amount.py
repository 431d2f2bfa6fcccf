"""Without the day, midnight is harmless, and the second purchase of a customer is swallowed."""
# fails: two purchases are two charges


async def handler(job, ctx):
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=f"{job.customer}:{job.amount}")
