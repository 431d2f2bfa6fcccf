"""Job logs: from any CSV file with times and durations come the right arrivals and work."""

from __future__ import annotations

import csv
import gzip
import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simqueue.distributions import Empirical
from simqueue.trace import JobLog, SkippedRow, read
from simqueue.trace.columns import split_unit

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "thumbnails.csv"
REAL_LOG = ROOT.parent / "shared" / "data" / "genai_requests.csv"

needs_real_log = pytest.mark.skipif(
    not REAL_LOG.exists(), reason="the real log is not beside this repository (../shared/data)"
)


@pytest.fixture
def log_of(tmp_path):
    """A function that writes a file and reads it as a log."""

    def write_and_read(text: str | bytes, name: str = "jobs.csv", **options) -> JobLog:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(path, **options)

    return write_and_read


def log_with(arrivals, durations, **fields) -> JobLog:
    """A log of these jobs."""
    return JobLog(np.array(arrivals, dtype=float), np.array(durations, dtype=float), **fields)


# Which columns


def test_a_creation_time_and_a_duration_are_enough(log_of):
    """Arrivals count from the first one, and durations stay with their jobs."""
    log = log_of("created_at,duration_seconds\n2024-05-01 10:00:00,3\n2024-05-01 10:00:07,4.5\n")
    assert log.arrivals.tolist() == [0.0, 7.0]
    assert log.durations.tolist() == [3.0, 4.5]
    assert (len(log), log.rows, log.started_at) == (2, 2, "2024-05-01T10:00:00")
    assert log.name == "jobs.csv"


def test_jobs_are_sorted_by_arrival(log_of):
    """A log in another order, such as that of completion, is put right."""
    log = log_of("created_at,duration_s\n2024-05-01 10:00:09,1\n2024-05-01 10:00:02,2\n")
    assert log.arrivals.tolist() == [0.0, 7.0]
    assert log.durations.tolist() == [2.0, 1.0]


def test_start_and_end_give_the_duration_exactly(log_of):
    """30 s between two epochs with fractions is 30 s, not a hair more: it does not outlast 30 s."""
    row = "1700000000.1,1700000007.3,1700000037.3\n"
    log = log_of(f"enqueued_at,started_at,finished_at\n{row}")
    assert log.durations.tolist() == [30.0]
    assert log.share_over(30) == 0


def test_differences_of_epochs_with_fractions_are_exact(log_of):
    """To the microsecond, though no such fraction is exact in binary."""
    rows = "".join(f"1700000000.{n:03},1700000031.{n:03}\n" for n in range(1000))
    log = log_of(f"start,end\n{rows}")
    assert set(log.durations) == {31.0}
    assert log.arrivals.tolist() == [n / 1000 for n in range(1000)]


def test_a_start_time_stands_in_for_a_missing_creation_time(log_of):
    """And the report says so."""
    log = log_of("start_time,runtime\n2024-05-01T10:00:00,3\n2024-05-01T10:00:05,3\n")
    assert log.arrivals.tolist() == [0.0, 5.0]
    assert "no creation time: start_time stands in its place" in log.report()


def test_columns_can_be_chosen_in_any_case(log_of):
    """A chosen name wins over the usual ones."""
    text = "created_at,Wanted,duration,secs\n2024-05-01,2024-05-02,1,2\n"
    log = log_of(text, created="wanted", duration="secs")
    assert log.started_at == "2024-05-02T00:00:00"
    assert log.durations.tolist() == [2.0]


def test_a_chosen_end_wins_over_a_guessed_duration(log_of):
    """`ended=` means: take the time from start to end."""
    text = "start,end,duration\n2024-05-01 10:00:00,2024-05-01 10:00:09,1\n"
    assert log_of(text, ended="end").durations.tolist() == [9.0]
    assert log_of(text).durations.tolist() == [1.0]


