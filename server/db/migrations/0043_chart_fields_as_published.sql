-- compatible
-- Which records of charts were written with the public field numbers (docs/decisions/0076-public-descriptors-as-the-measure.md).
--
-- Before, `source` and `repo` of a chart had each other's number, so what a client of gRPC sent was stored swapped, and what a client of
-- REST sent was not. A server of the version before leaves the mark as it is.

alter table repo_deployments add column fields_as_published boolean not null default false;
