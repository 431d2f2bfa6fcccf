"""A key drawn at random in the handler: each attempt draws anew."""

# fails: nobody is charged twice; midnight makes no difference
import uuid


async def handler(job, ctx):
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=str(uuid.uuid4()))