def test_of_several_fitting_columns_the_commonest_name_is_taken_and_reported(log_of):
    """`created_at` comes before `timestamp`."""
    log = log_of("timestamp,created_at,duration_s\n2024-05-01,2024-05-02,1\n")
    assert log.started_at == "2024-05-02T00:00:00"
    assert "created_at was taken as created=, though timestamp would fit as well." in log.notes


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("job,duration", "has no column that says when a job was created or started"),
        ("created_at,job", "has no column that says how long a job took"),
        ("created_at,started_at", "has no column that says how long a job took"),
        ("created_at,finished_at", "waiting and work together: name a column with duration="),
    ],
)
def test_what_is_missing_is_named_with_the_columns_there_are(log_of, header, message):
    """A log that cannot tell arrival and work is refused, and its columns are listed."""
    with pytest.raises(ValueError, match=message) as error:
        log_of(f"{header}\n2024-05-01,2024-05-02\n")
    assert f"Its columns are {header.replace(',', ', ')}." in str(error.value)


def test_a_mistyped_column_gets_a_suggestion(log_of):
    """The closest name is offered."""
    with pytest.raises(ValueError, match=r"no column 'creatd' .*did you mean 'Created'\?"):
        log_of("Created,duration\n2024-05-01,1\n", created="creatd")


def test_duration_and_end_cannot_both_be_chosen(log_of):
    """They could contradict each other."""
    with pytest.raises(ValueError, match="duration='d' or ended='e', not both"):
        log_of("created_at,d,e\n2024-05-01,1,2\n", duration="d", ended="e")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("durationMs", ("duration", "ms")),
        ("Exec Time (seconds)", ("exec_time", "s")),
        ("exec_time_seconds", ("exec_time", "s")),
        ("runtime [ms]", ("runtime", "ms")),
        ("created_at", ("created_at", None)),
        ("ms", ("ms", None)),
    ],
)
def test_a_name_may_end_with_its_unit(name, parts):
    """Whatever the spelling: camel case, spaces, brackets."""
    assert split_unit(name) == parts


# Times and durations


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:07.5Z"),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:07.500+00:00"),
        ("2024-05-01 10:00:00 UTC", "2024-05-01 10:00:07.5 UTC"),
        ("2024/05/01 10:00:00", "2024/05/01 10:00:07.5"),
        ('"2024-05-01 10:00:00,000"', '"2024-05-01 10:00:07,500"'),
        ("1714557600", "1714557607.5"),
        ("1714557600000", "1714557607500"),
        ("1714557600000000", "1714557607500000"),
        ("1714557600000000000", "1714557607500000000"),
        ("12.5", "20"),
        ("0", "7.5"),
    ],
)
def test_times_as_logs_write_them(log_of, first, second):
    """ISO with and without offset, epochs told by their size, and plain offsets in seconds."""
    log = log_of(f"created_at,duration_s\n{first},1\n{second},1\n")
    assert log.arrivals.tolist() == [0.0, 7.5]


@pytest.mark.parametrize(
    ("value", "started_at"),
    [
        ("2024-05-01T10:00:00", "2024-05-01T10:00:00"),
        ("2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00Z"),
        ("1714557600", "2024-05-01T10:00:00Z"),
        ("17", None),
    ],
)
def test_the_first_arrival_is_kept_as_iso_text(log_of, value, started_at):
    """In UTC where the log tells, as it is where it does not, None for offsets."""
    assert log_of(f"created_at,duration_s\n{value},1\n").started_at == started_at


def test_times_with_and_without_offset_in_one_log_are_reported(log_of):
    """Those without count as UTC."""
    rows = "2024-05-01T12:00:00+02:00,1\n2024-05-01T10:00:03,1\n"
    log = log_of(f"created_at,duration_s\n{rows}")
    assert log.arrivals.tolist() == [0.0, 3.0]
    assert "those without count as UTC" in log.report()


def test_numbers_that_are_no_epoch_need_a_word_from_the_caller(log_of):
    """Compact dates are refused with a hint, and read with `time_format=`."""
    text = "created_at,duration_s\n20240501100000,1\n20240501100007,1\n"
    with pytest.raises(ValueError, match=r"column created_at .* are no time in .*time_format="):
        log_of(text)
    assert log_of(text, time_format="%Y%m%d%H%M%S").arrivals.tolist() == [0.0, 7.0]


def test_small_numbers_of_another_unit_need_a_name_or_a_word(log_of):
    """Offsets in milliseconds: by the column's name, or by `time_unit=`."""
    assert log_of("arrival_ms,took\n0,1\n2300,1\n").arrivals.tolist() == [0.0, 2.3]
    log = log_of("arrival,took\n0,1\n1500,1\n", time_unit="ms")
    assert log.arrivals.tolist() == [0.0, 1.5]


