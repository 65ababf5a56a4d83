// The public entry of sign-in: how people come in.

export { deleteExpiredInvites } from "./expired-invites.ts";
export { inviteCodeHash, makeInviteCode } from "./invite-code.ts";
export { takeHeadlessToken } from "./headless.ts";
export { openSignIn, type SignInEndpoints } from "./open.ts";
export { acceptOrganization, declineOrganization, membershipOf } from "./membership.ts";
export { endProvisionedAccess, giveProvisionedRole, isKnownByOid, requireMemberThrough } from "./provisioning.ts";
export { callbackUrlOf } from "./provider.ts";
export { recordExchange } from "./record-exchange.ts";
export { renew } from "./refresh.ts";
export { endSessions, recordRevocations, shownSession } from "./session.ts";
export {
  acceptInvite,
  acceptInviteAs,
  findInviteGroup,
  isBelievedEmail,
  makePerson,
  providerAudiences,
  register,
  type Registered,
  registerThroughProvider,
  type Upstream,
} from "./registration.ts";
