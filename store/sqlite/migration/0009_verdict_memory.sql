-- What was decided about jobs that failed alike, and what became of them. Rows are kept when
-- their workflow is deleted; their number is limited, the oldest are removed first. One row
-- stands for all jobs that a verdict decided in the same way.
CREATE TABLE verdict_memory (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  fingerprint   TEXT    NOT NULL CHECK (fingerprint != ''),
  workflow_id   INTEGER NOT NULL, -- which may be deleted
  workflow_name TEXT    NOT NULL,
  run_id        INTEGER NOT NULL,
  job_id        INTEGER NOT NULL, -- the first of its jobs
  job_name      TEXT    NOT NULL,
  at_ms         INTEGER NOT NULL,
  state         TEXT    NOT NULL CHECK (state IN ('decided', 'proposed', 'rejected')),
  action        TEXT    NOT NULL CHECK (action IN ('retry', 'fail', 'ask')),
  author        TEXT    NOT NULL,
  door          TEXT    NOT NULL,
  reason        TEXT    NOT NULL,
  confidence    TEXT    NOT NULL,
  memory        TEXT    NOT NULL,
  runtime       TEXT    NOT NULL,
  num_cpus      INTEGER NOT NULL,
  proposal_id   INTEGER NOT NULL DEFAULT 0,
  expires_ms    INTEGER NOT NULL DEFAULT 0, -- of a proposal
  decided_by    TEXT    NOT NULL DEFAULT '', -- who rejected it
  note          TEXT    NOT NULL DEFAULT '', -- and why
  failure       TEXT    NOT NULL, -- JSON: cause, return code, category, lines without what differs
  jobs          INTEGER NOT NULL CHECK (jobs > 0),
  succeeded     INTEGER NOT NULL DEFAULT 0,
  failed        INTEGER NOT NULL DEFAULT 0,
  canceled      INTEGER NOT NULL DEFAULT 0,
  most_attempts INTEGER NOT NULL DEFAULT 0,
  CHECK (succeeded + failed + canceled <= jobs)
) STRICT;
CREATE INDEX verdict_memory_alike ON verdict_memory (fingerprint, id);
CREATE INDEX verdict_memory_proposal ON verdict_memory (proposal_id) WHERE proposal_id != 0;

-- Which row remembers the verdict (0: none), and what became of the retry: completed, failed,
-- canceled; empty until it is known.
ALTER TABLE classification ADD COLUMN memory_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE classification ADD COLUMN outcome TEXT NOT NULL DEFAULT '' CHECK (outcome IN ('', 'succeeded', 'failed', 'canceled'));
DROP INDEX classification_alike;

INSERT INTO verdict_memory (fingerprint, workflow_id, workflow_name, run_id, job_id, job_name, at_ms, state, action, author, door, reason, confidence,
    memory, runtime, num_cpus, failure, jobs, succeeded, failed, canceled, most_attempts)
  SELECT c.fingerprint, c.workflow_id, w.name, c.run_id, MIN(c.job_id), '', MAX(c.at_ms), 'decided', iif(c.status = 2, 'retry', 'fail'), c.author, '',
    c.reason, c.confidence, c.memory, c.runtime, c.num_cpus, json_object('fingerprint', c.fingerprint, 'return_code', 0), COUNT(*),
    COALESCE(SUM(n.status = 5), 0), COALESCE(SUM(n.status IN (6, 8)), 0), COALESCE(SUM(n.status = 7), 0), COALESCE(MAX(n.status = 5), 0)
  FROM classification c JOIN workflow w ON w.id = c.workflow_id
    LEFT JOIN attempt n ON c.status = 2 AND n.job_id = c.job_id AND n.run_id = c.run_id AND n.attempt_id = c.attempt_id + 1
  WHERE c.fingerprint != ''
  GROUP BY c.fingerprint, c.workflow_id, c.run_id, c.status, c.author, c.reason, c.confidence, c.memory, c.runtime, c.num_cpus;
