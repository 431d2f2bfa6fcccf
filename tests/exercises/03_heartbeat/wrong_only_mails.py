"""Nobody has worked on the film, and the customer is told that it is ready."""
# fails: every film is restored; a long film stays with its worker; to stand still for a minute costs nothing; when a worker dies another one has the film within five minutes; whoever has lost the film stops; no more extends than were promised


async def handler(job, ctx):
    await ctx.mailer.send(job.customer, "Your film is ready.")
