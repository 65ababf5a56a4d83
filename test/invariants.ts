// Invariants across tables, which hold after every crash and restore.

import assert from "node:assert/strict";
import { asOwner } from "./database.ts";

/** Invariants across tables, each as a query for violations. */
const brokenConditions: Readonly<Record<string, string>> = {
  "a tag has its manifest": `
    select uid from tags where digest like 'sha256:%' and exists (select from repo_manifests where repo_uid = left(tags.uid, -17))
      and not exists (select from repo_manifests as held where held.repo_uid = left(tags.uid, -17) and digest in (held.sha256, held.sha512))`,
  "a manifest has its blobs, and its repo them": `
    select sha256 from manifest_blobs where not exists (
      select from repo_blobs join blobs using (sha256) where repo_blobs.repo_uid = manifest_blobs.repo_uid and blobs.sha256 = manifest_blobs.blob)`,
  "a repo has the event of its creation": `
    select uid from repos where not exists (select from outbox where subject = repos.uid and type like '%repo.created.v1')`,
  "a group's creation that was told has its group, unless its deletion was told too": `
    select subject from outbox as made where type like '%group.created.v1' and not exists (select from groups where uid = made.subject)
      and not exists (select from outbox as gone where gone.subject = made.subject and gone.type like '%group.deleted.v1')`,
  "resources are counted as they are": `
    select organization from (
      select organization, resource, sum(row_count) as counted from resource_counts where resource in ('repos', 'groups') group by 1, 2) as counts
    where counted <> case resource when 'repos' then (select count(*) from repos where left(uid, 40) = organization)
      else (select count(*) from groups where left(uid, 40) = organization and length(uid) > 40) end`,
};

/** Asserts each invariant. */
export const assertInvariants = async (url: string): Promise<void> => {
  for (const [condition, statement] of Object.entries(brokenConditions)) assert.deepEqual(await asOwner(url, statement), [], condition);
};
