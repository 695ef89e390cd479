-- Jobs that a user holds: who, why and since when, as JSON of workflow.UserHold. Their
-- class is held, so no runner claims them. Its labels end with a comma, which separates it
-- from the class that the jobs return to.
ALTER TABLE job ADD COLUMN user_hold TEXT;
ALTER TABLE claim_class ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1));
CREATE INDEX claim_class_held ON claim_class (workflow_id) WHERE held = 1;
