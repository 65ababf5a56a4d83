// Version 1's lookup of an identity by issuer and subject. Version 2's LookupIdentity only computes the uid of a user, registered or
// not.

import { messageNamed } from "#contract/catalog.ts";
import { messageInView } from "#contract/views.ts";
import { visiblePaths } from "#authz";
import { blocked, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { isRoot } from "#base/uid.ts";
import { boundOf, type Outcome, type ReadContext, resource } from "#kernel";
import { findBoundPeople, findIdentitiesOf } from "#iam/store";
import { findRow } from "#db";

const lookup = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, rights } = context;
  const [issuer, subject] = [text(request, "issuer"), text(request, "subject")];
  // Shows only what a List would.
  const reach = visiblePaths(rights, ["identity.list"]);
  const found = await findIdentitiesOf(rows, issuer, subject, reach);
  const [first = "", ...more] = found.filter((uid) => !isRoot(uid));
  const [person = ""] = found.filter(isRoot);
  const [seen] = person === "" ? [] : await findBoundPeople(rows, reach, rights.uid, person);
  if (seen === undefined && more.length > 0)
    throw blocked("SEVERAL_IDENTITIES", "", ["several identities name this issuer and subject; list them, and take one by its id"]);
  const identity = boundOf(context, "chainguard.platform.iam.v2.Identity");
  const uid = seen ?? first;
  const held = uid === "" ? undefined : await findRow(rows, identity.shape.table, uid);
  if (!held) throw missing(identity.domain, identity.fact.short, `${issuer} ${subject}`);
  return { reply: messageInView(messageNamed("chainguard.platform.iam.Identity"), identity.fact, identity.shape.read(held.row, held.offset)) };
};

export const identityLookup = resource({
  service: "chainguard.platform.iam.Identities",
  message: "chainguard.platform.iam.Identity",
  methods: { Lookup: { reads: lookup } },
});
