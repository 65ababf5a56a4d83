// Compile-time tests of the typed client. At run time, the functions are compared with the types.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AccessService } from "#contract/gen/gantry/access/v1/access_pb.js";
import { GroupsService } from "#contract/gen/chainguard/platform/iam/v2/groups_pb.js";
import { ReposService } from "#contract/gen/chainguard/platform/registry/v2/repos_pb.js";
import { createClient } from "./client.ts";
import type { ItemOf, ServiceClient } from "./typed-service.ts";

const client = createClient({ server: "http://127.0.0.1:1" });
const groups = client.service(GroupsService);
const repos = client.service(ReposService);
const access = client.service(AccessService);

type Equal<One, Other> = (<Type>() => Type extends One ? 1 : 2) extends <Type>() => Type extends Other ? 1 : 2 ? true : false;
const holds = <Claim extends true>(claim: Claim): Claim => claim;

/** Only type-checked, never called. */
export const typesOnly = async (): Promise<void> => {
  const repo = await repos.getRepo({ uid: "x" });
  holds<Equal<typeof repo.anonymousPull, boolean | undefined>>(true);
  // A reply can be sent back, including absent fields.
  await repos.updateRepo({ repo: { uid: repo.uid, sync_config: repo.sync_config }, updateMask: "sync_config" });
  for await (const each of repos.listRepos.all({ uidp: { descendantsOf: repo.uid } })) holds<Equal<typeof each, typeof repo>>(true);
  for await (const page of repos.listRepos.pages({})) holds<Equal<typeof page.nextPageToken, string | undefined>>(true);
  const { reply, etag } = await groups.getGroup.answer({ uid: "x" }, { ifNoneMatch: '"a"' });
  holds<Equal<typeof etag, string | undefined>>(true);
  holds<Equal<typeof reply.verified, boolean | undefined>>(true);
  // @ts-expect-error no field of the message
  await repos.getRepo({ name: "x" });
  // @ts-expect-error a number where a text stands
  await repos.getRepo({ uid: 1 });
  // @ts-expect-error no value of the enum
  await repos.createRepo({ parent: "x", repo: { catalogTier: "TIER_OF_NOBODY" } });
  // @ts-expect-error it lists nothing
  repos.getRepo.all({});
  // @ts-expect-error no operation of the service
  await repos.getGroup({ uid: "x" });
  // @ts-expect-error no option of a call
  await repos.getRepo({ uid: "x" }, { retries: 3 });
};

holds<Equal<ItemOf<{ a?: { uid?: string }[]; warnings?: string[]; totalCount?: number }>, { uid?: string }>>(true);
holds<Equal<ItemOf<{ a?: { uid?: string }[]; b?: { name?: string }[] }>, never>>(true);
holds<Equal<ItemOf<{ name?: string }>, never>>(true);
holds<Equal<keyof ServiceClient<typeof AccessService>, "explain" | "mine" | "whoCan">>(true);

test("a typed service has exactly the functions of its operations", () => {
  for (const [face, service] of [
    [groups, GroupsService],
    [repos, ReposService],
    [access, AccessService],
  ] as const) {
    assert.deepEqual(Object.keys(face).sort(), service.methods.map(({ localName }) => localName).sort());
    for (const each of Object.values(face)) assert.equal(typeof each, "function");
  }
});
