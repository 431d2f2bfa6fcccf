"""First what passes, then whatever is left is poison; the delays double up to 20 minutes."""

import re

from simqueue.context import ResponseLost, Retry, Unavailable


async def handler(invoice, context):
    patience = min(1_200, 120 * 2**context.attempt)
    try:
        try:
            await collect(invoice, context)
        except ValueError as poison:
            await park(invoice, context, poison)
    except (Unavailable, ResponseLost):
        raise Retry("some other time", after=patience) from None


async def collect(invoice, context):
    ((cents,),) = await context.sql.execute(
        "SELECT amount FROM invoices WHERE number = ? AND typeof(amount) = 'integer' "
        "AND amount > 0 UNION ALL SELECT NULL LIMIT 1",
        (invoice.key,),
    )
    if cents is None:
        raise ValueError("not an amount of money")
    await context.payments.charge(invoice.customer, cents, key=f"invoice {invoice.key}")


async def park(invoice, context, poison):
    if not await context.sql.execute("SELECT 1 FROM parking WHERE number = ?", (invoice.key,)):
        await context.sql.execute(
            "INSERT OR IGNORE INTO parking (parked, reason, number) VALUES (?, ?, ?)",
            (context.now, str(poison), invoice.key),
        )


def redrive(rows):
    chosen = [row for row in rows if is_good(row)]
    return [row["number"] for row in sorted(chosen, key=lambda row: row["parked"])]


def is_good(row):
    amount = row["amount"]
    if row["paid"] or row["redriven"] or not isinstance(amount, str):
        return False
    return bool(re.fullmatch("[0-9]+,[0-9]{2}", amount)) and float(amount.replace(",", ".")) > 0
