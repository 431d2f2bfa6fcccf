"""It waits and asks again under the same key, as long as it has patience."""

from simqueue.context import Conflict, ResponseLost, Retry


async def handler(job, ctx):
    rows = await ctx.sql.execute("SELECT cents, status FROM charges WHERE number = ?", (job.key,))
    if not rows:
        ((cents,),) = await ctx.sql.execute("SELECT cents FROM price")
        await ctx.sql.execute(
            "INSERT INTO charges VALUES (?, ?, 'new') ON CONFLICT DO NOTHING", (job.key, cents)
        )
        rows = await ctx.sql.execute(
            "SELECT cents, status FROM charges WHERE number = ?", (job.key,)
        )
    ((cents, status),) = rows
    if status == "charged":
        return
    for _ in range(3):
        try:
            await ctx.payments.charge(job.customer, cents, key=job.key)
        except (Conflict, ResponseLost):
            await ctx.sleep(20)
        else:
            await ctx.sql.execute(
                "UPDATE charges SET status = 'charged' WHERE number = ?", (job.key,)
            )
            return
    raise Retry("no answer")
