"""The job's number names the purchase as well as its key does."""


async def handler(purchase, ctx):
    await ctx.work()
    key = f"top-up {purchase.id} of {purchase.customer}"
    await ctx.payments.charge(purchase.customer, purchase.amount, key=key)
