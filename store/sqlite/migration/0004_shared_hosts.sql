-- Runners that share their host with others of this database: what all of them hold
-- together is never more than it has.
ALTER TABLE compute_node ADD COLUMN shares_host INTEGER NOT NULL DEFAULT 0 CHECK (shares_host IN (0, 1));
CREATE INDEX compute_node_sharing ON compute_node (hostname, boot_id) WHERE is_active = 1 AND shares_host = 1;
