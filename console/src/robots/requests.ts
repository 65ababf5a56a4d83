// Requests about machine identities.

import type { Identity, IdentityInput, ListIdentitiesResponse, RelationshipType } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { pageFrom } from "../questions.ts";

/** Identities of a group and everything below it that are assumed in one way, newest first. */
export const robotsIn = (group: string, relationshipType: RelationshipType, skip: number): Question<ListIdentitiesResponse> => {
  const request = { uidp: { descendantsOf: group }, relationshipType, orderBy: "create_time desc", ...pageFrom(skip) };
  return { name: "iam.identities.list", request, send: (gantry, signal) => gantry.iam.identities.list(request, { signal }).page() };
};

export const createRobot = (parent: string, identity: IdentityInput, command: string): Question<Identity> => ({
  name: "iam.identities.create",
  request: { parent, identity },
  command,
  send: (gantry, signal) => gantry.iam.identities.create({ parent, identity }, { signal }),
});
