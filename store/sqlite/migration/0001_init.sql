-- The job database. Times named *_ms are milliseconds since the epoch, made by
-- the program and never by SQL. JSON columns hold text as it goes over the wire.

CREATE TABLE owner (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  host       TEXT    NOT NULL,
  pid        INTEGER NOT NULL,
  boot_id    TEXT    NOT NULL,
  machine_id TEXT    NOT NULL, -- empty where the system has none
  epoch      INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  beat_ms    INTEGER NOT NULL
) STRICT;

-- The migrations that made these tables, and what their scripts were.
CREATE TABLE migration (
  version INTEGER PRIMARY KEY,
  hash    TEXT NOT NULL -- SHA-256 of the script, hexadecimal
) STRICT;

-- What tells this database from all others: files outside of it are named by it.
CREATE TABLE identity (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL
) STRICT;

CREATE TABLE workflow (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  user        TEXT    NOT NULL,
  description TEXT,
  project     TEXT,
  metadata    TEXT,
  env         TEXT,
  timestamp   TEXT    NOT NULL,
  submission_directory TEXT,
  compute_node_expiration_buffer_seconds        INTEGER,
  compute_node_wait_for_new_jobs_seconds        INTEGER NOT NULL DEFAULT 90,
  compute_node_ignore_workflow_completion       INTEGER NOT NULL DEFAULT 0 CHECK (compute_node_ignore_workflow_completion IN (0, 1)),
  compute_node_wait_for_healthy_database_minutes INTEGER NOT NULL DEFAULT 20,
  compute_node_min_time_for_new_jobs_seconds    INTEGER NOT NULL DEFAULT 300,
  resource_monitor_config TEXT,
  slurm_defaults          TEXT,
  execution_config        TEXT,
  dynamic_jobs            TEXT,
  policy                  TEXT, -- what it says about failures
  access_groups           TEXT,
  use_pending_failed INTEGER CHECK (use_pending_failed IN (0, 1)),
  enable_ro_crate    INTEGER CHECK (enable_ro_crate IN (0, 1)),
  enforce_runtime    INTEGER NOT NULL DEFAULT 0 CHECK (enforce_runtime IN (0, 1)),
  run_id      INTEGER NOT NULL DEFAULT 0 CHECK (run_id >= 0),
  is_canceled INTEGER NOT NULL DEFAULT 0 CHECK (is_canceled IN (0, 1)),
  -- Canceled, or in a new run after that that nobody has initialized and in which
  -- no job has become complete: jobs do not go on when their dependencies are.
  is_halted   INTEGER NOT NULL DEFAULT 0 CHECK (is_halted IN (0, 1)),
  is_archived INTEGER NOT NULL DEFAULT 0 CHECK (is_archived IN (0, 1)),
  -- A workflow that is still being created or deleted in chunks is invisible.
  is_hidden   INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1)),
  create_key  TEXT UNIQUE,
  event_seq   INTEGER NOT NULL DEFAULT 0, -- of the last event
  end_generation INTEGER NOT NULL DEFAULT 0,
  has_ended   INTEGER NOT NULL DEFAULT 0 CHECK (has_ended IN (0, 1)), -- the verdict of (run_id, end_generation) is written
  claim_holds INTEGER NOT NULL DEFAULT 0 CHECK (claim_holds >= 0), -- how many hold its claims now; derived, recounted by db check
  given_up    TEXT, -- why the run was given up: it is canceled, and has failed
  deadline_ms INTEGER, -- of the run; null: none
  -- What came of the deadline: 0 nothing yet, 1 it has passed, 2 since then nothing is claimed.
  deadline_state INTEGER NOT NULL DEFAULT 0 CHECK (deadline_state BETWEEN 0 AND 2)
) STRICT;
CREATE INDEX workflow_deadline ON workflow (deadline_ms) WHERE deadline_ms IS NOT NULL AND deadline_state != 1;

