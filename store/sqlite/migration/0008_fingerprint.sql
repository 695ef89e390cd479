-- The same text for attempts that failed alike (hold.Fingerprint); null for successful ones,
-- for those without evidence, and for those of earlier versions.
ALTER TABLE attempt ADD COLUMN fingerprint TEXT;