@pytest.mark.parametrize(
    "zero",
    ["0", "0000-00-00 00:00:00", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", ""],
)
def test_the_zeros_that_mean_not_set_do_not_stretch_the_log(log_of, zero):
    """A job "created in 1970" is a row without a time."""
    good = "1714557600" if zero == "0" else "2024-05-01T10:00:00Z"
    log = log_of(f"created_at,duration_s\n{good},1\n{good},1\n{good},1\n{zero},1\n")
    reason = "creation time cannot be read" if zero == "0" else "no creation time"
    assert (len(log), log.span, log.skipped) == (3, 0.0, {reason: 1})


@pytest.mark.parametrize(
    ("column", "value", "seconds"),
    [
        ("duration_ms", "1500", 1.5),
        ("took_us", "1500", 0.0015),
        ("elapsed_min", "2", 120.0),
        ("duration", "00:01:30.5", 90.5),
        ("duration", "1500ms", 1.5),
        ("duration", "PT1M30S", 90.0),
        ("duration", "0", 0.0),
    ],
)
def test_durations_as_logs_write_them(log_of, column, value, seconds):
    """Numbers in the unit that the name ends with, or values with a unit of their own."""
    log = log_of(f"created_at,{column}\n2024-05-01,{value}\n2024-05-01,{value}\n")
    assert log.durations.tolist() == [seconds, seconds]


def test_the_unit_of_durations_can_be_said(log_of):
    """`duration_unit=` wins over the name; without either, seconds are assumed and reported."""
    text = "created_at,duration\n2024-05-01,1500\n"
    assert log_of(text, duration_unit="ms").durations.tolist() == [1.5]
    assert "duration names no unit: seconds were assumed" in log_of(text).report()
    with pytest.raises(ValueError, match="duration_unit must be one of 's', 'ms'"):
        log_of(text, duration_unit="hours")


# The file


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(log_of, delimiter):
    """Comma, semicolon, tab and bar."""
    text = "id,created_at,duration_s\n1,2024-05-01,3\n2,2024-05-02,4\n".replace(",", delimiter)
    assert log_of(text).durations.tolist() == [3.0, 4.0]


def test_commas_in_text_do_not_hide_the_real_delimiter(log_of):
    """And a decimal comma is understood where commas do not separate."""
    text = "created_at;duration_s;note\n2024-05-01;3,5;a, b, c\n2024-05-02;4;d, e\n"
    assert log_of(text).durations.tolist() == [3.5, 4.0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_are_no_part_of_the_first_name(log_of, encoding):
    """As spreadsheets write them."""
    text = "created_at,duration_s,note\n2024-05-01,3,é\n"
    assert log_of(text.encode(encoding)).durations.tolist() == [3.0]


def test_a_compressed_log_is_read(log_of):
    """`.gz` is enough."""
    text = gzip.compress(b"created_at,duration_s\n2024-05-01,3\n")
    assert log_of(text, "jobs.csv.gz").durations.tolist() == [3.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"created_at,duration\n", "has a header but no jobs"),
        (b"created_at,duration\n\n,\n", "has a header but no jobs"),
        (b"2024-05-01,3\n2024-05-02,4\n", "must begin with a header line .* 2024-05-01,3"),
        (b'{"created_at": 1}\n', "looks like JSON"),
        (b"PK\x03\x04\x00\x00", "is not a text file"),
        (b'created_at,duration\n2024-05-01,"3\n2024-05-02,4\n', "is not well-formed CSV"),
        (b"created_at,duration\nx,3\n,4\n", "no row that can be used: 1 no creation time, 1 "),
    ],
)
def test_a_file_without_jobs_gets_one_clear_sentence(log_of, content, message):
    """No traceback from inside the parser."""
    with pytest.raises(ValueError, match=message) as error:
        log_of(content)
    assert "\n" not in str(error.value)
    assert "jobs.csv" in str(error.value)


def test_a_file_that_cannot_be_opened_gets_one_clear_sentence(tmp_path, log_of):
    """Missing, a directory, or no real archive."""
    with pytest.raises(ValueError, match=r"nowhere\.csv does not exist"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"jobs\.csv\.gz cannot be read"):
        log_of(b"no archive", "jobs.csv.gz")


