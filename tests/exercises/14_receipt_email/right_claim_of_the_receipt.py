"""The charge needs no claim, since the provider knows its key; only the receipt is claimed."""

from simqueue.context import Claim, Retry


async def handler(ticket, context):
    receipt = f"receipt of {ticket.key}"
    if await context.store.is_done(receipt):
        return
    await context.payments.charge(ticket.customer, ticket.amount, key=ticket.key)
    found = await context.store.claim(receipt, stale_after=20 * 60)
    if found is Claim.DONE:
        return
    if found is not Claim.WON:
        raise Retry("somebody is sending it", after=600)
    await context.work()
    await context.mailer.send(ticket.customer, "Your receipt")
    await context.store.complete(receipt)


def statement():
    return {"missing": [], "twice": ["answer of send lost", "crash after send"]}
