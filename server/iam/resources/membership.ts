// A user's memberships in organizations, and answers to invitations (docs/decisions/0067, 0067). They determine what an organization
// sees of the user, and whether its role bindings apply; server/iam/store/memberships.ts lists other causes of memberships.

import { operatorUid } from "#base/operator.ts";
import { missing } from "#base/fault.ts";
import { type JsonObject, part, text, texts } from "#base/json.ts";
import { pageOf } from "#base/page.ts";
import { isRoot, rootOf } from "#base/uid.ts";
import { answerPage, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { acceptOrganization, declineOrganization, membershipOf } from "#iam/signin";
import { countPersonOrganizations, findPersonOrganizations } from "#iam/store";
import { personally } from "./rules/personally.ts";

const answerWith =
  (write: typeof acceptOrganization) =>
  async (context: WriteContext): Promise<Outcome> => {
    const { request, rows, nowMs } = context;
    const { uid } = personally(context, "belong to organizations");
    const group = text(request, "group");
    const answered = await write(rows, uid, group, nowMs);
    if (!answered) throw missing("iam", "Group", group);
    return { reply: answered.membership, unchanged: !answered.made };
  };

/** Returns the organizations that a filter selects; undefined: all. They are roots. */
const amongOf = (uidp: JsonObject): string[] | undefined => {
  if (text(uidp, "descendantsOf") !== "" || text(uidp, "childrenOf") !== "") return [];
  const [ids, below] = [texts(uidp, "ids"), text(uidp, "ancestorsOf")];
  if (below === "") return ids.length > 0 ? ids : undefined;
  return isRoot(below) || (ids.length > 0 && !ids.includes(rootOf(below))) ? [] : [rootOf(below)];
};

const list = async (context: ReadContext): Promise<Outcome> => {
  const { caller, request, rows } = context;
  const isPerson = caller !== undefined && isRoot(caller.uid) && caller.uid !== operatorUid;
  const identityUid = isPerson ? personally(context, "see where they belong").uid : "";
  const among = amongOf(part(request, "uidp"));
  return answerPage(context, async (page) => {
    const total = page.total ?? (await countPersonOrganizations(rows, identityUid, among));
    const found = await findPersonOrganizations(rows, identityUid, among, page);
    const records = found.map((organization) => ({ key: [organization.uid], record: membershipOf(identityUid, organization) }));
    return pageOf(page, records, total);
  });
};

export const membership = resource({
  service: "gantry.memberships.v1.MembershipsService",
  message: "gantry.memberships.v1.Membership",
  methods: {
    AcceptMembership: { writes: answerWith(acceptOrganization) },
    DeclineMembership: { writes: answerWith(declineOrganization) },
    ListMemberships: { reads: list },
  },
});
