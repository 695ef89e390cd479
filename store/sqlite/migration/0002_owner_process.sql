-- Who owns the database, told so that it cannot be mistaken for another process or
-- another file.
ALTER TABLE owner ADD COLUMN life TEXT NOT NULL DEFAULT '';     -- tells the process from later ones of its number; empty where the system does not say it
ALTER TABLE owner ADD COLUMN file TEXT NOT NULL DEFAULT '';     -- which file it owns: a copy has the same row, and no owner; empty if nobody wrote it down
ALTER TABLE owner ADD COLUMN takeover TEXT NOT NULL DEFAULT ''; -- why the owner before this one was taken for dead; empty if it had given the database back
