-- By which door workflows and retry policies came in: cli, api, mcp, agent, job; rule: by nobody;
-- empty: not known. The user_action events of deleted workflows are kept for some time.
ALTER TABLE workflow ADD COLUMN door TEXT NOT NULL DEFAULT '';
ALTER TABLE retry_policy_change ADD COLUMN door TEXT NOT NULL DEFAULT '';
CREATE INDEX event_change ON event (timestamp_ms) WHERE type = 'user_action';
