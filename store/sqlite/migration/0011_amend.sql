-- The specification that a workflow was created from, an absolute path; null: none, or an
-- earlier version created it.
ALTER TABLE workflow ADD COLUMN spec_path TEXT;
CREATE INDEX workflow_spec ON workflow (spec_path, id) WHERE spec_path IS NOT NULL;
-- What the specification says about requirements that may have been changed since; null:
-- it does not have them, or an earlier version stored them.
ALTER TABLE resource_requirements ADD COLUMN specified TEXT;