-- Why no job of a workflow is granted, one row per reason; what runs goes on.
-- Rows of holds that have ended stay.
CREATE TABLE claim_hold (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  run_id      INTEGER NOT NULL,
  kind        TEXT    NOT NULL, -- max_failures, breaker, deadline
  name        TEXT    NOT NULL DEFAULT '', -- tells holds of a kind apart
  reason      TEXT    NOT NULL,
  evidence    TEXT, -- JSON
  since_ms    INTEGER NOT NULL,
  until_ms    INTEGER NOT NULL DEFAULT 0 CHECK (until_ms = 0 OR until_ms > since_ms), -- 0: until somebody ends it
  ended_ms    INTEGER NOT NULL DEFAULT 0, -- 0: it holds
  ended_why   TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX claim_hold_workflow ON claim_hold (workflow_id);
CREATE UNIQUE INDEX claim_hold_live ON claim_hold (workflow_id, kind, name) WHERE ended_ms = 0;
CREATE INDEX claim_hold_until ON claim_hold (until_ms) WHERE ended_ms = 0 AND until_ms > 0;

-- How many jobs of a workflow are in each status; derived, recounted by db check.
CREATE TABLE job_count (
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  status      INTEGER NOT NULL CHECK (status BETWEEN 0 AND 10),
  n           INTEGER NOT NULL CHECK (n >= 0),
  PRIMARY KEY (workflow_id, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE resource_requirements (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id   INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  name          TEXT    NOT NULL,
  num_cpus      INTEGER NOT NULL CHECK (num_cpus > 0),
  num_gpus      INTEGER NOT NULL,
  num_nodes     INTEGER NOT NULL CHECK (num_nodes > 0),
  memory        TEXT    NOT NULL,
  runtime       TEXT    NOT NULL,
  memory_bytes  INTEGER NOT NULL CHECK (memory_bytes >= 0), -- derived from memory
  runtime_s     INTEGER NOT NULL CHECK (runtime_s >= 0)     -- derived from runtime
) STRICT;
CREATE INDEX resource_requirements_workflow ON resource_requirements (workflow_id, name);

CREATE TABLE failure_handler (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  name        TEXT    NOT NULL,
  rules       TEXT    NOT NULL
) STRICT;
CREATE INDEX failure_handler_workflow ON failure_handler (workflow_id);

CREATE TABLE slurm_scheduler (
  id                    INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id           INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  name                  TEXT    NOT NULL,
  account               TEXT    NOT NULL,
  gres                  TEXT,
  mem                   TEXT,
  nodes                 INTEGER NOT NULL,
  ntasks_per_node       INTEGER,
  partition             TEXT,
  qos                   TEXT,
  tmp                   TEXT,
  walltime              TEXT    NOT NULL,
  extra                 TEXT,
  serialize_allocations INTEGER NOT NULL DEFAULT 0 CHECK (serialize_allocations IN (0, 1))
) STRICT;
CREATE INDEX slurm_scheduler_workflow ON slurm_scheduler (workflow_id);

CREATE TABLE local_scheduler (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  memory      TEXT    NOT NULL,
  num_cpus    INTEGER NOT NULL
) STRICT;
CREATE INDEX local_scheduler_workflow ON local_scheduler (workflow_id);

CREATE TABLE scheduled_compute_node (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id         INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  scheduler_id        INTEGER NOT NULL, -- the Slurm job id
  scheduler_config_id INTEGER NOT NULL,
  scheduler_type      TEXT    NOT NULL,
  status              TEXT    NOT NULL
) STRICT;
CREATE INDEX scheduled_compute_node_workflow ON scheduled_compute_node (workflow_id);

-- A runner of ours, or a compute node that a torc client made.
CREATE TABLE compute_node (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id         INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  hostname            TEXT    NOT NULL,
  pid                 INTEGER NOT NULL,
  start_time          TEXT    NOT NULL,
  end_time            TEXT,
  duration_seconds    REAL,
  is_active           INTEGER NOT NULL DEFAULT 0 CHECK (is_active IN (0, 1)),
  num_cpus            INTEGER NOT NULL,
  memory_gb           REAL    NOT NULL,
  num_gpus            INTEGER NOT NULL,
  num_nodes           INTEGER NOT NULL,
  time_limit          TEXT,
  scheduler_config_id INTEGER,
  compute_node_type   TEXT    NOT NULL,
  labels              TEXT, -- comma-joined, sorted
  scheduler           TEXT,
  sample_count        INTEGER,
  peak_cpu_percent    REAL,
  avg_cpu_percent     REAL,
  peak_memory_bytes   INTEGER,
  avg_memory_bytes    INTEGER,
  -- Only for runners of ours.
  runner_key          TEXT UNIQUE,
  allocation_id       INTEGER, -- the allocation that it runs in
  boot_id             TEXT,
  output_dir          TEXT,
  max_parallel_jobs   INTEGER,
  strict_scheduler    INTEGER NOT NULL DEFAULT 0,
  login               INTEGER NOT NULL DEFAULT 0 CHECK (login IN (0, 1, 2)), -- jobs of the daemon's host: 0 none, 1 too, 2 only
  turn                INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX compute_node_workflow ON compute_node (workflow_id);
CREATE INDEX compute_node_active ON compute_node (workflow_id) WHERE is_active = 1;
CREATE INDEX compute_node_allocation ON compute_node (allocation_id) WHERE allocation_id IS NOT NULL;

-- One life of one sbatch job, from before it is asked for. A requeue by Slurm
-- begins another life of the same intent, with a higher restart count. Rows of a
-- deleted workflow stay until Slurm has ended what they ask for.
CREATE TABLE allocation (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id         INTEGER NOT NULL,
  run_id              INTEGER NOT NULL,
  intent_id           TEXT    NOT NULL, -- random, made before sbatch; the job's name ends with half of it
  restart_count       INTEGER NOT NULL DEFAULT 0,
  is_duplicate        INTEGER NOT NULL DEFAULT 0 CHECK (is_duplicate IN (0, 1)), -- one sbatch too many: takes no work
  job_name            TEXT    NOT NULL,
  cluster             TEXT    NOT NULL DEFAULT '',
  slurm_job_id        INTEGER, -- null until known
  scheduler_config_id INTEGER,
  scheduled_compute_node_id INTEGER, -- torc's view of all lives
  request             TEXT    NOT NULL, -- what is asked for, JSON
  why                 TEXT    NOT NULL,
  secret_hash         BLOB,             -- of what its runners show
  state               TEXT    NOT NULL CHECK (state IN ('intent', 'pending', 'active', 'ended')),
  asked_ms            INTEGER NOT NULL, -- when sbatch may have run last
  submit_ms           INTEGER NOT NULL DEFAULT 0, -- what is not known is 0 or empty, here and below
  start_ms            INTEGER NOT NULL DEFAULT 0,
  end_ms              INTEGER NOT NULL DEFAULT 0,
  limit_ms            INTEGER NOT NULL DEFAULT 0, -- when its time is up
  slurm_state         TEXT    NOT NULL DEFAULT '',
  slurm_reason        TEXT    NOT NULL DEFAULT '',
  node_list           TEXT    NOT NULL DEFAULT '',
  exit_code           TEXT    NOT NULL DEFAULT '', -- as sacct writes it
  absent_ms           INTEGER NOT NULL DEFAULT 0, -- since when squeue does not know it
  over_ms             INTEGER NOT NULL DEFAULT 0, -- since when Slurm ends it
  superseded_ms       INTEGER NOT NULL DEFAULT 0, -- since when a later life is known
  taken               TEXT    NOT NULL DEFAULT '', -- why Slurm takes its nodes, as far as it is known before its end: evidence, JSON
  cancel_ms           INTEGER NOT NULL DEFAULT 0, -- recorded before scancel is sent
  cancel_why          TEXT    NOT NULL DEFAULT '',
  cancel_sent_ms      INTEGER NOT NULL DEFAULT 0, -- the latest scancel
  cancel_tries        INTEGER NOT NULL DEFAULT 0,
  refusal             TEXT    NOT NULL DEFAULT '', -- the class of Slurm's no
  cause               TEXT    NOT NULL DEFAULT '', -- of its end
  confidence          TEXT    NOT NULL DEFAULT '',
  cause_text          TEXT    NOT NULL DEFAULT '',
  UNIQUE (intent_id, slurm_job_id, restart_count)
) STRICT;
CREATE UNIQUE INDEX allocation_life ON allocation (intent_id, restart_count) WHERE is_duplicate = 0;
CREATE INDEX allocation_workflow ON allocation (workflow_id);
CREATE INDEX allocation_live ON allocation (workflow_id) WHERE state != 'ended';
CREATE INDEX allocation_secret ON allocation (secret_hash) WHERE secret_hash IS NOT NULL;

-- Environments of jobs (their own, without the workflow's), stored once each.
CREATE TABLE job_env (
  id          INTEGER PRIMARY KEY,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  env         TEXT    NOT NULL, -- JSON object, keys sorted
  UNIQUE (workflow_id, env)
) STRICT;

-- Retry policies that workflows, jobs and queues refer to by name.
CREATE TABLE retry_policy (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT    NOT NULL UNIQUE,
  policy     TEXT    NOT NULL, -- JSON object
  hash       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL
) STRICT;

-- Who changed retry policies, where they are attached, and the settings.
CREATE TABLE retry_policy_change (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  name     TEXT    NOT NULL, -- empty: the settings
  action   TEXT    NOT NULL,
  at_ms    INTEGER NOT NULL,
  author   TEXT    NOT NULL,
  detail   TEXT    NOT NULL DEFAULT '',
  old_hash TEXT    NOT NULL DEFAULT '',
  new_hash TEXT    NOT NULL DEFAULT '',
  version  INTEGER NOT NULL DEFAULT 0,
  policy   TEXT -- what it said from then on
) STRICT;
CREATE INDEX retry_policy_change_name ON retry_policy_change (name, id);

-- The policies that the site attached to queues, in their order.
CREATE TABLE queue_policy (
  kind     TEXT    NOT NULL CHECK (kind IN ('account', 'partition', 'scheduler')),
  queue    TEXT    NOT NULL,
  position INTEGER NOT NULL,
  name     TEXT    NOT NULL REFERENCES retry_policy (name),
  PRIMARY KEY (kind, queue, position)
) STRICT, WITHOUT ROWID;

-- What holds for the retries of all workflows; no row: the defaults.
CREATE TABLE retry_settings (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  settings TEXT NOT NULL -- JSON object
) STRICT;

-- What jobs say about their failures, stored once each.
CREATE TABLE job_policy (
  id          INTEGER PRIMARY KEY,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  policy      TEXT    NOT NULL, -- JSON object
  watched     INTEGER NOT NULL DEFAULT 0 CHECK (watched IN (0, 1)), -- it has timeouts for which the daemon looks at the clock
  UNIQUE (workflow_id, policy)
) STRICT;
CREATE INDEX job_policy_watched ON job_policy (workflow_id) WHERE watched = 1;

-- Jobs of one class are equal to whoever claims.
CREATE TABLE claim_class (
  id              INTEGER PRIMARY KEY,
  workflow_id     INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  priority        INTEGER NOT NULL,
  requirements_id INTEGER NOT NULL,
  scheduler_id    INTEGER NOT NULL DEFAULT 0, -- 0: none
  labels          TEXT    NOT NULL DEFAULT '', -- comma-joined, sorted
  login           INTEGER NOT NULL DEFAULT 0 CHECK (login IN (0, 1)), -- on the daemon's host alone
  UNIQUE (workflow_id, priority, requirements_id, scheduler_id, labels, login)
) STRICT;
CREATE INDEX claim_class_login ON claim_class (workflow_id) WHERE login = 1;

-- Jobs with the same set of dependencies share a gate. open and failed are
-- derived from the dependencies' statuses, recounted by db check.
CREATE TABLE gate (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  hash        BLOB    NOT NULL, -- of the sorted job ids, the lowest in front
  open        INTEGER NOT NULL CHECK (open >= 0),   -- dependencies that are not complete
  failed      INTEGER NOT NULL CHECK (failed >= 0), -- dependencies that failed, were canceled or terminated
  UNIQUE (workflow_id, hash)
) STRICT;

CREATE TABLE gate_dependency (
  job_id  INTEGER NOT NULL, -- the dependency
  gate_id INTEGER NOT NULL REFERENCES gate (id) ON DELETE CASCADE,
  PRIMARY KEY (job_id, gate_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX gate_dependency_gate ON gate_dependency (gate_id, job_id);

-- Parts of workflows: the jobs of a sub-workflow, the end job, a compensation.
-- What has no stage is in the main one.
CREATE TABLE stage (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  kind        TEXT    NOT NULL CHECK (kind IN ('child', 'end', 'compensation')),
  parent_id   INTEGER REFERENCES stage (id) ON DELETE CASCADE, -- null: the main one
  name        TEXT    NOT NULL,
  policy      TEXT    NOT NULL, -- JSON object
  state       TEXT    NOT NULL DEFAULT 'not_started' CHECK (state IN ('not_started', 'running', 'ended')),
  run_id      INTEGER NOT NULL DEFAULT 0, -- in which it was started last
  generation  INTEGER NOT NULL DEFAULT 0, -- of an end: the run's; of others: how often they were started
  started_ms  INTEGER,
  ended_ms    INTEGER,
  verdict     TEXT, -- of its latest end, JSON object
  waits_for   TEXT  -- of the end of a run that was given up: runners that may still have processes of it, JSON array
) STRICT;
CREATE INDEX stage_waits ON stage (workflow_id) WHERE waits_for IS NOT NULL;
CREATE INDEX stage_workflow ON stage (workflow_id);
CREATE INDEX stage_kind ON stage (workflow_id, kind, parent_id);
CREATE INDEX stage_parent ON stage (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE job (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id        INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  name               TEXT    NOT NULL,
  command            TEXT    NOT NULL,
  invocation_script  TEXT,
  env_id             INTEGER REFERENCES job_env (id),
  policy_id          INTEGER REFERENCES job_policy (id),
  status             INTEGER NOT NULL DEFAULT 0 CHECK (status BETWEEN 0 AND 10),
  class_id           INTEGER NOT NULL REFERENCES claim_class (id),
  gate_id            INTEGER REFERENCES gate (id),
  stage_id           INTEGER REFERENCES stage (id), -- null: in the main one
  child_id           INTEGER REFERENCES stage (id), -- the one that this sub-workflow job stands for
  undoes_id          INTEGER, -- the job that this one of a compensation undoes
  failure_handler_id INTEGER REFERENCES failure_handler (id) ON DELETE SET NULL,
  run_if             INTEGER NOT NULL DEFAULT 0 CHECK (run_if BETWEEN 0 AND 2), -- success, always, failure
  supports_termination INTEGER NOT NULL DEFAULT 0 CHECK (supports_termination IN (0, 1)),
  stdio              TEXT,
  run_timeout        TEXT,
  origin             TEXT,
  input_hash         BLOB,
  -- What changes while it runs.
  attempt_id         INTEGER NOT NULL DEFAULT 1 CHECK (attempt_id >= 1), -- of the current or next attempt
  fence              INTEGER NOT NULL DEFAULT 0, -- grows with every grant
  cancel_fence       INTEGER NOT NULL DEFAULT 0, -- the lease with this fence is to be ended: a sibling failed
  cancel_for         TEXT, -- what it is to be ended for; null: a sibling
  compute_node_id    INTEGER, -- who holds the lease, or ran it last on the wire
  claimed_ms         INTEGER,
  start_ms           INTEGER,
  not_before_ms      INTEGER NOT NULL DEFAULT 0,
  settled_ms         INTEGER, -- not_before_ms once the attempt before is known to be gone; null: it is
  -- Of jobs with timeouts: since when it is ready, and since when it was first in
  -- this run; and the timeouts that have been told, one bit each.
  ready_ms           INTEGER,
  first_ready_ms     INTEGER,
  told               INTEGER NOT NULL DEFAULT 0,
  phase              INTEGER NOT NULL DEFAULT 0 CHECK (phase IN (0, 1)), -- 1: its recovery script runs
  recovery           TEXT,    -- the order of that script, JSON
  hold               TEXT,    -- why and until when, JSON
  skipped_by         INTEGER, -- the failed job that canceled it; 0: disabled, as there was none that it was to run after
  rule_counts        TEXT,    -- retries granted per rule in this run, JSON
  counted_failures   INTEGER NOT NULL DEFAULT 0,
  avoid_nodes        TEXT,    -- JSON array
  result_id          INTEGER  -- its current result
) STRICT;
CREATE INDEX job_workflow ON job (workflow_id, id);
CREATE INDEX job_name ON job (workflow_id, name);
CREATE INDEX job_gate ON job (gate_id, class_id) WHERE gate_id IS NOT NULL;
CREATE INDEX job_stage ON job (stage_id, status) WHERE stage_id IS NOT NULL;
CREATE UNIQUE INDEX job_child ON job (child_id) WHERE child_id IS NOT NULL;
CREATE INDEX job_undoes ON job (undoes_id) WHERE undoes_id IS NOT NULL;
CREATE INDEX job_class ON job (class_id);
CREATE INDEX job_policy_id ON job (policy_id) WHERE policy_id IS NOT NULL;
CREATE INDEX job_ready ON job (class_id, not_before_ms, id) WHERE status = 2;
CREATE INDEX job_queued ON job (policy_id, ready_ms) WHERE status = 2 AND policy_id IS NOT NULL AND told & 1 = 0;
CREATE INDEX job_running ON job (policy_id, start_ms) WHERE status = 4 AND policy_id IS NOT NULL AND told & 2 = 0;
CREATE INDEX job_pursued ON job (policy_id, first_ready_ms) WHERE status IN (2, 3, 4, 10) AND policy_id IS NOT NULL AND told & 8 = 0;
CREATE INDEX job_hold_deadline ON job (json_extract(hold, '$.deadline_ms')) WHERE status = 10;
CREATE INDEX job_delayed ON job (not_before_ms, workflow_id) WHERE status = 2 AND not_before_ms > 0;
CREATE INDEX job_avoiding ON job (class_id, avoid_nodes, not_before_ms) WHERE status = 2 AND avoid_nodes IS NOT NULL;
CREATE INDEX job_live ON job (compute_node_id, id) WHERE status IN (3, 4);
CREATE INDEX job_unstarted ON job (claimed_ms) WHERE status = 3 AND compute_node_id IS NULL;
CREATE INDEX job_unsuccessful ON job (workflow_id, status) WHERE status IN (6, 7, 8, 10);
CREATE INDEX job_env_id ON job (env_id) WHERE env_id IS NOT NULL;
CREATE INDEX job_handler ON job (failure_handler_id) WHERE failure_handler_id IS NOT NULL;

CREATE TABLE file (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  name        TEXT    NOT NULL,
  path        TEXT    NOT NULL,
  identifier  TEXT,
  st_mtime    REAL
) STRICT;
CREATE INDEX file_workflow ON file (workflow_id, id);

CREATE TABLE user_data (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id  INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  name         TEXT    NOT NULL,
  is_ephemeral INTEGER NOT NULL DEFAULT 0 CHECK (is_ephemeral IN (0, 1)),
  data         TEXT
) STRICT;
CREATE INDEX user_data_workflow ON user_data (workflow_id, id);
CREATE UNIQUE INDEX user_data_lineage ON user_data (workflow_id, name) WHERE name GLOB '__torc_lineage__*';

CREATE TABLE job_input_file (
  job_id  INTEGER NOT NULL,
  file_id INTEGER NOT NULL,
  PRIMARY KEY (job_id, file_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_input_file_file ON job_input_file (file_id, job_id);
CREATE TABLE job_output_file (
  job_id  INTEGER NOT NULL,
  file_id INTEGER NOT NULL,
  PRIMARY KEY (job_id, file_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_output_file_file ON job_output_file (file_id, job_id);
CREATE TABLE job_input_user_data (
  job_id       INTEGER NOT NULL,
  user_data_id INTEGER NOT NULL,
  PRIMARY KEY (job_id, user_data_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_input_user_data_data ON job_input_user_data (user_data_id, job_id);
CREATE TABLE job_output_user_data (
  job_id       INTEGER NOT NULL,
  user_data_id INTEGER NOT NULL,
  PRIMARY KEY (job_id, user_data_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_output_user_data_data ON job_output_user_data (user_data_id, job_id);

-- One row per try, written when it ends, never changed.
CREATE TABLE attempt (
  job_id            INTEGER NOT NULL,
  run_id            INTEGER NOT NULL,
  attempt_id        INTEGER NOT NULL,
  workflow_id       INTEGER NOT NULL,
  fence             INTEGER NOT NULL,
  compute_node_id   INTEGER,
  hostname          TEXT,
  start_ms          INTEGER,
  end_ms            INTEGER NOT NULL,
  status            INTEGER NOT NULL CHECK (status BETWEEN 5 AND 8),
  return_code       INTEGER NOT NULL,
  cause             TEXT    NOT NULL,
  confidence        TEXT    NOT NULL,
  cause_text        TEXT    NOT NULL,
  evidence          TEXT,
  action            TEXT    NOT NULL, -- none, retry, recover, hold, fail
  reason            TEXT    NOT NULL,
  rule              TEXT    NOT NULL DEFAULT '',
  counted           INTEGER NOT NULL DEFAULT 0 CHECK (counted IN (0, 1)),
  policy_hash       TEXT    NOT NULL DEFAULT '',
  category          TEXT    NOT NULL DEFAULT '', -- of the workflow's failure_categories
  subcategory       TEXT    NOT NULL DEFAULT '',
  peak_memory_bytes INTEGER,
  avg_memory_bytes  INTEGER,
  peak_cpu_percent  REAL,
  avg_cpu_percent   REAL,
  cpu_seconds       REAL,
  PRIMARY KEY (job_id, run_id, attempt_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_failed ON attempt (workflow_id, run_id, end_ms) WHERE status IN (6, 8);
CREATE INDEX attempt_infrastructure ON attempt (hostname, end_ms) WHERE cause IN ('node_fail', 'lost', 'launch');

-- Circuit breakers that have opened. Rows of those that have closed stay.
CREATE TABLE breaker_trip (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER REFERENCES workflow (id) ON DELETE CASCADE, -- null: about the nodes of all workflows
  run_id      INTEGER NOT NULL DEFAULT 0,
  breaker     TEXT    NOT NULL,
  subject     TEXT    NOT NULL DEFAULT '', -- the node or the category
  action      TEXT    NOT NULL CHECK (action IN ('exclude_node', 'pause', 'hold')),
  trip        TEXT    NOT NULL, -- JSON: why, and the attempts
  since_ms    INTEGER NOT NULL,
  until_ms    INTEGER NOT NULL CHECK (until_ms > since_ms),
  ended_ms    INTEGER NOT NULL DEFAULT 0, -- somebody closed it, or its run is over; 0: it ends by itself
  ended_why   TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX breaker_trip_workflow ON breaker_trip (workflow_id, breaker, subject, id);
CREATE INDEX breaker_trip_open ON breaker_trip (until_ms) WHERE ended_ms = 0;

-- One row per recovery script that failed, and what was decided then; never
-- changed.
CREATE TABLE failed_recovery (
  job_id      INTEGER NOT NULL,
  run_id      INTEGER NOT NULL,
  attempt_id  INTEGER NOT NULL, -- after which it ran
  workflow_id INTEGER NOT NULL,
  hostname    TEXT    NOT NULL,
  start_ms    INTEGER,          -- null if nobody saw how it ended
  end_ms      INTEGER NOT NULL,
  return_code INTEGER NOT NULL,
  cause       TEXT    NOT NULL,
  confidence  TEXT    NOT NULL,
  cause_text  TEXT    NOT NULL,
  evidence    TEXT    NOT NULL,
  on_error    TEXT    NOT NULL, -- what the rule that granted the retry says of it: retry, hold, fail
  action      TEXT    NOT NULL, -- retry, hold, fail
  reason      TEXT    NOT NULL,
  rule        TEXT    NOT NULL, -- empty: there was none, on_error decided
  policy_hash TEXT    NOT NULL,
  PRIMARY KEY (job_id, run_id, attempt_id)
) STRICT, WITHOUT ROWID;

-- Who ended the holds of jobs, how and why; append-only.
CREATE TABLE classification (
  id          INTEGER PRIMARY KEY,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  job_id      INTEGER NOT NULL,
  run_id      INTEGER NOT NULL,
  attempt_id  INTEGER NOT NULL, -- after which the job was held
  at_ms       INTEGER NOT NULL,
  status      INTEGER NOT NULL CHECK (status IN (2, 6)), -- ready, failed
  author      TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  confidence  TEXT    NOT NULL, -- certain, likely, guess; empty: not said
  memory      TEXT    NOT NULL, -- what the next attempt asks for; empty: the same
  runtime     TEXT    NOT NULL
) STRICT;
CREATE INDEX classification_of_job ON classification (job_id, id);
CREATE INDEX classification_of_workflow ON classification (workflow_id);

-- What people were told that they may have to look at; append-only.
CREATE TABLE alert (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  run_id      INTEGER NOT NULL,
  job_id      INTEGER NOT NULL, -- 0: it is about the workflow
  kind        TEXT    NOT NULL,
  at_ms       INTEGER NOT NULL,
  alert       TEXT    NOT NULL -- JSON
) STRICT;
CREATE INDEX alert_workflow ON alert (workflow_id, id);
CREATE INDEX alert_job ON alert (job_id, id) WHERE job_id != 0;

-- How many alerts of each kind there ever were, those of deleted workflows too.
CREATE TABLE alert_count (
  kind TEXT PRIMARY KEY,
  n    INTEGER NOT NULL CHECK (n > 0)
) STRICT, WITHOUT ROWID;

-- The outbox: messages about alerts. Those that go in one message have one batch,
-- the lowest id among them.
CREATE TABLE notification (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  alert_id    INTEGER NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
  workflow_id INTEGER NOT NULL,
  way         TEXT    NOT NULL CHECK (way IN ('mail', 'webhook')),
  address     TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
  batch       INTEGER NOT NULL DEFAULT 0, -- 0 before the first try
  tries       INTEGER NOT NULL DEFAULT 0,
  at_ms       INTEGER NOT NULL, -- of the latest try; before that when it was made
  due_ms      INTEGER NOT NULL, -- when it is to be tried next
  error       TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX notification_due ON notification (due_ms) WHERE state = 'pending';
CREATE INDEX notification_target ON notification (workflow_id, way, address, at_ms);
CREATE INDEX notification_batch ON notification (batch) WHERE batch != 0;
CREATE INDEX notification_alert ON notification (alert_id);

-- All that decisions rested on besides the attempt and its history, stored once
-- each: a decision can be followed after the policies have changed.
CREATE TABLE policy_set (
  hash     TEXT PRIMARY KEY,
  policies TEXT NOT NULL -- JSON object
) STRICT, WITHOUT ROWID;

-- How many attempts of a run ended with a cause; derived, recounted by db check.
CREATE TABLE cause_count (
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  run_id      INTEGER NOT NULL,
  cause       TEXT    NOT NULL,
  n           INTEGER NOT NULL CHECK (n >= 0),
  retried     INTEGER NOT NULL CHECK (retried >= 0), -- of these, followed by another attempt: action retry or recover
  counted     INTEGER NOT NULL CHECK (counted >= 0), -- of those, with a retry that used budget
  PRIMARY KEY (workflow_id, run_id, cause)
) STRICT, WITHOUT ROWID;

-- Reports under an old fence: kept, without effect.
CREATE TABLE late_report (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id     INTEGER NOT NULL,
  job_id          INTEGER NOT NULL,
  run_id          INTEGER NOT NULL,
  attempt_id      INTEGER NOT NULL,
  fence           INTEGER NOT NULL,
  compute_node_id INTEGER,
  received_ms     INTEGER NOT NULL,
  report          TEXT    NOT NULL
) STRICT;
CREATE INDEX late_report_workflow ON late_report (workflow_id);
CREATE INDEX late_report_job ON late_report (job_id);

-- torc's view of an attempt; clients may change and delete it.
CREATE TABLE result (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id        INTEGER NOT NULL,
  job_id             INTEGER NOT NULL,
  run_id             INTEGER NOT NULL,
  attempt_id         INTEGER NOT NULL,
  compute_node_id    INTEGER NOT NULL,
  return_code        INTEGER NOT NULL,
  exec_time_minutes  REAL    NOT NULL,
  completion_time    TEXT    NOT NULL,
  status             INTEGER NOT NULL CHECK (status BETWEEN 0 AND 10),
  peak_memory_bytes  INTEGER,
  avg_memory_bytes   INTEGER,
  peak_cpu_percent   REAL,
  avg_cpu_percent    REAL,
  UNIQUE (job_id, run_id, attempt_id)
) STRICT;

CREATE TABLE slurm_stats (
  id                   INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id          INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  job_id               INTEGER NOT NULL,
  run_id               INTEGER NOT NULL,
  attempt_id           INTEGER NOT NULL,
  slurm_job_id         TEXT,
  max_rss_bytes        INTEGER,
  max_vm_size_bytes    INTEGER,
  max_disk_read_bytes  INTEGER,
  max_disk_write_bytes INTEGER,
  ave_cpu_seconds      REAL,
  node_list            TEXT,
  UNIQUE (workflow_id, job_id, run_id, attempt_id)
) STRICT;

-- Append only; seq is gap-free per workflow. torc's edits replace or remove
-- the payload, never the row.
CREATE TABLE event (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id  INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  timestamp_ms INTEGER NOT NULL,
  type         TEXT    NOT NULL,
  severity     INTEGER NOT NULL CHECK (severity BETWEEN 0 AND 3), -- debug, info, warning, error
  data         TEXT    NOT NULL,
  is_deleted   INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1)),
  UNIQUE (workflow_id, seq)
) STRICT;

CREATE TABLE workflow_action (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id       INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  trigger_type      TEXT    NOT NULL,
  action_type       TEXT    NOT NULL,
  action_config     TEXT    NOT NULL,
  has_job_ids       INTEGER NOT NULL DEFAULT 0 CHECK (has_job_ids IN (0, 1)),
  trigger_count     INTEGER NOT NULL DEFAULT 0,
  required_triggers INTEGER NOT NULL DEFAULT 1,
  executed          INTEGER NOT NULL DEFAULT 0 CHECK (executed IN (0, 1)),
  executed_at       TEXT,
  executed_by       INTEGER,
  taken_ms          INTEGER NOT NULL DEFAULT 0, -- since when the daemon carries it out; 0 if it does not
  persistent        INTEGER NOT NULL DEFAULT 0 CHECK (persistent IN (0, 1)),
  is_recovery       INTEGER NOT NULL DEFAULT 0 CHECK (is_recovery IN (0, 1))
) STRICT;
CREATE INDEX workflow_action_workflow ON workflow_action (workflow_id);

CREATE TABLE workflow_action_job (
  job_id    INTEGER NOT NULL,
  action_id INTEGER NOT NULL REFERENCES workflow_action (id) ON DELETE CASCADE,
  PRIMARY KEY (job_id, action_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workflow_action_job_action ON workflow_action_job (action_id, job_id);

-- Workflows that were submitted: the daemon asks for their allocations.
CREATE TABLE submission (
  workflow_id  INTEGER PRIMARY KEY REFERENCES workflow (id) ON DELETE CASCADE,
  run_id       INTEGER NOT NULL, -- of this run alone
  submitted_ms INTEGER NOT NULL,
  options      TEXT    NOT NULL  -- JSON
) STRICT;

CREATE TABLE remote_worker (
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  worker      TEXT    NOT NULL,
  PRIMARY KEY (workflow_id, worker)
) STRICT, WITHOUT ROWID;

CREATE TABLE task (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id    INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  operation      TEXT    NOT NULL,
  parameters     TEXT    NOT NULL DEFAULT '',
  status         TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
  created_at_ms  INTEGER NOT NULL,
  started_at_ms  INTEGER,
  finished_at_ms INTEGER,
  error          TEXT
) STRICT;
CREATE UNIQUE INDEX task_active ON task (workflow_id) WHERE status IN ('queued', 'running');
CREATE INDEX task_workflow ON task (workflow_id);

-- One verdict per (run, generation).
CREATE TABLE verdict (
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  run_id      INTEGER NOT NULL,
  generation  INTEGER NOT NULL,
  type        TEXT    NOT NULL, -- workflow_completed, workflow_failed, workflow_canceled
  payload     TEXT    NOT NULL,
  at_ms       INTEGER NOT NULL,
  PRIMARY KEY (workflow_id, run_id, generation)
) STRICT, WITHOUT ROWID;

-- What undoes runs that were not successful: at most one for each. Its jobs are
-- those of the workflow's stage of this kind.
CREATE TABLE compensation (
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  run_id      INTEGER NOT NULL,
  generation  INTEGER NOT NULL, -- whose verdict began it
  verdict     TEXT    NOT NULL, -- its type
  state       TEXT    NOT NULL CHECK (state IN ('waiting', 'running', 'completed', 'failed')),
  waits_for   TEXT    NOT NULL, -- runners that may still have processes of the run, JSON array
  reason      TEXT    NOT NULL DEFAULT '', -- why it ended early
  started_ms  INTEGER NOT NULL,
  deadline_ms INTEGER NOT NULL,
  ended_ms    INTEGER,
  PRIMARY KEY (workflow_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX compensation_open ON compensation (workflow_id) WHERE state IN ('waiting', 'running');
