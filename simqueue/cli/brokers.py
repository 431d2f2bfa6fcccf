"""`simqueue brokers`: the facts of each broker, and where each comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simqueue.brokers import Fact

HELP = """What does a broker do when a worker dies, or a job takes too long?

Without a name, lists the brokers that simqueue knows. With one, prints its facts, each with its
source, and with the reason where it is not modelled.

\b
What RabbitMQ does:
  simqueue brokers rabbitmq
All of them under the same faults:
  simqueue brokers --compare
"""


@click.command(help=HELP, short_help="What a broker does, fact by fact, with sources.")
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="Print the facts of all brokers as Markdown.")
@click.option(
    "--compare", is_flag=True, help="Simulate the same jobs and faults on each; some seconds."
)
def brokers(name: str | None, markdown: bool, compare: bool) -> None:
    """The command `simqueue brokers`."""
    if compare:
        from simqueue.side_by_side import as_markdown as compared
        from simqueue.side_by_side import compare_brokers

        click.echo(compared(compare_brokers()), nl=False)
        return
    from simqueue.brokers.all_facts import NAMES, facts_of
    from simqueue.cli.output import new_console, new_table

    if markdown:
        from simqueue.brokers.all_facts import as_markdown

        click.echo(as_markdown(), nl=False)
        return
    console, table = new_console(), new_table()
    if name is None:
        table.add_column("broker", no_wrap=True)
        table.add_column("what it is")
        table.add_column("facts", justify="right")
        for each, what in NAMES.items():
            table.add_row(each, what, str(len(facts_of(each))))
        console.print(table)
        console.print("What does it do? Add the name of a broker.")
        return
    for column in ("about", "fact", "source"):
        table.add_column(column)
    for fact in facts_of(name):
        table.add_row(fact.what, _told(fact), fact.source)
    console.print(table)


def _told(fact: Fact) -> str:
    return f"{fact.value}\n(not modelled: {fact.left_out})" if fact.left_out else fact.value
