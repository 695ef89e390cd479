-- Calls of agents that are asked about held jobs, and the proposals that they left.
CREATE TABLE classifier_call (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES workflow (id) ON DELETE CASCADE,
  run_id      INTEGER NOT NULL,
  key         TEXT    NOT NULL UNIQUE, -- by which the agent's proposals and processes are found
  agent       TEXT    NOT NULL,
  started_ms  INTEGER NOT NULL,
  ended_ms    INTEGER NOT NULL DEFAULT 0, -- 0: it goes on
  outcome     TEXT    NOT NULL DEFAULT '', -- classifier.Outcome
  detail      TEXT    NOT NULL DEFAULT '',
  asked       TEXT    NOT NULL -- JSON: fingerprints, and how many jobs had them
) STRICT;
CREATE INDEX classifier_call_workflow ON classifier_call (workflow_id, id);
ALTER TABLE proposal ADD COLUMN call_id INTEGER NOT NULL DEFAULT 0; -- 0: of no call
CREATE INDEX proposal_of_call ON proposal (call_id) WHERE call_id != 0;
