// Requests about invites, sessions and memberships.

import type {
  GroupInvite,
  GroupInviteInput,
  ListGroupInvitesResponse,
  ListGroupSessionsResponse,
  ListIdentitiesResponse,
  ListMembershipsResponse,
  ListSessionsResponse,
  Membership,
  SignInSession,
} from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { namesMax, pageFrom } from "../questions.ts";

export const invitesIn = (parent: string, skip: number): Question<ListGroupInvitesResponse> => {
  const request = { parent, ...pageFrom(skip) };
  return { name: "iam.group-invites.list", request, send: (gantry, signal) => gantry.iam.groupInvites.list(request, { signal }).page() };
};

export const createInvite = (parent: string, groupInvite: GroupInviteInput): Question<GroupInvite> => ({
  name: "iam.group-invites.create",
  request: { parent, groupInvite },
  send: (gantry, signal) => gantry.iam.groupInvites.create({ parent, groupInvite }, { signal }),
});

export const deleteInvite = (uid: string): Question<void> => ({
  name: "iam.group-invites.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.groupInvites.delete({ uid }, { signal }),
});

/** Sessions from sign-ins through the identity providers of a group. */
export const sessionsIn = (group: string, skip: number): Question<ListGroupSessionsResponse> => {
  const request = { group, ...pageFrom(skip) };
  return { name: "sessions.group-sessions.list", request, send: (gantry, signal) => gantry.sessions.groupSessions.list(request, { signal }).page() };
};

/** The first 50: a longer request does not fit into an address. */
export const identitiesOf = (ids: readonly string[]): Question<ListIdentitiesResponse> => {
  const request = { uidp: { ids: ids.slice(0, namesMax) }, pageSize: namesMax };
  return { name: "iam.identities.list", request, send: (gantry, signal) => gantry.iam.identities.list(request, { signal }).page() };
};

export const endSession = (uid: string): Question<SignInSession> => ({
  name: "sessions.group-sessions.revoke",
  request: { uid },
  send: (gantry, signal) => gantry.sessions.groupSessions.revoke({ uid }, { signal }),
});

export const ownSessions = (skip: number): Question<ListSessionsResponse> => {
  const request = pageFrom(skip);
  return { name: "sessions.list", request, send: (gantry, signal) => gantry.sessions.list(request, { signal }).page() };
};

export const endOwnSession = (uid: string): Question<SignInSession> => ({
  name: "sessions.revoke",
  request: { uid },
  send: (gantry, signal) => gantry.sessions.revoke({ uid }, { signal }),
});

export const memberships = (skip: number): Question<ListMembershipsResponse> => {
  const request = pageFrom(skip);
  return { name: "iam.memberships.list", request, send: (gantry, signal) => gantry.iam.memberships.list(request, { signal }).page() };
};

export const acceptMembership = (group: string): Question<Membership> => ({
  name: "iam.memberships.accept",
  request: { group },
  send: (gantry, signal) => gantry.iam.memberships.accept({ group }, { signal }),
});

export const declineMembership = (group: string): Question<Membership> => ({
  name: "iam.memberships.decline",
  request: { group },
  send: (gantry, signal) => gantry.iam.memberships.decline({ group }, { signal }),
});
