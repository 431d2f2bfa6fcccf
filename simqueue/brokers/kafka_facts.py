"""What is known of Kafka, with sources and tests; and what is left out of the model, and why."""

from __future__ import annotations

from simqueue.brokers.facts import Fact

CONSUMER = "Kafka documentation, consumer configs"
BROKER = "Kafka documentation, broker configs"
PRODUCER = "Kafka documentation, producer configs"
CONSUMER_DOC = "KafkaConsumer javadoc"
COORDINATOR = "GroupCoordinator, GroupMetadataManager sources"
CLIENT = "ConsumerCoordinator, AbstractCoordinator sources"

MODELLED = tuple(
    Fact(what, value, source, f"test_{test}")
    for what, value, source, test in (
        (
            "order",
            "total within a partition, none between partitions",
            CONSUMER_DOC,
            "jobs_go_to_partitions_in_turn",
        ),
        (
            "members and partitions",
            "one member of a group for a partition; more members than partitions are idle",
            CONSUMER_DOC,
            "more_members_than_partitions_are_idle",
        ),
        (
            "assignment",
            "ranges of partitions, the first members one more (range assignor)",
            CONSUMER + ", partition.assignment.strategy",
            "partitions_are_dealt_out_in_ranges",
        ),
        ("max.poll.records", "500", CONSUMER, "a_poll_returns_at_most_max_poll_records"),
        (
            "group.initial.rebalance.delay.ms",
            "3 s for an empty group; again 3 s if somebody joined, in its first generation",
            BROKER + "; " + COORDINATOR,
            "the_first_rebalance_waits_for_members",
        ),
        (
            "session.timeout.ms, heartbeat.interval.ms",
            "45 s after the last heartbeat, one every 3 s; the broker allows 6 to 1,800 s",
            CONSUMER + "; " + BROKER,
            "a_crash_is_noticed_a_session_timeout_after_the_last_heartbeat",
        ),
        (
            "a restarted process",
            "is a new member; the old one has to be missed before the rebalance ends",
            COORDINATOR,
            "a_process_that_is_back_soon_waits_for_its_former_self_to_be_missed",
        ),
        (
            "group.instance.id",
            "a static member takes its old place without a rebalance, and never says good-bye",
            CONSUMER,
            "a_static_member_takes_its_old_place",
        ),
        (
            "clean close",
            "commits, and leaves the group at once",
            CLIENT,
            "a_clean_close_leaves_at_once_unless_static",
        ),
        (
            "rebalance timeout",
            "max.poll.interval.ms: who has not joined by then is out",
            CONSUMER,
            "the_coordinator_waits_for_a_join_no_longer_than_a_poll_may_take",
        ),
        (
            "max.poll.interval.ms",
            "300 s: the client leaves the group by itself, and its handler works on",
            CONSUMER + "; " + CLIENT,
            "a_consumer_that_polls_too_seldom_leaves_by_itself",
        ),
        (
            "time for a record",
            "max.poll.interval.ms / max.poll.records = 0.6 s",
            "follows from the two",
            "the_time_for_a_record_is_the_interval_over_the_batch",
        ),
        (
            "commit of who is not the owner",
            "refused (CommitFailedException)",
            CONSUMER_DOC,
            "a_paused_process_sends_no_heartbeats",
        ),
        (
            "enable.auto.commit, auto.commit.interval.ms",
            "on; 5 s; inside poll(), what earlier polls returned; on close and before a rebalance",
            CONSUMER + "; " + CLIENT,
            "when_each_way_commits",
        ),
        (
            "auto-commit with other threads at work",
            "loses records in silence",
            CONSUMER_DOC,
            "hand_off_with_automatic_commits_loses_in_silence",
        ),
        (
            "commits",
            "an offset: all below it is done",
            CONSUMER_DOC,
            "a_lost_commit_is_made_good_by_the_next_one",
        ),
        (
            "attempts",
            "not counted by the broker; no retry delay, no dead-letter queue in it",
            CONSUMER_DOC,
            "a_crash_is_not_an_attempt",
        ),
        (
            "a record that fails",
            "blocks its partition unless the consumer passes over it",
            CONSUMER_DOC,
            "a_failing_record_stops_its_partition",
        ),
        (
            "retention.ms",
            "a record is deleted by its age, read or not",
            "Kafka documentation, topic configs",
            "retention_deletes_what_nobody_has_read",
        ),
        (
            "enable.idempotence",
            "on: a resend by the same producer makes no second record",
            PRODUCER,
            "inc_20_resends_are_second_records_unless_the_producer_is_idempotent",
        ),
        (
            "what idempotence does not cover",
            "a record that the application sends again",
            "KafkaProducer javadoc",
            "the_idempotent_producer_knows_only_its_own_resends",
        ),
    )
)

LEFT_OUT = tuple(
    Fact(what, value, source, left_out=reason)
    for what, value, source, reason in (
        (
            "cooperative rebalances",
            "members keep the partitions that do not move",
            CONSUMER + ", partition.assignment.strategy",
            "rebalances are eager here, as with the range assignor; they hurt more",
        ),
        (
            "group.protocol=consumer",
            "the broker assigns, member by member; heartbeats every 5 s",
            "KIP-848",
            "only the classic protocol, still the clients' default, is modelled",
        ),
        (
            "share groups",
            "records locked one by one for 30 s, delivered 5 times at most",
            "KIP-932",
            "a lease queue under another name: brokers.generic(lease=30, max_receives=5, ...)",
        ),
        (
            "transactional.id, isolation.level",
            "offsets and records committed together",
            "KafkaProducer javadoc",
            "effects here are outside of Kafka, where its transactions do not reach",
        ),
        (
            "fetch.min.bytes, fetch.max.wait.ms",
            "1 byte; 500 ms",
            CONSUMER,
            "calls take no time here, and with 1 byte a fetch waits for nothing",
        ),
        (
            "auto.offset.reset, offsets.retention.minutes",
            "latest; 7 days",
            CONSUMER + "; " + BROKER,
            "the group is there before the first record, and no run lasts that long unused",
        ),
        (
            "retries of a commit",
            "a client tries again for a while",
            CLIENT,
            "a commit that got lost is made good by the next one or, cut off, at the reconnect",
        ),
        (
            "delivery.timeout.ms, max.in.flight.requests.per.connection",
            "120 s; 5, of which the broker remembers as many batches",
            PRODUCER,
            "a producer here has one request at a time under way for each job",
        ),
    )
)

FACTS = MODELLED + LEFT_OUT