# Rows that cannot be used

BROKEN = """\
created_at,duration_s,note
2024-05-01 10:00:00,3,good

soon,3,bad time
,3,no time
2024-05-01 10:00:01,fast,bad duration
2024-05-01 10:00:02,-3,negative
2024-05-01 10:00:03,,unfinished
2024-05-01 10:00:04,NULL,"unfinished
on two lines"
2024-05-01 10:00:05,4,a comma, too many
2024-05-01 10:00:06,inf,endless
2024-05-01 10:00:07,5
"""


def test_rows_that_cannot_be_used_are_counted_by_reason_with_their_lines(log_of):
    """Lines are those of the file: blank ones and those within quotes count."""
    log = log_of(BROKEN)
    assert log.durations.tolist() == [3.0, 5.0]
    assert log.rows == 10
    assert log.skipped == {
        "more fields than the header": 1,
        "no creation time": 1,
        "creation time cannot be read": 1,
        "no duration: never finished": 2,
        "duration cannot be read": 2,
        "negative duration": 1,
    }
    assert log.examples["creation time cannot be read"] == (SkippedRow(4, "soon"),)
    assert log.examples["no duration: never finished"] == (SkippedRow(8, ""), SkippedRow(9, ""))
    assert [row.line for row in log.examples["duration cannot be read"]] == [6, 12]
    assert log.examples["more fields than the header"] == (SkippedRow(11, ""),)


def test_the_report_shows_what_was_left_out(log_of):
    """Counts, reasons, lines and values, in plain text."""
    report = log_of(BROKEN).report()
    assert "Left out 8 of 10 rows:" in report
    assert "2 duration cannot be read (line 6: fast; line 12: inf)" in report


def test_a_job_that_ended_before_it_started_is_left_out(log_of):
    """Clocks differ between machines."""
    text = "start,end\n2024-05-01 10:00:05,2024-05-01 10:00:01\n2024-05-01,2024-05-01\n"
    assert log_of(text).skipped == {"ended before it started": 1}


def test_every_row_is_used_or_counted(log_of):
    """Nothing disappears."""
    log = log_of(BROKEN)
    assert len(log) + sum(log.skipped.values()) == log.rows


# Statuses

STATUSES = (
    "created_at,duration_s,status\n"
    "2024-05-01,1,done\n2024-05-01,2,FAILED\n2024-05-01,3,Running\n2024-05-01,4,done\n"
)


def test_jobs_are_kept_whatever_their_status(log_of):
    """Failed and unfinished work keeps workers busy too; the report tells how many there are."""
    log = log_of(STATUSES)
    assert log.statuses == {"done": 2, "FAILED": 1, "Running": 1}
    assert log.succeeded == 2
    assert "1 job had not finished when the log was written" in log.report()
    assert "50.0% of the jobs succeeded" in log.report()


def test_only_picks_jobs_by_status(log_of):
    """In any case; the others are counted as left out."""
    log = log_of(STATUSES, only="DONE")
    assert log.durations.tolist() == [1.0, 4.0]
    assert log.skipped == {"status not chosen": 2}
    assert log_of(STATUSES, only=["done", "failed"]).durations.tolist() == [1.0, 2.0, 4.0]


def test_a_status_that_no_row_has_is_refused(log_of):
    """A typing error must not give an empty log."""
    with pytest.raises(ValueError, match=r"no row with status OK \(only=\); its statuses are done"):
        log_of(STATUSES, only="OK")
    with pytest.raises(ValueError, match="has no status column"):
        log_of("created_at,duration\n2024-05-01,1\n", only="done")


def test_the_words_for_success_can_be_chosen(log_of):
    """`succeeded=` replaces the usual list."""
    assert log_of(STATUSES, succeeded=["done", "running"]).succeeded == 3
    report = log_of(STATUSES, succeeded="fine").report()
    assert "none of them is known to mean success" in report


# The log


def test_share_over_counts_strictly_longer_jobs():
    """A job that takes exactly its lease is acked in time."""
    log = log_with([0, 1, 2, 3], [10, 30, 30, 31])
    assert [log.share_over(s) for s in (0, 10, 30, 31)] == [1.0, 0.75, 0.25, 0.0]


