"""It asks for four minutes; if that is too much, the lease that is there will do."""

from contextlib import suppress

from simqueue.context import LeaseLimit


async def handler(film, context):
    done, beat = 0.0, context.now
    await context.extend(240)
    while done < 1:
        share = min(0.005, 1 - done)
        await context.work(share)
        done += share
        if context.now >= beat + 40:
            with suppress(LeaseLimit):
                await context.extend(240)
            beat = context.now
    await context.mailer.send(film.customer, "ready")
