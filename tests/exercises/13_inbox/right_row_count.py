"""ON CONFLICT DO NOTHING, and its row count decides, all in one transaction."""


async def handler(parcel, ctx):
    await ctx.work()
    async with ctx.sql.transaction() as tx:
        new = await tx.execute("INSERT INTO inbox VALUES (?) ON CONFLICT DO NOTHING", (parcel.key,))
        if new.rowcount:
            await tx.execute("INSERT INTO bookings (message) VALUES (?)", (parcel.key,))
