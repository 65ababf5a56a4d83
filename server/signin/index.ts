// The face of the room: how people come in.

export { recordExchange } from "./exchanged.ts";
export { tokenPath } from "./grants.ts";
export { takeHeadlessSession } from "./headless.ts";
export { openSignIn, type SignIn } from "./open.ts";
export type { SignInSettings } from "./dependencies.ts";
export { type Renewal, renew } from "./refresh.ts";
export type { EndpointRequest, EndpointAnswer, Endpoint } from "./pages.ts";
export { inviteCodeHash, makeInviteCode } from "./invite-code.ts";
export {
  acceptInvite,
  acceptInviteAs,
  dropLapsedInvites,
  inviteGroup,
  makePerson,
  mayPromise,
  type RegistrationContext,
  type Person,
  providerAudiences,
  register,
  type Registered,
  registerThroughProvider,
  type Upstream,
  vouches,
} from "./registration.ts";
