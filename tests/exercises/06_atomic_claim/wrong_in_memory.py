"""What a process remembers is gone when it dies, and no other process knows it."""
# fails: nobody is charged twice

charged = set()


async def handler(job, ctx):
    if job.key in charged:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    charged.add(job.key)
