-- Changes that somebody has proposed and that a person decides about.
CREATE TABLE proposal (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER REFERENCES workflow (id) ON DELETE CASCADE, -- null: it creates one
  kind        TEXT    NOT NULL CHECK (kind IN ('classify', 'requirements', 'recover', 'create', 'question')),
  state       TEXT    NOT NULL CHECK (state IN ('open', 'applied', 'rejected')), -- an open one may have expired
  author      TEXT    NOT NULL,
  door        TEXT    NOT NULL, -- how it came in: mcp, api
  title       TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  evidence    TEXT    NOT NULL,
  created_ms  INTEGER NOT NULL,
  expires_ms  INTEGER NOT NULL CHECK (expires_ms > created_ms),
  decided_ms  INTEGER NOT NULL DEFAULT 0,
  decided_by  TEXT    NOT NULL DEFAULT '',
  note        TEXT    NOT NULL DEFAULT '',
  job_count   INTEGER NOT NULL,
  cpu_seconds INTEGER NOT NULL,
  change      TEXT    NOT NULL, -- JSON: what applying it does
  jobs        TEXT    NOT NULL  -- JSON: the change of each job, as it was proposed
) STRICT;
CREATE INDEX proposal_workflow ON proposal (workflow_id, id);

-- What a retry asks for besides memory and runtime (0: the same), and what the job that was
-- held has in common with others that failed alike (empty: not known).
ALTER TABLE classification ADD COLUMN num_cpus INTEGER NOT NULL DEFAULT 0;
ALTER TABLE classification ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
CREATE INDEX classification_alike ON classification (fingerprint, id) WHERE fingerprint != '';
