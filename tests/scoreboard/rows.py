"""The promises of the table, with the figure to reach, and the tests of the suite that prove some of them."""

from __future__ import annotations

from tests.scoreboard.row import Row

TITLES = {
    1: "Exactly-once tokens, one bill",
    2: "Faults",
    3: "Overload and fairness",
    5: "Deterministic simulation",
}
_SIGNALS, _SUITE, _LOAD = "real signals to real processes", "tests of the suite", "bounded load"

ROWS = (
    Row("take-over", 1, "A dead worker's answer goes on with another after the last logged token",
        "kill -9 at random, 8 streams, 3 workers", "200 kills (20 with the bundled model), 0 tokens wrong",
        "A random kill meets some requests twice. A request that two workers die with ends by name."),
    Row("same answer", 1, "It is the same answer", "tokens, text and trace against the undisturbed answer", "all"),
    Row("soon", 1, "It goes on soon", "from the kill to the next token", "p95 ≤ 3 s, worst ≤ 6 s",
        "The pause holds the end of the lease, the queue and the second reading, beside a worker that starts."),
    Row("held", 1, "A hung worker cannot come back", "SIGSTOP past its lease, then SIGCONT", "20 of 20"),
    Row("one bill", 1, "One bill, from the whole log", "log, row, ledger and record of use", "0 differences"),
    Row("clients", 1, "Clients only pause", "cuts of server-sent events while workers die", "100 cuts, each seq once"),
    Row("watchdogs", 1, "Of two watchdogs one dispatches", _SUITE, "one take-over each time"),
    Row("lost log", 1, "No append into a log that lost its tail", _SUITE, "repaired, or ended by name"),
    Row("lost reply", 1, "A lost reply changes nothing", "a cut at every Redis command", "0 doubles"),
    Row("one key", 1, "Every POST that begins work takes a key", "many at once under one key", "1 request, 1 bill"),
    Row("state", 1, "State and events are the fresh state", "every action in random order", "0 differences"),
    Row("any process", 2, "Any process may be killed at any stage", _SIGNALS, "healthy again ≤ 10 s"),
    Row("started again", 2, "A process that dies is started again", _SUITE, "back ≤ 5 s, then backing off"),
    Row("hang", 2, "A hang ends", "SIGSTOP of each process for 18 s", "no thread or connection stuck after",
        "Pools keep as many threads and connections as waited at once. They are bounded."),
    Row("unsettled", 2, "Unsettled logs never expire", _SUITE, "0 finished answers lost"),
    Row("memory", 2, "Out of memory harms its own request alone", "address limit, large prompt",
        "others as undisturbed"),
    Row("disk", 2, "A full disk is told, and all settles once there is room", "limits of database and files",
        "clear refusals"),
    Row("redis", 2, "Redis restarts, with and without its data", "20 restarts under load", "tasks again ≤ 10 s"),
    Row("postgres", 2, "PostgreSQL restarts at once", "10 immediate stops under load", "0 lost, 0 double bills"),
    Row("silence", 2, "A silent network", "a proxy that passes nothing on; Sentinels choose anew",
        "all threads free ≤ 30 s after"),
    Row("clocks", 2, "Clocks that jump or differ", "skewed clocks in the simulation", "0 healthy requests failed"),
    Row("poison", 2, "A request that kills its worker", _SUITE, "2 workers at most, then refused by name"),
    Row("unable", 2, "A worker that cannot work takes nothing", _SUITE, "0 requests"),
    Row("deploy", 2, "Every process is replaced in mid-stream", "in any order, old and new", "0 failed"),
    Row("readers", 2, "Slow or stopped readers", _SUITE, "≤ 1 MiB each, told to resume"),
    Row("goodput", 3, "Goodput holds", "1, 2 and 5 times the capacity", "≥ 90 % of the peak at 5 times",
        "A tiny answer costs less than its admission, and one web process admits all."),
    Row("refusals", 3, "Refusals are quick and right", _LOAD, "p99 ≤ 200 ms",
        "One web process answers all calls, accepted and refused, in their order."),
    Row("room", 3, "Room anywhere is used", _SUITE, "no refusal while a worker has room"),
    Row("noisy", 3, "A noisy user starves no other", "100 requests beside 1", "first token ≤ 2 times alone",
        "The step is shared with the other requests. The rest of the cause is not measured."),
    Row("sign-in", 3, "Sign-in attempts do not slow chat", "50 wrong passwords a second", "p95 ≤ 1.25 times",
        "A password check takes one of the two cores while it hashes."),
    Row("costly", 3, "Costly work is bounded", _SUITE, "≤ 2 at once each, ≤ 1 GiB"),
    Row("streams", 3, "Open streams are cheap and bounded", "1,000 idle, 200 active, 1,000 of one user",
        "none dropped, refused from the 33rd"),
    Row("watching", 3, "Watching stays cheap", "1,000 open, 100,000 settled requests", "≤ 5 % of a core"),
    Row("safe", 5, "Safe under any faults", "seeds of the simulation", "10,000,000 steps"),
    Row("live", 5, "Live once faults cease", "the same seeds", "settled within 60 simulated seconds"),
    Row("replay", 5, "A failing seed is a test", _SUITE, "the same trace twice"),
    Row("find", 5, "It can find", "planted mistakes", "each within 1,000 seeds"),
)  # fmt: skip


PROOFS = {
    "watchdogs": ("tests/webapp/lifecycle/test_advance.py -k watchdogs",),
    "lost log": ("tests/faults/test_lost_log.py", "tests/webapp/lifecycle/test_lost_log.py"),
    "lost reply": ("tests/inference/eventlog/test_lost_reply.py",),
    "one key": ("tests/postgres/test_under_one_key.py",),
    "started again": ("tests/supervisor/test_restart.py", "tests/supervisor/test_backoff.py"),
    "unsettled": ("tests/webapp/lifecycle/test_settle.py",),
    "silence": ("tests/docker/test_faults.py", "tests/inference/eventlog/test_connections.py"),
    "poison": ("tests/faults/test_take_over.py -k ends_two_workers",),
    "unable": ("tests/faults/test_bad_models.py", "tests/webapp/lifecycle/test_placement.py"),
    "state": ("tests/postgres/test_state_and_events.py",),
    "readers": ("tests/webapp/lifecycle/stream",),
    "room": ("tests/webapp/lifecycle/test_placement.py", "tests/faults/test_several_workers.py"),
    "costly": (
        "tests/webapp/api/test_turns.py",
        "tests/webapp/traces/test_import_bounds.py",
        "tests/inference/grammar/test_grammar.py -k waits_for_its_turn",
        "tests/inference/grammar/test_grammar.py -k keeps_its_memory",
        "tests/webapp/lifecycle/probes/test_probes.py -k more_looks",
    ),
    "replay": ("tests/simulation/test_seeds.py -k same_trace",),
    "find": ("tests/simulation/test_planted.py",),
}
"""The tests of the suite that prove a row, by its key."""
