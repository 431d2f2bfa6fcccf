"""The second SET keeps the time to live of the first."""

from simqueue.context import Retry


async def handler(order, ctx):
    name = f"order:{order.key}"
    if await ctx.redis.set(name, "1", nx=True, ex=20 * 86_400):
        await ctx.work()
        await ctx.payments.charge(order.customer, order.amount)
        await ctx.redis.set(name, "2", keepttl=True)
    elif await ctx.redis.get(name) != "2":
        raise Retry("not done, and not mine")
