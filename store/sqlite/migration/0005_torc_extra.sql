-- Keys of torc that have no effect here, as one JSON object; null: none was given.
ALTER TABLE workflow ADD COLUMN torc_extra TEXT;
UPDATE workflow SET torc_extra = json_patch('{}', json_object( -- which leaves out what is null
    'compute_node_expiration_buffer_seconds', compute_node_expiration_buffer_seconds,
    'enable_ro_crate', json(CASE enable_ro_crate WHEN 1 THEN 'true' WHEN 0 THEN 'false' END),
    'access_groups', json(access_groups)))
  WHERE compute_node_expiration_buffer_seconds IS NOT NULL OR enable_ro_crate IS NOT NULL OR access_groups IS NOT NULL;
ALTER TABLE workflow DROP COLUMN compute_node_expiration_buffer_seconds;
ALTER TABLE workflow DROP COLUMN enable_ro_crate;
ALTER TABLE workflow DROP COLUMN access_groups;

-- The column supports_termination stays, and nobody reads it: without it each row of
-- what may be a million would have to be written anew.
ALTER TABLE job ADD COLUMN torc_extra TEXT;
UPDATE job SET torc_extra = '{"supports_termination":true}' WHERE supports_termination = 1;
