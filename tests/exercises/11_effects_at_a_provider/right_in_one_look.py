"""One statement writes the first price or reads it; errors of the provider become a Retry."""

from simqueue.context import Conflict, ResponseLost, Retry

FIRST_PRICE = """
INSERT INTO charges SELECT :it, cents, 'open' FROM price WHERE true
ON CONFLICT DO UPDATE SET cents = charges.cents RETURNING cents, status
"""


async def handler(purchase, context):
    ((amount, status),) = await context.sql.execute(FIRST_PRICE, {"it": purchase.key})
    if status == "paid":
        return
    await context.work()
    try:
        await context.payments.charge(purchase.customer, amount, key=f"coin {purchase.id}")
    except (Conflict, ResponseLost) as unknown:
        raise Retry(str(unknown), after=120) from unknown
    await context.sql.execute(
        "UPDATE charges SET status = 'paid' WHERE number = :it", {"it": purchase.key}
    )