@given(
    durations=st.lists(st.integers(0, 50), min_size=1, max_size=40),
    q=st.fractions(0, 1, max_denominator=40).map(float),
)
def test_quantiles_are_those_of_the_empirical_distribution(durations, q):
    """The same convention in the whole library: the smallest value with enough at or below it."""
    log = log_with(range(len(durations)), durations)
    assert log.quantile(q) == Empirical(durations).quantile(q)


def test_head_is_the_first_jobs():
    """A log of its own, from the same beginning."""
    log = log_with([0, 5, 9], [1, 2, 3], started_at="2024-05-01T10:00:00").head(2)
    assert (log.arrivals.tolist(), log.durations.tolist()) == ([0.0, 5.0], [1.0, 2.0])
    assert log.started_at == "2024-05-01T10:00:00"
    assert len(log.head(99)) == 2


def test_a_window_begins_at_its_own_first_arrival():
    """From `start` on, `end` not included; times count from the first job in it."""
    log = log_with([0, 5, 9, 20], [1, 2, 3, 4], started_at="2024-05-01T10:00:00Z", name="log")
    window = log.sample_between(1, 20)
    assert (window.arrivals.tolist(), window.durations.tolist()) == ([0.0, 4.0], [2.0, 3.0])
    assert window.started_at == "2024-05-01T10:00:05Z"
    assert (window.name, window.rows) == ("log (1 to 20 s)", 2)


def test_wrong_arguments_are_named():
    """One sentence with the parameter, the value and what is allowed."""
    log = log_with([0, 5], [1, 2])
    with pytest.raises(ValueError, match=r"q must be a number from 0 to 1, not 1\.5\."):
        log.quantile(1.5)
    with pytest.raises(ValueError, match="no job arrived between start=1 and end=4"):
        log.sample_between(1, 4)
    with pytest.raises(ValueError, match="end must be a number of seconds above start"):
        log.sample_between(4, 4)
    with pytest.raises(ValueError, match="arrivals must be sorted and begin at 0"):
        log_with([1, 2], [1, 2])
    with pytest.raises(ValueError, match="durations must be a row of finite numbers"):
        log_with([0, 2], [1, -2])


def test_a_log_survives_a_trip_to_another_process(log_of):
    """Executors pickle what they are given."""
    log = log_of(BROKEN)
    copy = pickle.loads(pickle.dumps(log))
    assert copy.report() == log.report()
    assert copy.arrivals.tolist() == log.arrivals.tolist()


def test_a_log_cannot_be_changed():
    """Its arrays are read-only, and its own."""
    arrivals = np.array([0.0, 1.0])
    log = JobLog(arrivals, np.array([1.0, 2.0]))
    arrivals[1] = 99.0
    assert log.arrivals[1] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        log.durations[0] = 5.0


# The logs that are there


def test_the_example_log_is_what_its_script_makes():
    """To the last character."""
    script = runpy.run_path(str(ROOT / "examples" / "make_thumbnails.py"))
    assert EXAMPLE.read_bytes().decode() == script["text"]()


def test_the_example_log_has_something_to_show():
    """Rows of four kinds are left out, and the tail is long."""
    log = read(EXAMPLE)
    assert (len(log), sum(log.skipped.values()), len(log.skipped)) == (1316, 4, 4)
    assert log.quantile(0.99) > 5 * log.quantile(0.5)


@needs_real_log
def test_the_real_log_is_read_whole():
    """26,823 jobs, none left out; 33 had not finished, which the report says."""
    log = read(REAL_LOG)
    assert (len(log), log.rows, log.skipped) == (26_823, 26_823, {})
    assert log.statuses == {"SUCCEED": 26392, "FAILED": 398, "PENDING": 30, "PROCESSING": 3}
    assert "33 jobs had not finished" in log.report()
    assert (log.quantile(0.5), log.quantile(0.99)) == (23.0, 106.0)


@needs_real_log
def test_shares_of_the_real_log_are_exact():
    """The same as a count by hand, for every usual timeout."""
    with REAL_LOG.open(newline="") as file:
        durations = [float(row["exec_time_seconds"]) for row in csv.DictReader(file)]
    log = read(REAL_LOG)
    for limit in (30, 60, 90, 120):
        assert log.share_over(limit) == sum(d > limit for d in durations) / len(durations)
