"""A plain insert, and its exception, in other words."""

from simqueue.context import Retry, UniqueViolation


async def handler(message, context):
    statement = "INSERT INTO sessions (session, status) VALUES (:it, 'open')"
    try:
        await context.sql.execute(statement, {"it": message.key})
    except UniqueViolation:
        ((state,),) = await context.sql.execute(
            "SELECT status FROM sessions WHERE session = :it", {"it": message.key}
        )
        if state != "closed":
            raise Retry("not ours") from None
    else:
        await context.work()
        await context.payments.charge(message.customer, message.amount)
        await context.sql.execute(
            "UPDATE sessions SET status = 'closed' WHERE session = :it", {"it": message.key}
        )
