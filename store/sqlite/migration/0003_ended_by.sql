-- Which job a job is, or was, ended for, by which rule of cancel_siblings_on: JSON of
-- workflow.Culprit. It belongs to cancel_fence.
ALTER TABLE job ADD COLUMN ended_by TEXT;
